/* SPDX-License-Identifier: MIT
 *
 * Starts, awaits and ends the processes of an experiment (see process.h).  Runs
 * in `tarry experiment`.  Must stay true: only processes that we started, and
 * their groups, are ever signalled; an ended child is reaped last, when nothing
 * of its group is left, so that its number cannot be somebody else's by then. */
#include "experiment/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "common/err.h"

#define MS 1000000ull
#define LOOK (10 * MS) /* between two looks at what is left of a group: no signal tells */

uint64_t ty_clock(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const int ignored[TY_IGNORED] = { SIGPIPE, SIGXFSZ };

static void obey_again(const struct ty_children *c)
{
	for (size_t i = 0; i < TY_IGNORED; i++)
		sigaction(ignored[i], &c->was[i], NULL);
}

int ty_children_open(struct ty_children *c, char *err)
{
	sigset_t set;
	memset(c, 0, sizeof *c);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	/* an ignored SIGCHLD would have the kernel reap before us */
	signal(SIGCHLD, SIG_DFL);
	/* Who reads what we say may leave, and a file may be at its limit: no reason to leave
	 * program and folder behind. */
	for (size_t i = 0; i < TY_IGNORED; i++)
		sigaction(ignored[i], &(struct sigaction){ .sa_handler = SIG_IGN }, &c->was[i]);
	sigprocmask(SIG_BLOCK, &set, &c->old);
	c->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return c->signals < 0 ? ty_err(err, -errno, "signalfd: %s", strerror(errno)) : 0;
}

void ty_children_close(struct ty_children *c)
{
	close(c->signals);
	sigprocmask(SIG_SETMASK, &c->old, NULL);
	obey_again(c);
}

/* ---- start ---- */

static void set_environment(char *const *env)
{
	for (; env && *env; env++)
		putenv(*env);
}

/* In the child; does not return. */
static void become(const struct ty_children *c, const struct ty_start *s, pid_t parent, int failed)
{
	int in = open("/dev/null", O_RDONLY), out = open(s->log, O_WRONLY | O_CREAT | O_APPEND, 0666);
	setpgid(0, 0);
	/* If we are killed, nobody else ends what we started. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == parent && in >= 0 && out >= 0) {
		dup2(in, STDIN_FILENO);
		dup2(out, STDOUT_FILENO);
		dup2(out, STDERR_FILENO);
		if (in > STDERR_FILENO)
			close(in);
		if (out > STDERR_FILENO)
			close(out);
		set_environment(s->env[0]);
		set_environment(s->env[1]);
		sigprocmask(SIG_SETMASK, &c->old, NULL);
		obey_again(c);
		execvp(s->path, s->argv);
	}
	int e = errno;
	if (write(failed, &e, sizeof e) != sizeof e)
		_exit(127);
	_exit(127);
}

int ty_child_start(struct ty_children *c, enum ty_child_id id, const struct ty_start *s)
{
	struct ty_child *child = &c->child[id];
	int failed[2], e = 0;
	pid_t self = getpid();
	if (pipe2(failed, O_CLOEXEC) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		become(c, s, self, failed[1]);
	e = errno;
	close(failed[1]);
	if (pid < 0) {
		close(failed[0]);
		return -e;
	}
	setpgid(pid, pid); /* both of us, so that it is true for both */
	ssize_t n;
	while ((n = read(failed[0], &e, sizeof e)) < 0 && errno == EINTR)
		;
	close(failed[0]);
	if (n == sizeof e) {
		waitpid(pid, NULL, 0);
		return -e;
	}
	*child = (struct ty_child){ .pid = pid };
	return 0;
}

/* ---- wait ---- */

/* Notes the end of children without reaping them. */
static void look(struct ty_children *c)
{
	for (unsigned i = 0; i < TY_CHILDREN; i++) {
		struct ty_child *child = &c->child[i];
		siginfo_t info = { 0 };
		if (!child->pid || child->ended)
			continue;
		if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || !info.si_pid)
			continue;
		child->ended = true;
		child->when = ty_clock();
		child->signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
		child->status = child->signal ? 128 + child->signal : info.si_status;
	}
}

static void take_signals(struct ty_children *c)
{
	struct signalfd_siginfo info;
	while (read(c->signals, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		if (c->interrupts++ == 0)
			c->interrupt = (int)info.ssi_signo;
	}
}

void ty_children_turn(struct ty_children *c, uint64_t deadline)
{
	uint64_t now = ty_clock(), left = deadline > now ? deadline - now : 0;
	struct timespec t = { (time_t)(left / (1000 * MS)), (long)(left % (1000 * MS)) };
	struct pollfd p = { .fd = c->signals, .events = POLLIN };
	ppoll(&p, 1, deadline == UINT64_MAX ? NULL : &t, NULL);
	take_signals(c);
	look(c);
}

/* ---- stop ---- */

/* Is this a running process of the group? */
static bool member(const char *pid, pid_t group)
{
	char path[64], text[1024], state;
	int ppid, pgrp;
	snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	const char *end = strrchr(text, ')'); /* the name may hold anything */
	return end && sscanf(end + 1, " %c %d %d", &state, &ppid, &pgrp) == 3 && pgrp == group && state != 'Z' &&
	       state != 'X';
}

static bool group_lives(pid_t group)
{
	if (kill(-group, 0) < 0 && errno == ESRCH)
		return false;
	DIR *d = opendir("/proc");
	struct dirent *e;
	bool found = false;
	while (d && !found && (e = readdir(d)))
		found = e->d_name[0] >= '0' && e->d_name[0] <= '9' && member(e->d_name, group);
	if (d)
		closedir(d);
	return found;
}

/* Waits until nothing of the group runs; true: so it is. */
static bool await_group(struct ty_children *c, struct ty_child *child, uint64_t deadline)
{
	unsigned before = c->interrupts;
	for (;;) {
		look(c);
		if (child->ended && !group_lives(child->pid))
			return true;
		uint64_t now = ty_clock();
		if (now >= deadline || (deadline != UINT64_MAX && c->interrupts > before && c->interrupts > 1))
			return false;
		/* the leader's end is signalled, that of the others is not */
		ty_children_turn(c, child->ended && now + LOOK < deadline ? now + LOOK : deadline);
	}
}

bool ty_child_stop(struct ty_children *c, enum ty_child_id id, int sig, uint64_t timeout, bool leader_only)
{
	struct ty_child *child = &c->child[id];
	bool killed = false;
	if (!child->pid)
		return false;
	look(c);
	if (!child->ended && leader_only)
		kill(child->pid, sig);
	else if (!child->ended || group_lives(child->pid))
		kill(-child->pid, sig);
	if (!await_group(c, child, c->interrupts > 1 ? 0 : ty_clock() + timeout)) {
		killed = true;
		kill(-child->pid, SIGKILL);
		await_group(c, child, UINT64_MAX);
	}
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
	child->pid = 0;
	return killed;
}

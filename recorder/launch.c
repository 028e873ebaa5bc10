/* SPDX-License-Identifier: MIT
 *
 * Starts the recorded command and stands in for it towards whoever started us:
 * signals go on to it, its status comes back.  Runs in `tarry record`.  What
 * must stay true: the child is forked before any thread exists and gets the
 * signal mask and limits that we were given; every child of ours is reaped, for
 * we may be PID 1.  Orphans are not ours otherwise: a daemon may wait until its
 * parent is PID 1.
 */
#include "recorder/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/err.h"
#include "tarry/arena.h"

/* All that can be passed on, and SIGCHLD.  Not what a fault of our own raises,
 * and not the terminal's stops, which the whole foreground group gets. */
static void signal_set(sigset_t *s)
{
	static const int ours[] = { SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT,
				    SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE };
	sigfillset(s);
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		sigdelset(s, ours[i]);
}

/* The library goes last: what somebody else preloads keeps its place. */
static void set_environment(const char *library, const char *locator)
{
	const char *old = getenv("LD_PRELOAD");
	char *list;
	if (asprintf(&list, "%s%s%s", old ? old : "", old && *old ? ":" : "", library) < 0)
		return;
	setenv("LD_PRELOAD", list, 1);
	setenv(TY_ENV_ARENA, locator, 1);
	unsetenv(TY_ENV_STORE);
	unsetenv(TY_ENV_CONFIG);
}

/* In the child; does not return. */
static void become_command(int go, int failed, const char *path, char *const *argv, const char *library)
{
	char locator[128];
	ssize_t n = read(go, locator, sizeof locator - 1);
	if (n <= 0)
		_exit(127); /* cancelled */
	locator[n] = 0;
	set_environment(library, locator);
	execv(path, argv);
	if (errno == ENOEXEC) { /* a script without #!, as execvp does it */
		size_t argc = 0;
		while (argv[argc])
			argc++;
		const char **sh = calloc(argc + 2, sizeof *sh);
		if (sh) {
			sh[0] = "/bin/sh";
			sh[1] = path;
			for (size_t i = 1; i <= argc; i++)
				sh[i + 1] = argv[i];
			execv(sh[0], (char *const *)sh);
		}
		errno = ENOEXEC;
	}
	int e = errno;
	if (write(failed, &e, sizeof e) != sizeof e)
		_exit(127);
	_exit(127);
}

int ty_launch_fork(struct ty_launch *l, const char *path, char *const *argv, const char *library, char *err)
{
	int go[2], failed[2];
	sigset_t set, old;
	memset(l, 0, sizeof *l);
	signal_set(&set);
	/* An ignored SIGCHLD would have the kernel reap the command before us; a limit
	 * on file size is meant for the command.  Both are given back to it. */
	struct sigaction chld, dfl = { .sa_handler = SIG_DFL };
	struct rlimit size;
	sigaction(SIGCHLD, &dfl, &chld);
	getrlimit(RLIMIT_FSIZE, &size);
	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(failed, O_CLOEXEC) < 0)
		return ty_err(err, -errno, "cannot start the command: %s", strerror(errno));
	sigprocmask(SIG_BLOCK, &set, &old);
	l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	l->pid = l->signals < 0 ? -1 : fork();
	if (l->pid < 0)
		return ty_err(err, -errno, "cannot start the command: %s", strerror(errno));
	if (l->pid == 0) {
		close(go[1]);
		close(failed[0]);
		sigaction(SIGCHLD, &chld, NULL);
		sigprocmask(SIG_SETMASK, &old, NULL);
		become_command(go[0], failed[1], path, argv, library);
	}
	close(go[0]);
	close(failed[1]);
	l->go = go[1];
	l->failed = failed[0];
	l->children = true;
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ size.rlim_max, size.rlim_max });
	signal(SIGPIPE, SIG_IGN); /* only now: the command keeps what we were given */
	return 0;
}

int ty_launch_go(struct ty_launch *l, const char *locator)
{
	int e = 0;
	ssize_t n = write(l->go, locator, strlen(locator));
	close(l->go);
	if (n == (ssize_t)strlen(locator))
		while ((n = read(l->failed, &e, sizeof e)) < 0 && errno == EINTR)
			;
	close(l->failed);
	if (n == sizeof e)
		while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
			;
	return n == sizeof e ? -e : 0;
}

void ty_launch_cancel(struct ty_launch *l)
{
	close(l->go);
	close(l->failed);
	while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static bool zombie(void)
{
	siginfo_t i = { 0 };
	return waitid(P_ALL, 0, &i, WEXITED | WNOHANG | WNOWAIT) == 0 && i.si_pid;
}

static void reap(struct ty_launch *l)
{
	int st;
	pid_t pid;
	while ((pid = waitpid(-1, &st, WNOHANG)) > 0)
		if (pid == l->pid) {
			l->ended = true;
			l->status = WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st);
		}
	l->children = pid == 0;
	if (pid < 0 && errno == ECHILD && !l->ended) { /* somebody else has its status */
		l->ended = true;
		l->status = 1;
	}
}

static void pass_on(struct ty_launch *l, const struct signalfd_siginfo *i)
{
	int sig = (int)i->ssi_signo;
	bool ends = sig == SIGINT || sig == SIGTERM;
	/* The terminal sends to the whole foreground group, so the command has it
	 * already; but a hangup goes to the session's leader only. */
	if (!l->ended && (sig == SIGHUP || i->ssi_code != SI_KERNEL))
		kill(l->pid, sig);
	if (l->ended && ends) {
		l->early = l->stop;
		l->stop = true;
	}
}

void ty_launch_signals(struct ty_launch *l)
{
	struct signalfd_siginfo i;
	while (read(l->signals, &i, sizeof i) == sizeof i)
		if (i.ssi_signo != SIGCHLD)
			pass_on(l, &i);
	/* In the turn after the one that sees it: the recorder reads the last times of
	 * its threads in /proc, where it stands until it is reaped. */
	l->zombie = !l->zombie && zombie();
	if (!l->zombie)
		reap(l);
}

/* SPDX-License-Identifier: MIT
 * Description: fsync: coalesce, call by call, above tests/e2e/gate.c.  Prints the cases that held; stops at the
 * first that does not.  Nothing is timed: a caller is known to wait when its thread sleeps in a futex. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*gate_begun)(void), (*gate_last_ended)(void);
static void (*gate_end)(int, int), (*gate_open)(void);
static int file, base; /* flushes of earlier cases */

#define NEED(what)                                                                                \
	do {                                                                                      \
		if (!(what)) {                                                                    \
			printf("FAIL line %d: %s\n", __LINE__, #what);                            \
			fflush(stdout);                                                           \
			_exit(1);                                                                 \
		}                                                                                 \
	} while (0)

static void begun(int n) /* of this case; hangs, and is stopped, if they do not begin */
{
	while (gate_begun() < base + n)
		usleep(100);
	NEED(gate_begun() == base + n);
}

static void end(int n, int error)
{
	gate_end(base + n, error);
}

struct caller {
	pthread_t thread;
	int fd, result, error;
	bool all; /* fsync */
	_Atomic int tid;
	atomic_bool done, jumped;
};
static __thread sigjmp_buf way_out;

static void *run(void *arg)
{
	struct caller *c = arg;
	c->tid = (int)syscall(SYS_gettid);
	if (sigsetjmp(way_out, 1) == 0) {
		errno = 0;
		c->result = c->all ? fsync(c->fd) : fdatasync(c->fd);
		c->error = errno;
	} else {
		c->jumped = true;
	}
	c->done = true;
	return NULL;
}

static void call(struct caller *c, int fd, bool all)
{
	memset(c, 0, sizeof *c);
	c->fd = fd;
	c->all = all;
	NEED(pthread_create(&c->thread, NULL, run, c) == 0);
}

static bool asleep(const struct caller *c)
{
	char path[64], text[64] = "";
	if (!c->tid)
		return false;
	snprintf(path, sizeof path, "/proc/self/task/%d/syscall", c->tid);
	int fd = open(path, O_RDONLY);
	NEED(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
	close(fd);
	return atoi(text) == SYS_futex;
}

/* Calls, and waits for others. */
static void join_queue(struct caller *c)
{
	call(c, file, false);
	while (!asleep(c))
		usleep(100);
	NEED(!c->done);
}

static void finished(struct caller *c, int result, int error)
{
	NEED(pthread_join(c->thread, NULL) == 0);
	NEED(c->result == result && c->error == error);
}

static void new_case(const char *last)
{
	printf("%s\n", last);
	base = gate_begun();
}

static void sharing(void)
{
	struct caller first, group[4], late, other, full;
	call(&first, file, false);
	begun(1);
	for (int i = 0; i < 4; i++)
		join_queue(&group[i]);
	begun(1);
	call(&other, dup(file), false);
	begun(2); /* a number of its own */
	call(&full, file, true);
	begun(3); /* another kind */
	end(1, EIO);
	begun(4);
	finished(&first, -1, EIO);
	for (int i = 0; i < 4; i++)
		NEED(!group[i].done); /* they came after flush 1 had begun */
	join_queue(&late);
	end(4, ENOSPC);
	begun(5);
	for (int i = 0; i < 4; i++)
		finished(&group[i], -1, ENOSPC);
	NEED(!late.done);
	end(5, 0);
	finished(&late, 0, 0);
	end(2, 0);
	end(3, 0);
	finished(&other, 0, 0);
	finished(&full, 0, 0);
	close(other.fd);
	begun(5);
	new_case("shared by those who came before it began, with its error");
}

static void jump(int sig)
{
	(void)sig;
	siglongjmp(way_out, 1);
}

static void handlers_and_cancels(void)
{
	struct caller leader, jumper, canceled, next, alone;
	void *result;
	signal(SIGUSR1, jump);
	call(&leader, file, false);
	begun(1);
	join_queue(&jumper);
	join_queue(&canceled);
	join_queue(&next);
	pthread_kill(jumper.thread, SIGUSR1);
	pthread_cancel(canceled.thread);
	pthread_cancel(leader.thread);
	end(1, 0);
	begun(2);
	NEED(pthread_join(leader.thread, &result) == 0 && result == PTHREAD_CANCELED);
	NEED(!jumper.done && !next.done);
	end(2, 0);
	finished(&next, 0, 0);
	NEED(pthread_join(jumper.thread, NULL) == 0 && jumper.jumped);
	NEED(pthread_join(canceled.thread, &result) == 0 && result == PTHREAD_CANCELED);
	call(&alone, file, false);
	begun(3);
	end(3, 0);
	finished(&alone, 0, 0);
	new_case("handlers and cancels come after the flush, and break no queue");
}

static void *cancel_before(void *arg)
{
	(void)arg;
	pthread_cancel(pthread_self());
	fdatasync(file);
	return NULL;
}

static void cancel_pending(void)
{
	pthread_t t;
	void *result;
	NEED(pthread_create(&t, NULL, cancel_before, NULL) == 0);
	NEED(pthread_join(t, &result) == 0 && result == PTHREAD_CANCELED);
	begun(0);
	new_case("a pending cancel acts before anything is flushed");
}

static void children(void)
{
	struct caller leader, follower;
	int status;
	call(&leader, file, false);
	begun(1);
	join_queue(&follower);
	pid_t pid = fork();
	if (pid == 0) {
		alarm(20);
		gate_open();
		_exit(fdatasync(file) != 0);
	}
	NEED(waitpid(pid, &status, 0) == pid && status == 0);
	begun(1);
	end(1, 0);
	begun(2);
	end(2, 0);
	finished(&leader, 0, 0);
	finished(&follower, 0, 0);
	new_case("a forked child waits for nobody");
}

static void *end_second(void *arg)
{
	(void)arg;
	begun(2);
	end(2, 0);
	return NULL;
}

static void vforked(void)
{
	struct caller leader;
	pthread_t helper;
	int status;
	call(&leader, file, false);
	begun(1);
	NEED(pthread_create(&helper, NULL, end_second, NULL) == 0);
	pid_t pid = vfork();
	if (pid == 0)
		_exit(fdatasync(file) != 0);
	NEED(waitpid(pid, &status, 0) == pid && status == 0);
	pthread_join(helper, NULL);
	end(1, 0);
	finished(&leader, 0, 0);
	new_case("a vfork child flushes by itself");
}

static void *many_calls(void *arg)
{
	uintptr_t bad = 0;
	(void)arg;
	for (int i = 0; i < 300; i++) {
		int before = gate_begun();
		if (fdatasync(file) != 0 || gate_last_ended() <= before)
			bad++;
	}
	return (void *)bad;
}

static void many(void)
{
	pthread_t t[16];
	void *bad;
	gate_open();
	for (int i = 0; i < 16; i++)
		NEED(pthread_create(&t[i], NULL, many_calls, NULL) == 0);
	for (int i = 0; i < 16; i++)
		NEED(pthread_join(t[i], &bad) == 0 && bad == NULL);
	NEED(gate_begun() - base < 16 * 300);
	new_case("4800 calls: each by a flush that began after it, fewer flushes than calls");
}

int main(int argc, char **argv)
{
	alarm(60);
	setvbuf(stdout, NULL, _IOLBF, 0);
	gate_begun = (int (*)(void))dlsym(RTLD_DEFAULT, "gate_begun");
	gate_last_ended = (int (*)(void))dlsym(RTLD_DEFAULT, "gate_last_ended");
	gate_end = (void (*)(int, int))dlsym(RTLD_DEFAULT, "gate_end");
	gate_open = (void (*)(void))dlsym(RTLD_DEFAULT, "gate_open");
	file = open(argc > 1 ? argv[1] : "", O_RDWR | O_CREAT, 0600);
	NEED(gate_begun && gate_last_ended && gate_end && gate_open && file >= 0);
	sharing();
	handlers_and_cancels();
	cancel_pending();
	children();
	vforked();
	many();
	NEED(fdatasync(-1) == -1);
	printf("all\n");
	return 0;
}

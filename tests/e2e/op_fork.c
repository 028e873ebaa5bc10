/* SPDX-License-Identifier: MIT
 * Forked children, also of a threaded parent, vforked and exec'd ones, and one
 * made by a raw clone: each its own waits, none lost, none booked twice. */
#include "e2e.h"
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

pid_t __fork(void);

static int fd;

static void *nap(void *p)
{
	for (int i = 0; i < 3; i++)
		CHECK(fdatasync(fd) == 0);
	return p;
}
static void child(int threads)
{
	pthread_t t;
	for (int i = 0; i < 5; i++)
		CHECK(fsync(fd) == 0);
	if (threads)
		CHECK(pthread_create(&t, NULL, nap, NULL) == 0 && pthread_join(t, NULL) == 0);
	_exit(0);
}
static void reap(pid_t pid)
{
	int status;
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* As Perl, jemalloc and others do: locks around fork, and here a wait as well. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void before(void) { CHECK(pthread_mutex_lock(&lock) == 0); }
static void after(void) { CHECK(pthread_mutex_unlock(&lock) == 0); }
static void after_in_child(void)
{
	after();
	CHECK(sync_file_range(fd, 0, 0, 0) == 0);
}

int main(int argc, char **argv)
{
	pid_t pid;
	fd = scratch_file();
	if (argc > 1) { /* the exec'd one */
		for (int i = 0; i < 11; i++)
			CHECK(syncfs(fd) == 0);
		return 0;
	}
	CHECK(pthread_atfork(before, after, after_in_child) == 0);
	for (int i = 0; i < 7; i++) {
		if ((pid = fork()) == 0)
			child(i % 2);
		reap(pid);
	}
	for (int i = 0; i < 2; i++) { /* these do nothing that is seen but in the handler */
		if ((pid = __fork()) == 0)
			_exit(0);
		reap(pid);
	}
	for (int i = 0; i < 3; i++) { /* and these, which have no handlers, nothing at all */
		if ((pid = _Fork()) == 0)
			_exit(0);
		reap(pid);
	}
	if ((pid = (pid_t)raw(SYS_clone, SIGCHLD, 0, 0)) == 0) {
		for (int i = 0; i < 2; i++)
			CHECK(fsync(fd) == 0);
		raw(SYS_exit_group, 0, 0, 0);
	}
	reap(pid);
	if ((pid = vfork()) == 0) {
		execl(argv[0], argv[0], "exec", (char *)NULL);
		_exit(127);
	}
	reap(pid);
	for (int i = 0; i < 13; i++)
		CHECK(fsync(fd) == 0);
	expect("fsync", "waits", 7 * 5 + 2 + 13);
	expect("fsync", "path child", 7 * 5);
	expect("fdatasync", "waits", 3 * 3);
	expect("fdatasync", "path nap", 9);
	expect("syncfs", "waits", 11);
	expect("fork", "fast", 7);
	expect("__fork", "fast", 2);
	expect("_Fork", "fast", 3);
	expect("sync_file_range", "waits", 7 + 2);
	expect("store", "processes", 1 + 7 + 2 + 1 + 1);
	expect("store", "threads", 1 + 7 + 3 + 2 + 1 + 1);
	return 0;
}

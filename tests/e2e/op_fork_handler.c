/* SPDX-License-Identifier: MIT
 * A server that forks in a signal handler, while its main thread is inside a
 * recorded wait: the child is on top of that wait for ever and records all the
 * same; one that returns from the handler does so, too. */
#include "e2e.h"
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

static int fd, parent;
static _Atomic int handled;

static NOINLINE void child_work(int n)
{
	for (int i = 0; i < n; i++)
		CHECK(fsync(fd) == 0);
}
static void start_child(int sig)
{
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		child_work(7);
		if (sig == SIGUSR1)
			_exit(0);
	}
	atomic_store(&handled, 1);
}
static void kick(void *sig) { CHECK(kill(parent, (int)(long)sig) == 0); }

int main(void)
{
	struct sigaction act = {.sa_handler = start_child};
	int status;
	parent = getpid();
	fd = scratch_file();
	CHECK(sigaction(SIGUSR1, &act, NULL) == 0 && sigaction(SIGUSR2, &act, NULL) == 0);
	pid_t helper = fork(); /* sends the signals when the parent sleeps */
	if (helper == 0) {
		until_blocked(parent, parent);
		kick((void *)(long)SIGUSR1);
		_exit(0);
	}
	while (!atomic_load(&handled))
		CHECK(poll(NULL, 0, -1) == -1 && errno == EINTR);
	for (int i = 0; i < 2; i++)
		CHECK(wait(&status) > 0 && status == 0);
	atomic_store(&handled, 0);
	helper = fork();
	if (helper == 0) {
		until_blocked(parent, parent);
		kick((void *)(long)SIGUSR2);
		_exit(0);
	}
	while (!atomic_load(&handled))
		CHECK(poll(NULL, 0, -1) == -1 && errno == EINTR);
	if (getpid() != parent) { /* came back from the handler, and out of the parent's poll */
		child_work(5);
		_exit(0);
	}
	for (int i = 0; i < 2; i++)
		CHECK(wait(&status) > 0 && status == 0);
	expect("fsync", "waits", 7 + 7 + 5);
	expect("fsync", "path start_child", 14);
	expect("poll", "waits", 2);
	expect("poll", "errno EINTR", 2);
	return 0;
}

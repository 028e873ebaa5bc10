/* SPDX-License-Identifier: MIT
 * Signals that end a child's waits; signal 0 and groups are counted only. */
#include "e2e.h"
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static _Atomic int *at;
static pid_t child;

static void caught(int s) { (void)s; }

static NOINLINE void wait_here(int rounds)
{
	for (int i = 1; i <= rounds; i++) {
		atomic_store(at, i);
		errno = 0;
		CHECK(poll(NULL, 0, -1) == -1 && errno == EINTR);
	}
}

static void until_polling(int round)
{
	while (atomic_load(at) < round)
		raw_yield();
	until_blocked(child, child);
}

static NOINLINE void kill_here(void) { CHECK(kill(child, SIGUSR1) == 0); }
static NOINLINE void queue_here(void) { CHECK(sigqueue(child, SIGUSR1, (union sigval){ .sival_int = 4711 }) == 0); }
static NOINLINE void thread_here(void) { CHECK(tgkill(child, child, SIGUSR1) == 0); }

/* A handler that forks: the child comes back from kill, and has its own slot. */
static void forks(int s)
{
	(void)s;
	if (fork() == 0)
		_exit(0);
}

int main(void)
{
	int round = 0;
	signal(SIGUSR1, caught);
	at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(at != MAP_FAILED && (child = fork()) >= 0);
	if (child == 0) {
		wait_here(7 + 5 + 3);
		_exit(0);
	}
	for (int i = 0; i < 7; i++) {
		until_polling(++round);
		kill_here();
	}
	for (int i = 0; i < 5; i++) {
		until_polling(++round);
		queue_here();
	}
	for (int i = 0; i < 3; i++) {
		until_polling(++round);
		thread_here();
	}
	CHECK(waitpid(child, NULL, 0) == child);
	errno = 0;
	CHECK(kill(child, 0) == -1 && errno == ESRCH);
	CHECK(kill(child, SIGUSR1) == -1 && errno == ESRCH);
	CHECK(kill(getpid(), 0) == 0);
	signal(SIGUSR2, forks);
	CHECK(kill(getpid(), SIGUSR2) == 0);
	CHECK(wait(NULL) > 0);
	expect("poll", "waits", 15);
	expect("poll", "path wait_here", 15);
	expect("kill", "wakes", 8);
	expect("kill", "fast", 3);
	expect("kill", "path kill_here", 7);
	expect("sigqueue", "wakes", 5);
	expect("sigqueue", "path queue_here", 5);
	expect("tgkill", "wakes", 3);
	expect("tgkill", "path thread_here", 3);
	return 0;
}

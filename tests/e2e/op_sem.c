/* SPDX-License-Identifier: MIT
 * Semaphores, also one in memory that two processes share. */
#include "e2e.h"
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>

static sem_t s;

static void post(void *p) { CHECK(sem_post(p) == 0); }
static NOINLINE void wait_here(void *p) { CHECK(sem_wait(p) == 0); }
static void timed(void *p)
{
	struct timespec t = in_ms(CLOCK_REALTIME, 600000);
	CHECK(sem_timedwait(p, &t) == 0);
}
static void clocked(void *p)
{
	struct timespec t = in_ms(CLOCK_MONOTONIC, 600000);
	CHECK(sem_clockwait(p, CLOCK_MONOTONIC, &t) == 0);
}
static void times_out(void *p)
{
	struct timespec t = in_ms(CLOCK_REALTIME, 2);
	errno = 0;
	CHECK(sem_timedwait(p, &t) == -1 && errno == ETIMEDOUT);
}

int main(void)
{
	CHECK(sem_init(&s, 0, 0) == 0);
	blocked(23, NULL, wait_here, post, &s);
	blocked(5, NULL, timed, post, &s);
	blocked(3, NULL, clocked, post, &s);
	blocked(7, NULL, times_out, NULL, &s);
	for (int i = 0; i < 13; i++)
		post(&s);
	for (int i = 0; i < 11; i++)
		wait_here(&s);
	CHECK(sem_trywait(&s) == 0 && sem_trywait(&s) == 0);
	errno = 0;
	CHECK(sem_trywait(&s) == -1 && errno == EAGAIN);

	/* between processes: the child posts when it sees the parent asleep */
	struct shared { sem_t s; _Atomic int at; } *sh;
	sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(sh != MAP_FAILED && sem_init(&sh->s, 1, 0) == 0);
	int parent = getpid();
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		for (int i = 1; i <= 2; i++) {
			while (atomic_load(&sh->at) < i)
				raw_yield();
			until_blocked(parent, parent);
			post(&sh->s);
		}
		_exit(0);
	}
	for (int i = 1; i <= 2; i++) {
		atomic_store(&sh->at, i);
		wait_here(&sh->s);
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);

	expect("sem_wait", "waits", 25);
	expect("sem_wait", "fast", 11);
	expect("sem_wait", "path wait_here", 25);
	expect("sem_wait", "objects", 2);
	expect("sem_wait", "shared", 2);
	expect("sem_timedwait", "waits", 12);
	expect("sem_timedwait", "errno ETIMEDOUT", 7);
	expect("sem_clockwait", "waits", 3);
	expect("sem_trywait", "fast", 3);
	expect("sem_post", "wakes", 23 + 5 + 3 + 2);
	expect("sem_post", "fast", 13);
	return 0;
}

/* SPDX-License-Identifier: MIT
 * Joining threads, in all four ways. */
#include "e2e.h"

struct job { pthread_t t; _Atomic int go; };

static void *body(void *p)
{
	struct job *j = p;
	while (!atomic_load(&j->go))
		raw_yield();
	return j;
}
static void start(void *p)
{
	struct job *j = p;
	atomic_store(&j->go, 0);
	CHECK(pthread_create(&j->t, NULL, body, j) == 0);
}
static void finish(void *p) { atomic_store(&((struct job *)p)->go, 1); }
static NOINLINE void join_here(void *p)
{
	struct job *j = p;
	void *r;
	CHECK(pthread_join(j->t, &r) == 0 && r == j);
}
static void timed(void *p)
{
	struct job *j = p;
	struct timespec t = in_ms(CLOCK_REALTIME, 600000);
	CHECK(pthread_timedjoin_np(j->t, NULL, &t) == 0);
}
static void clocked(void *p)
{
	struct job *j = p;
	struct timespec t = in_ms(CLOCK_MONOTONIC, 600000);
	CHECK(pthread_clockjoin_np(j->t, NULL, CLOCK_MONOTONIC, &t) == 0);
}

int main(void)
{
	struct job j;
	blocked(7, start, join_here, finish, &j);
	blocked(5, start, timed, finish, &j);
	blocked(3, start, clocked, finish, &j);
	start(&j);
	for (int i = 0; i < 11; i++)
		CHECK(pthread_tryjoin_np(j.t, NULL) == EBUSY);
	struct timespec t = in_ms(CLOCK_REALTIME, 2);
	CHECK(pthread_timedjoin_np(j.t, NULL, &t) == ETIMEDOUT);
	finish(&j);
	join_here(&j);
	/* 4 helpers of blocked() would be joins if they were not detached */
	expect("pthread_join", "waits", 8);
	expect("pthread_join", "path join_here", 8);
	expect("pthread_timedjoin_np", "waits", 6);
	expect("pthread_timedjoin_np", "errno ETIMEDOUT", 1);
	expect("pthread_clockjoin_np", "waits", 3);
	expect("pthread_tryjoin_np", "fast", 11);
	/* every thread made: 3 helpers and 16 jobs */
	expect("pthread_create", "calls", 19);
	return 0;
}

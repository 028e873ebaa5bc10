/* SPDX-License-Identifier: MIT
 * Mutexes: contended ones are waits, free ones are only counted, and an unlock
 * with somebody waiting is a wake.  All kinds keep their results. */
#include "e2e.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void hold(void *m) { CHECK(pthread_mutex_lock(m) == 0); }
static void release(void *m) { CHECK(pthread_mutex_unlock(m) == 0); }
static NOINLINE void wait_here(void *m)
{
	CHECK(pthread_mutex_lock(m) == 0);
	CHECK(pthread_mutex_unlock(m) == 0);
}
static void timed(void *m)
{
	struct timespec t = in_ms(CLOCK_REALTIME, 600000);
	CHECK(pthread_mutex_timedlock(m, &t) == 0);
	CHECK(pthread_mutex_unlock(m) == 0);
}
static void clocked(void *m)
{
	struct timespec t = in_ms(CLOCK_MONOTONIC, 600000);
	CHECK(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &t) == 0);
	CHECK(pthread_mutex_unlock(m) == 0);
}
static void times_out(void *m)
{
	struct timespec t = in_ms(CLOCK_REALTIME, 2);
	CHECK(pthread_mutex_timedlock(m, &t) == ETIMEDOUT);
}

int main(void)
{
	blocked(11, hold, wait_here, release, &a);
	blocked(12, hold, wait_here, release, &b);
	blocked(5, hold, timed, release, &a);
	blocked(3, hold, clocked, release, &b);
	CHECK(pthread_mutex_lock(&a) == 0);
	blocked(7, NULL, times_out, NULL, &a);
	CHECK(pthread_mutex_trylock(&a) == EBUSY);
	CHECK(pthread_mutex_unlock(&a) == 0);
	for (int i = 0; i < 13; i++) {
		CHECK(pthread_mutex_trylock(&a) == 0);
		CHECK(pthread_mutex_unlock(&a) == 0);
	}
	struct timespec t = in_ms(CLOCK_REALTIME, 600000);
	CHECK(pthread_mutex_timedlock(&a, &t) == 0 && pthread_mutex_unlock(&a) == 0);
	t = in_ms(CLOCK_MONOTONIC, 600000);
	CHECK(pthread_mutex_clocklock(&a, CLOCK_MONOTONIC, &t) == 0 && pthread_mutex_unlock(&a) == 0);

	expect("pthread_mutex_lock", "waits", 23);
	expect("pthread_mutex_lock", "path wait_here", 23);
	expect("pthread_mutex_lock", "objects", 2);
	expect("pthread_mutex_lock", "fast", 23 + 5 + 3 + 1);
	expect("pthread_mutex_timedlock", "waits", 12);
	expect("pthread_mutex_timedlock", "errno ETIMEDOUT", 7);
	expect("pthread_mutex_timedlock", "atleast 1000000", 7);
	expect("pthread_mutex_timedlock", "fast", 1);
	expect("pthread_mutex_clocklock", "waits", 3);
	expect("pthread_mutex_clocklock", "fast", 1);
	expect("pthread_mutex_trylock", "waits", 0);
	expect("pthread_mutex_trylock", "fast", 14);
	/* after the last time-out the lock word still says contended: one wake too many is right */
	expect("pthread_mutex_unlock", "wakes-from", 23 + 5 + 3);
	expect("pthread_mutex_unlock", "path release", 23 + 5 + 3);
	return 0;
}

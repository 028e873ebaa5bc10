/* SPDX-License-Identifier: MIT
 * Condition variables: signal, broadcast, time-outs by both clocks; a signal
 * with nobody waiting is only counted. */
#include "e2e.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready;

static void give(void *signal)
{
	CHECK(pthread_mutex_lock(&m) == 0);
	ready = 1;
	CHECK((signal ? pthread_cond_signal(&c) : pthread_cond_broadcast(&c)) == 0);
	CHECK(pthread_mutex_unlock(&m) == 0);
}
static NOINLINE void wait_here(void *unused)
{
	CHECK(pthread_mutex_lock(&m) == 0);
	while (!ready)
		CHECK(pthread_cond_wait(&c, &m) == 0);
	ready = 0;
	CHECK(pthread_mutex_unlock(&m) == 0);
}
static void timed(void *unused)
{
	struct timespec t = in_ms(CLOCK_REALTIME, 600000);
	CHECK(pthread_mutex_lock(&m) == 0);
	while (!ready)
		CHECK(pthread_cond_timedwait(&c, &m, &t) == 0);
	ready = 0;
	CHECK(pthread_mutex_unlock(&m) == 0);
}
static void clocked(void *unused)
{
	struct timespec t = in_ms(CLOCK_MONOTONIC, 600000);
	CHECK(pthread_mutex_lock(&m) == 0);
	while (!ready)
		CHECK(pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &t) == 0);
	ready = 0;
	CHECK(pthread_mutex_unlock(&m) == 0);
}

int main(void)
{
	blocked(17, NULL, wait_here, give, &m);
	blocked(6, NULL, wait_here, give, NULL);
	blocked(5, NULL, timed, give, &m);
	blocked(3, NULL, clocked, give, &m);
	CHECK(pthread_mutex_lock(&m) == 0);
	for (int i = 0; i < 7; i++) {
		struct timespec t = in_ms(CLOCK_REALTIME, 2);
		while (pthread_cond_timedwait(&c, &m, &t) != ETIMEDOUT)
			;
	}
	CHECK(pthread_mutex_unlock(&m) == 0);
	for (int i = 0; i < 13; i++)
		CHECK(pthread_cond_signal(&c) == 0);
	for (int i = 0; i < 11; i++)
		CHECK(pthread_cond_broadcast(&c) == 0);
	expect("pthread_cond_wait", "waits-from", 23);
	expect("pthread_cond_wait", "objects", 1);
	expect("pthread_cond_timedwait", "waits-from", 12);
	expect("pthread_cond_timedwait", "errno ETIMEDOUT", 7);
	expect("pthread_cond_clockwait", "waits-from", 3);
	expect("pthread_cond_signal", "wakes", 17 + 5 + 3);
	expect("pthread_cond_signal", "path give", 17 + 5 + 3);
	expect("pthread_cond_signal", "fast", 13);
	expect("pthread_cond_broadcast", "wakes", 6);
	expect("pthread_cond_broadcast", "fast", 11);
	return 0;
}

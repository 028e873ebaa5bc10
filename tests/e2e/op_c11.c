/* SPDX-License-Identifier: MIT
 * C11 threads call nothing but their own names. */
#include "e2e.h"
#include <threads.h>

static mtx_t m;
static cnd_t c;
static int ready;

static void hold(void *p) { CHECK(mtx_lock(&m) == thrd_success); }
static void release(void *p) { CHECK(mtx_unlock(&m) == thrd_success); }
static NOINLINE void lock_here(void *p) { hold(p); release(p); }
static void times_out(void *p)
{
	struct timespec t = in_ms(CLOCK_REALTIME, 2);
	CHECK(mtx_timedlock(&m, &t) == thrd_timedout);
}
static void give(void *signal)
{
	hold(NULL);
	ready = 1;
	CHECK((signal ? cnd_signal(&c) : cnd_broadcast(&c)) == thrd_success);
	release(NULL);
}
static void take(void *p)
{
	hold(NULL);
	while (!ready)
		CHECK(cnd_wait(&c, &m) == thrd_success);
	ready = 0;
	release(NULL);
}
static void timed(void *p)
{
	struct timespec t = in_ms(CLOCK_REALTIME, 2);
	hold(NULL);
	while (cnd_timedwait(&c, &m, &t) != thrd_timedout)
		;
	release(NULL);
}
static int body(void *p) { return (int)(long)p; }

int main(void)
{
	CHECK(mtx_init(&m, mtx_timed) == thrd_success && cnd_init(&c) == thrd_success);
	blocked(11, hold, lock_here, release, NULL);
	hold(NULL);
	blocked(5, NULL, times_out, NULL, NULL);
	CHECK(mtx_trylock(&m) == thrd_busy);
	release(NULL);
	blocked(7, NULL, take, give, &m);
	blocked(3, NULL, take, give, NULL);
	blocked(2, NULL, timed, NULL, NULL);
	CHECK(cnd_signal(&c) == thrd_success && cnd_broadcast(&c) == thrd_success);
	for (long i = 0; i < 13; i++) {
		thrd_t t;
		int r;
		CHECK(thrd_create(&t, body, (void *)i) == thrd_success);
		CHECK(thrd_join(t, &r) == thrd_success && r == i);
	}
	struct timespec nap = {0, 1000000};
	for (int i = 0; i < 3; i++)
		CHECK(thrd_sleep(&nap, NULL) == 0);
	for (int i = 0; i < 17; i++)
		thrd_yield();
	expect("mtx_lock", "path lock_here", 11);
	expect("mtx_lock", "waits-from", 11);
	expect("mtx_timedlock", "waits", 5);
	expect("mtx_timedlock", "errno ETIMEDOUT", 5);
	expect("mtx_trylock", "fast", 1);
	expect("mtx_unlock", "wakes-from", 11);
	expect("cnd_wait", "waits-from", 10);
	expect("cnd_timedwait", "waits-from", 2);
	expect("cnd_timedwait", "errno ETIMEDOUT", 2);
	expect("cnd_signal", "wakes", 7);
	expect("cnd_signal", "fast", 1);
	expect("cnd_broadcast", "wakes", 3);
	expect("cnd_broadcast", "fast", 1);
	expect("thrd_create", "calls", 13);
	expect("thrd_join", "waits", 13);
	expect("thrd_sleep", "waits", 3);
	expect("thrd_sleep", "atleast 1000000", 3);
	expect("thrd_yield", "fast", 17);
	return 0;
}

/* SPDX-License-Identifier: MIT
 * Reader-writer locks: readers behind a writer and writers behind a reader. */
#include "e2e.h"

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;

static void hold_w(void *p) { CHECK(pthread_rwlock_trywrlock(p) == 0); }
static void hold_r(void *p) { CHECK(pthread_rwlock_tryrdlock(p) == 0); }
static void release(void *p) { CHECK(pthread_rwlock_unlock(p) == 0); }
static void rd(void *p) { CHECK(pthread_rwlock_rdlock(p) == 0); release(p); }
static void wr(void *p) { CHECK(pthread_rwlock_wrlock(p) == 0); release(p); }
static void timed_rd(void *p)
{
	struct timespec t = in_ms(CLOCK_REALTIME, 600000);
	CHECK(pthread_rwlock_timedrdlock(p, &t) == 0);
	release(p);
}
static void timed_wr(void *p)
{
	struct timespec t = in_ms(CLOCK_REALTIME, 2);
	CHECK(pthread_rwlock_timedwrlock(p, &t) == ETIMEDOUT);
}
static void clock_rd(void *p)
{
	struct timespec t = in_ms(CLOCK_MONOTONIC, 600000);
	CHECK(pthread_rwlock_clockrdlock(p, CLOCK_MONOTONIC, &t) == 0);
	release(p);
}
static void clock_wr(void *p)
{
	struct timespec t = in_ms(CLOCK_MONOTONIC, 600000);
	CHECK(pthread_rwlock_clockwrlock(p, CLOCK_MONOTONIC, &t) == 0);
	release(p);
}

int main(void)
{
	blocked(7, hold_w, rd, release, &l);
	blocked(11, hold_r, wr, release, &l);
	blocked(3, hold_w, timed_rd, release, &l);
	CHECK(pthread_rwlock_rdlock(&l) == 0);
	blocked(5, NULL, timed_wr, NULL, &l);
	release(&l);
	blocked(2, hold_w, clock_rd, release, &l);
	blocked(13, hold_r, clock_wr, release, &l);
	for (int i = 0; i < 17; i++) {
		rd(&l);
		wr(&l);
	}
	expect("pthread_rwlock_rdlock", "waits", 7);
	expect("pthread_rwlock_rdlock", "fast", 18);
	expect("pthread_rwlock_rdlock", "objects", 1);
	expect("pthread_rwlock_wrlock", "waits", 11);
	expect("pthread_rwlock_wrlock", "fast", 17);
	expect("pthread_rwlock_timedrdlock", "waits", 3);
	expect("pthread_rwlock_timedwrlock", "waits", 5);
	expect("pthread_rwlock_timedwrlock", "errno ETIMEDOUT", 5);
	expect("pthread_rwlock_clockrdlock", "waits", 2);
	expect("pthread_rwlock_clockwrlock", "waits", 13);
	expect("pthread_rwlock_trywrlock", "fast", 12);
	expect("pthread_rwlock_tryrdlock", "fast", 24);
	expect("pthread_rwlock_unlock", "wakes-from", 7 + 11 + 3 + 2 + 13);
	return 0;
}

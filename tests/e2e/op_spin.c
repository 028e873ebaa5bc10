/* SPDX-License-Identifier: MIT
 * Spin locks: the waiter never sleeps, so the holder lets go once the waiter
 * has had a while to spin; a spin that found the lock free is only counted. */
#include "e2e.h"

static pthread_spinlock_t s;
static _Atomic int spinning;

static void hold(void *p) { CHECK(pthread_spin_trylock(p) == 0); }
static void *holder(void *p)
{
	for (int i = 1; i <= 19; i++) {
		hold(p);
		atomic_store(&spinning, 2 * i - 1); /* the other may begin */
		while (atomic_load(&spinning) < 2 * i)
			raw_yield();
		struct timespec now, until = in_ms(CLOCK_MONOTONIC, 2); /* it is at its lock call; give it time to try */
		do
			clock_gettime(CLOCK_MONOTONIC, &now);
		while (now.tv_sec < until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec < until.tv_nsec));
		CHECK(pthread_spin_unlock(p) == 0);
		while (atomic_load(&spinning) != 1000 + i)
			raw_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t t;
	CHECK(pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE) == 0);
	pthread_spinlock_t *p = &s;
	CHECK(pthread_create(&t, NULL, holder, (void *)p) == 0);
	for (int i = 1; i <= 19; i++) {
		while (atomic_load(&spinning) != 2 * i - 1)
			raw_yield();
		atomic_store(&spinning, 2 * i);
		CHECK(pthread_spin_lock(p) == 0);
		CHECK(pthread_spin_trylock(p) == EBUSY);
		CHECK(pthread_spin_unlock(p) == 0);
		atomic_store(&spinning, 1000 + i);
	}
	CHECK(pthread_join(t, NULL) == 0);
	for (int i = 0; i < 29; i++)
		CHECK(pthread_spin_lock(p) == 0 && pthread_spin_unlock(p) == 0);
	/* a waiter that was preempted for the whole 2 ms found the lock free */
	printf("expect pthread_spin_lock waits+fast %d\n", 19 + 29);
	expect("pthread_spin_lock", "fast-from", 29);
	expect("pthread_spin_lock", "waits-from", 1);
	expect("pthread_spin_trylock", "fast", 38);
	return 0;
}

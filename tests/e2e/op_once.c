/* SPDX-License-Identifier: MIT
 * pthread_once and call_once: the caller that runs the function and the ones
 * that wait for it; a once that is over is only counted. */
#include "e2e.h"
#include <threads.h>

static pthread_once_t po[7] = {[0 ... 6] = PTHREAD_ONCE_INIT};
static once_flag co[5] = {[0 ... 4] = ONCE_FLAG_INIT};
static _Atomic int inside, leave, runs;

static void slow(void)
{
	atomic_fetch_add(&runs, 1);
	atomic_fetch_add(&inside, 1);
	int mine = atomic_load(&inside);
	while (atomic_load(&leave) < mine)
		raw_yield();
}
static void *first(void *p)
{
	for (int i = 0; i < 7; i++) {
		while (atomic_load(&leave) < i)
			raw_yield();
		CHECK(pthread_once(&po[i], slow) == 0);
	}
	for (int i = 0; i < 5; i++) {
		while (atomic_load(&leave) < 7 + i)
			raw_yield();
		call_once(&co[i], slow);
	}
	return p;
}
static NOINLINE void second(void *p)
{
	int i = atomic_load(&inside) - 1;
	if (i < 7)
		CHECK(pthread_once(&po[i], slow) == 0);
	else
		call_once(&co[i - 7], slow);
	__asm__ volatile(""); /* no tail call */
}
static void until_inside(void *p)
{
	while (atomic_load(&inside) <= atomic_load(&leave))
		raw_yield();
}
static void let_go(void *p) { atomic_fetch_add(&leave, 1); }

int main(void)
{
	pthread_t t;
	CHECK(pthread_create(&t, NULL, first, NULL) == 0);
	blocked(12, until_inside, second, let_go, NULL);
	CHECK(pthread_join(t, NULL) == 0);
	CHECK(atomic_load(&runs) == 12);
	for (int i = 0; i < 17; i++)
		CHECK(pthread_once(&po[0], slow) == 0);
	for (int i = 0; i < 13; i++)
		call_once(&co[0], slow);
	expect("pthread_once", "path second", 7);
	expect("pthread_once", "fast", 17 + 7); /* who runs the function does not wait */
	expect("call_once", "path second", 5);
	expect("call_once", "fast", 13 + 5);
	return 0;
}

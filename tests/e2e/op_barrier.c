/* SPDX-License-Identifier: MIT
 * Barriers: everybody's call is a wait, also the last one's. */
#include "e2e.h"

static pthread_barrier_t b;

static void arrive(void *p)
{
	int r = pthread_barrier_wait(p);
	CHECK(r == 0 || r == PTHREAD_BARRIER_SERIAL_THREAD);
}

int main(void)
{
	CHECK(pthread_barrier_init(&b, NULL, 2) == 0);
	blocked(11, NULL, arrive, arrive, &b);
	CHECK(pthread_barrier_destroy(&b) == 0);
	expect("pthread_barrier_wait", "waits", 22);
	expect("pthread_barrier_wait", "path arrive", 22);
	expect("pthread_barrier_wait", "objects", 1);
	return 0;
}

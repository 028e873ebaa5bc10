/* SPDX-License-Identifier: MIT
 * The condition variables of binaries linked before glibc 2.3.2: a pointer, not
 * 48 bytes.  Their calls must reach the old functions and touch nothing else;
 * they are passed through, not recorded. */
#include "e2e.h"

#ifdef __x86_64__
int old_init(void *c, void *a);
int old_wait(void *c, pthread_mutex_t *m);
int old_timedwait(void *c, pthread_mutex_t *m, const struct timespec *t);
int old_signal(void *c);
int old_broadcast(void *c);
int old_destroy(void *c);
__asm__(".symver old_init,pthread_cond_init@GLIBC_2.2.5\n.symver old_wait,pthread_cond_wait@GLIBC_2.2.5\n"
	".symver old_timedwait,pthread_cond_timedwait@GLIBC_2.2.5\n.symver old_signal,pthread_cond_signal@GLIBC_2.2.5\n"
	".symver old_broadcast,pthread_cond_broadcast@GLIBC_2.2.5\n.symver old_destroy,pthread_cond_destroy@GLIBC_2.2.5");

static struct { long before; void *cond; long after[8]; } area = {0x5a5a, NULL, {1, 2, 3, 4, 5, 6, 7, 8}};
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int ready;

static void give(void *signal)
{
	CHECK(pthread_mutex_lock(&m) == 0);
	ready = 1;
	CHECK((signal ? old_signal(&area.cond) : old_broadcast(&area.cond)) == 0);
	CHECK(pthread_mutex_unlock(&m) == 0);
}
static void take(void *unused)
{
	CHECK(pthread_mutex_lock(&m) == 0);
	while (!ready)
		CHECK(old_wait(&area.cond, &m) == 0);
	ready = 0;
	CHECK(pthread_mutex_unlock(&m) == 0);
}

int main(void)
{
	CHECK(old_init(&area.cond, NULL) == 0);
	blocked(13, NULL, take, give, &m);
	blocked(7, NULL, take, give, NULL);
	struct timespec t = in_ms(CLOCK_REALTIME, 2);
	CHECK(pthread_mutex_lock(&m) == 0);
	CHECK(old_timedwait(&area.cond, &m, &t) == ETIMEDOUT);
	CHECK(pthread_mutex_unlock(&m) == 0);
	CHECK(old_destroy(&area.cond) == 0);
	CHECK(area.before == 0x5a5a && area.after[0] == 1 && area.after[7] == 8);
	puts("old condition variables work");
	return 0;
}
#else
int main(void)
{
	puts("old condition variables work");
	return 0;
}
#endif

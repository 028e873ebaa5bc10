/* SPDX-License-Identifier: MIT
 * Readers and writers before a gate, under fcfs.  With a reader all readers that
 * queue are let in; a thread that reads already waits for no writer that queues.
 * Then what the calls return, which is the same without a gate. */
#include "gate.h"

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static struct guest guest[8];
static char log_[16];
static _Atomic int logged, reading;
static pthread_barrier_t together;

static void note(char who)
{
	log_[atomic_fetch_add(&logged, 1)] = who;
}

static void writes(struct guest *g)
{
	here(g);
	IS(pthread_rwlock_wrlock(&l), 0);
	IS(atomic_load(&reading), 0);
	note('w');
	IS(pthread_rwlock_unlock(&l), 0);
}

/* Lets go only when all three of them have it. */
static void reads(struct guest *g)
{
	struct timespec t = in(CLOCK_MONOTONIC, 1000);
	here(g);
	IS(g->number % 2 ? pthread_rwlock_rdlock(&l) : pthread_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &t), 0);
	atomic_fetch_add(&reading, 1);
	int r = pthread_barrier_wait(&together);
	CHECK(r == 0 || r == PTHREAD_BARRIER_SERIAL_THREAD);
	if (r)
		note('r');
	atomic_fetch_sub(&reading, 1);
	IS(pthread_rwlock_unlock(&l), 0);
}

static void together_in(void)
{
	IS(pthread_barrier_init(&together, NULL, 3), 0);
	IS(pthread_rwlock_wrlock(&l), 0);
	invite(&guest[0], writes, NULL, 0); /* at the lock itself */
	invite(&guest[1], reads, NULL, 1);
	invite(&guest[2], writes, NULL, 2);
	invite(&guest[3], reads, NULL, 3);
	invite(&guest[4], writes, NULL, 4);
	invite(&guest[5], reads, NULL, 5);
	IS(pthread_rwlock_unlock(&l), 0);
	for (int i = 0; i < 6; i++)
		farewell(&guest[i]);
	log_[atomic_load(&logged)] = 0;
	if (strcmp(log_, "wrww") != 0)
		fprintf(stderr, "%s\n", log_);
	IS(strcmp(log_, "wrww"), 0);
	pthread_barrier_destroy(&together);
}

/* A reader reads again while a writer is at the lock and another one queues. */
static void read_again(void)
{
	struct timespec t = in(CLOCK_REALTIME, 1000);
	IS(pthread_rwlock_rdlock(&l), 0);
	invite(&guest[0], writes, NULL, 0);
	invite(&guest[1], writes, NULL, 1);
	IS(pthread_rwlock_rdlock(&l), 0);
	IS(pthread_rwlock_timedrdlock(&l, &t), 0);
	IS(pthread_rwlock_tryrdlock(&l), 0);
	for (int i = 0; i < 4; i++)
		IS(pthread_rwlock_unlock(&l), 0);
	farewell(&guest[0]);
	farewell(&guest[1]);
}

/* One that read only by the application's own try, and one that has another lock. */
static void read_after_try(void)
{
	static pthread_rwlock_t other = PTHREAD_RWLOCK_INITIALIZER;
	IS(pthread_rwlock_rdlock(&other), 0);
	IS(pthread_rwlock_tryrdlock(&l), 0);
	invite(&guest[0], writes, NULL, 0);
	invite(&guest[1], writes, NULL, 1);
	IS(pthread_rwlock_rdlock(&l), 0);
	IS(pthread_rwlock_unlock(&other), 0);
	IS(pthread_rwlock_rdlock(&l), 0);
	for (int i = 0; i < 3; i++)
		IS(pthread_rwlock_unlock(&l), 0);
	farewell(&guest[0]);
	farewell(&guest[1]);
}

static void fails(struct guest *g)
{
	const struct timespec past = { 1, 0 }, nonsense = { 1, -1 };
	here(g);
	IS(pthread_rwlock_timedrdlock(&l, &past), ETIMEDOUT);
	IS(pthread_rwlock_timedwrlock(&l, &past), ETIMEDOUT);
	IS(pthread_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &past), ETIMEDOUT);
	IS(pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &past), ETIMEDOUT);
	IS(pthread_rwlock_timedrdlock(&l, &nonsense), EINVAL);
	IS(pthread_rwlock_clockwrlock(&l, 77, &past), EINVAL);
	IS(pthread_rwlock_tryrdlock(&l), EBUSY);
	IS(pthread_rwlock_trywrlock(&l), EBUSY);
}

static void results(void)
{
	IS(pthread_rwlock_wrlock(&l), 0);
	invite(&guest[0], writes, NULL, 0);
	invite(&guest[1], writes, NULL, 1);
	invite(&guest[2], fails, NULL, 2);
	farewell(&guest[2]);
	IS(pthread_rwlock_wrlock(&l), EDEADLK);
	IS(pthread_rwlock_rdlock(&l), EDEADLK);
	IS(pthread_rwlock_unlock(&l), 0);
	farewell(&guest[0]);
	farewell(&guest[1]);
	IS(pthread_rwlock_trywrlock(&l), 0);
	IS(pthread_rwlock_unlock(&l), 0);
	IS(pthread_rwlock_destroy(&l), 0);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		together_in();
	read_again();
	read_after_try();
	results();
	puts("ok");
	return 0;
}

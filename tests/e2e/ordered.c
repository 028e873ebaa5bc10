/* SPDX-License-Identifier: MIT
 * Rounds of waiting on a condition variable.  For each word of input WAITERS threads
 * queue one after the other, the one with the youngest request first, and are
 * signalled one at a time.  The answer says in which order they went on:
 *   came      as they came
 *   reversed  the other way round, the eldest request first
 *   other
 * Words: a, b: on cond_first in the function lock_wait_a or lock_wait_b; A, B: the
 * same on cond_second; n: a private condition variable of the heap, lock_wait_a;
 * p: the answer is the pid.
 * With an argument the requests have no markers; they begin when a thread leaves a
 * wait in next_job. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tarry/tarry.h"

#define WAITERS 6

pthread_cond_t cond_first = PTHREAD_COND_INITIALIZER;
static pthread_cond_t cond_second = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t begin[WAITERS], queued, woken, go[WAITERS];
static pthread_cond_t *cond, *heap;
static pthread_cond_t has_job[WAITERS];
static int jobs[WAITERS], by_idle;
static int in_b, tokens, order[WAITERS], done;

__attribute__((noinline)) static void lock_wait_a(void)
{
	while (tokens == 0)
		pthread_cond_wait(cond, &lock);
	tokens--;
}

__attribute__((noinline)) static void lock_wait_b(void)
{
	while (tokens == 0)
		pthread_cond_wait(cond, &lock);
	tokens -= 1;
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void next_job(int me)
{
	pthread_mutex_lock(&lock);
	while (!jobs[me])
		pthread_cond_wait(&has_job[me], &lock);
	jobs[me] = 0;
	pthread_mutex_unlock(&lock);
}

static void give_job(int to)
{
	pthread_mutex_lock(&lock);
	jobs[to] = 1;
	pthread_cond_signal(&has_job[to]);
	pthread_mutex_unlock(&lock);
}

static void *waiter(void *arg)
{
	int me = (int)(long)arg;
	for (;;) {
		if (by_idle)
			next_job(me);
		sem_wait(&begin[me]); /* in the order of ages */
		if (!by_idle)
			tarry_request_begin((unsigned)me + 1, "round");
		sem_post(&queued);
		sem_wait(&go[me]); /* in the order of arrival */
		pthread_mutex_lock(&lock);
		sem_post(&queued);
		if (in_b)
			lock_wait_b();
		else
			lock_wait_a();
		order[done++] = me;
		pthread_mutex_unlock(&lock);
		if (!by_idle)
			tarry_request_end((unsigned)me + 1);
		sem_post(&woken);
	}
	return NULL;
}

static const char *round_of(char word)
{
	int up = 1, down = 1;
	in_b = word == 'b' || word == 'B';
	cond = word == 'n' ? heap : word == 'A' || word == 'B' ? &cond_second : &cond_first;
	done = 0;
	for (int i = 0; i < WAITERS; i++) { /* thread 0 has the eldest request */
		if (by_idle)
			give_job(i);
		sem_post(&begin[i]);
		sem_wait(&queued);
	}
	for (int i = WAITERS - 1; i >= 0; i--) { /* and comes last */
		sem_post(&go[i]);
		sem_wait(&queued);
		/* it holds the lock until it is queued */
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
	for (int i = 0; i < WAITERS; i++) {
		pthread_mutex_lock(&lock);
		tokens++;
		pthread_cond_signal(cond);
		pthread_mutex_unlock(&lock);
		sem_wait(&woken);
	}
	for (int i = 0; i < WAITERS; i++) {
		up &= order[i] == WAITERS - 1 - i;
		down &= order[i] == i;
	}
	return up ? "came" : down ? "reversed" : "other";
}

int main(int argc, char **argv)
{
	pthread_t t;
	char word[16];
	sem_init(&queued, 0, 0);
	sem_init(&woken, 0, 0);
	by_idle = argc > 1;
	heap = malloc(sizeof *heap);
	if (!heap || pthread_cond_init(heap, NULL))
		return 1;
	for (int i = 0; i < WAITERS; i++) {
		sem_init(&begin[i], 0, 0);
		sem_init(&go[i], 0, 0);
		pthread_cond_init(&has_job[i], NULL);
		if (pthread_create(&t, NULL, waiter, (void *)(long)i))
			return 1;
	}
	while (scanf("%15s", word) == 1) {
		if (word[0] == 'p')
			printf("%d\n", getpid());
		else
			puts(round_of(word[0]));
		fflush(stdout);
	}
	return 0;
}

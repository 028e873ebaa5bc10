/* SPDX-License-Identifier: MIT
 *
 * Threads and phases of the stress test; stress.h says what it is.
 *   stress SECONDS [SEED]    prints "ok" and what was done, or what is wrong
 */
#include "stress.h"
#include "tarry/tarry.h"
#include <sched.h>
#include <signal.h>

#define PHASE_NS 500000000u
#define GIVE_UP_S 100 /* far beyond any bound of an order, doubled */

struct worker workers[WORKERS];
_Atomic bool phase_open;
static _Atomic bool finished;
static pthread_barrier_t start, end;
static const struct operation *operations[64];
static unsigned operation_count, weights;
static _Atomic uint64_t done[64];

void dawdle(struct worker *w)
{
	struct timespec t = {0, (long)(random_next(&w->random) % 30000)};
	switch (random_next(&w->random) % 8) {
	case 0: nanosleep(&t, NULL); break; /* a signal may end it */
	case 1:
	case 2: sched_yield(); break;
	default: break;
	}
}

static void add_operations(const struct operation *o)
{
	for (; o->name; o++) {
		operations[operation_count++] = o;
		weights += o->weight;
	}
}

static unsigned choose(struct worker *w)
{
	unsigned left = (unsigned)(random_next(&w->random) % weights), i = 0;
	while (left >= operations[i]->weight)
		left -= operations[i++]->weight;
	return i;
}

/* A few operations for one request, so that the threads differ in age. */
static void one_request(struct worker *w)
{
	bool marked = !one_in(w, 4);
	if (marked)
		tarry_request_begin(w->id, "stress");
	do {
		unsigned i = choose(w);
		atomic_store(&w->at, operations[i]->name);
		operations[i]->run(w);
		atomic_store(&w->at, NULL);
		atomic_fetch_add_explicit(&done[i], 1, memory_order_relaxed);
	} while (!one_in(w, 5) && atomic_load(&phase_open));
	if (marked)
		tarry_request_end(w->id);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	for (;;) {
		pthread_barrier_wait(&start);
		if (atomic_load(&finished))
			return NULL;
		while (atomic_load(&phase_open))
			one_request(w);
		pthread_barrier_wait(&end);
	}
}

/* SIGALRM: a phase does not end. */
static void give_up(int sig)
{
	char line[128];
	(void)sig;
	for (unsigned i = 0; i < WORKERS; i++) {
		const char *at = atomic_load(&workers[i].at);
		int n = at ? snprintf(line, sizeof line, "thread %u does not come back from %s\n", workers[i].id, at) : 0;
		if (n && write(2, line, (size_t)n) != n)
			break;
	}
	_exit(1);
}

static double one_phase(void)
{
	struct timespec t = {0, PHASE_NS}, from, to;
	cond_phase();
	atomic_store(&phase_open, true);
	pthread_barrier_wait(&start);
	while (nanosleep(&t, &t) != 0)
		;
	clock_gettime(CLOCK_MONOTONIC, &from);
	alarm(GIVE_UP_S);
	atomic_store(&phase_open, false);
	cond_close();
	pthread_barrier_wait(&end);
	alarm(0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	cond_check();
	lock_check();
	return (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0, longest = 0;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	if (seconds <= 0) {
		fprintf(stderr, "usage: stress SECONDS [SEED]\n");
		return 2;
	}
	struct sigaction a = {.sa_handler = give_up};
	sigaction(SIGALRM, &a, NULL);
	add_operations(cond_operations);
	add_operations(lock_operations);
	add_operations(life_operations);
	cond_open();
	lock_open();
	life_open();
	pthread_barrier_init(&start, NULL, WORKERS + 1);
	pthread_barrier_init(&end, NULL, WORKERS + 1);
	for (unsigned i = 0; i < WORKERS; i++) {
		struct worker *w = &workers[i];
		w->id = i + 1;
		w->random = (seed * WORKERS + i + 1) * 0x9e3779b97f4a7c15ULL | 1;
		IS_OK(pthread_create(&w->thread, NULL, work, w));
	}
	unsigned phases = 0;
	struct timespec until = after(CLOCK_MONOTONIC, (uint64_t)(seconds * 1e9));
	for (; !has_come(CLOCK_MONOTONIC, &until); phases++) {
		double took = one_phase();
		longest = took > longest ? took : longest;
	}
	atomic_store(&finished, true);
	pthread_barrier_wait(&start);
	for (unsigned i = 0; i < WORKERS; i++)
		IS_OK(pthread_join(workers[i].thread, NULL));
	printf("ok: seed %llu, %u phases, the longest end took %.2f s\n", (unsigned long long)seed, phases, longest);
	for (unsigned i = 0; i < operation_count; i++)
		printf("%s %llu\n", operations[i]->name, (unsigned long long)atomic_load(&done[i]));
	return 0;
}

/* SPDX-License-Identifier: MIT
 * For the programs about gates: threads that come to a lock one after the other,
 * each asleep before the next one starts, which the kernel says and no clock. */
#ifndef TY_TEST_GATE_H
#define TY_TEST_GATE_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define IS(e, v) \
	do { \
		int r_ = (e); \
		if (r_ != (v)) { \
			fprintf(stderr, "line %d: %s = %d, want %d\n", __LINE__, #e, r_, (v)); \
			exit(1); \
		} \
	} while (0)
#define CHECK(c) IS(!!(c), 1)

struct guest {
	pthread_t thread;
	_Atomic pid_t tid;    /* set right before it asks for the lock */
	_Atomic bool has;     /* it has had the answer */
	_Atomic bool asks;    /* second call of a guest that makes two */
	_Atomic bool may_go;  /* it may let the lock go */
	int result;
	void (*run)(struct guest *g);
	void *arg;
	int number;
};

static inline char state_of(pid_t tid)
{
	char path[64], line[512];
	snprintf(path, sizeof path, "/proc/%d/stat", tid);
	FILE *f = fopen(path, "r");
	if (!f)
		return 0; /* gone */
	bool got = fgets(line, sizeof line, f) != NULL;
	fclose(f);
	char *p = got ? strrchr(line, ')') : NULL;
	return p ? p[2] : 0;
}

/* Asleep in what it asked for, or through with it. */
static inline void until_waiting(struct guest *g)
{
	while (!atomic_load(&g->tid))
		sched_yield();
	while (!atomic_load(&g->has) && state_of(atomic_load(&g->tid)) != 'S')
		sched_yield();
}

static inline void until(_Atomic bool *flag)
{
	while (!atomic_load(flag))
		sched_yield();
}

static inline void here(struct guest *g)
{
	atomic_store(&g->tid, gettid());
}

static inline void *guest_main(void *p)
{
	struct guest *g = p;
	g->run(g);
	atomic_store(&g->has, true);
	return NULL;
}

static inline void invite(struct guest *g, void (*run)(struct guest *), void *arg, int number)
{
	memset(g, 0, sizeof *g);
	g->run = run;
	g->arg = arg;
	g->number = number;
	IS(pthread_create(&g->thread, NULL, guest_main, g), 0);
	until_waiting(g);
}

static inline void farewell(struct guest *g)
{
	IS(pthread_join(g->thread, NULL), 0);
}

static inline struct timespec in(clockid_t clock, int seconds)
{
	struct timespec t;
	clock_gettime(clock, &t);
	t.tv_sec += seconds;
	return t;
}

#endif

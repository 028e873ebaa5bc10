/* SPDX-License-Identifier: MIT
 *
 * A server of transactions with a lock manager, and its load: what the parts share.
 *   main.c     options and processes
 *   locks.c    the lock manager: a condition variable for each object
 *   table.c    what a transaction does with the objects that it locks
 *   service.c  connections, a thread each
 *   load.c     the clients, one thread for all
 */
#ifndef LOCKMANAGER_H
#define LOCKMANAGER_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define OBJECTS_MAX 4096
#define LOCKS_MAX 16u /* of one transaction */
#define CONNECTIONS_MAX 1024
#define LINE_BYTES 160

static inline uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- random numbers: xorshift64*, one state per thread, never 0 ---- */
static inline uint64_t random_next(uint64_t *s)
{
	*s ^= *s >> 12;
	*s ^= *s << 25;
	*s ^= *s >> 27;
	return *s * 0x2545f4914f6cdd1dULL;
}
static inline double random_unit(uint64_t *s) { return (double)((random_next(s) >> 11) + 1) * 0x1p-53; } /* (0, 1] */
static inline double random_exponential(uint64_t *s, double mean) { return -log(random_unit(s)) * mean; }
static inline uint64_t random_seed(uint64_t seed, uint64_t stream)
{
	uint64_t s = (seed * 0x9e3779b97f4a7c15ULL ^ (stream + 1) * 0xbf58476d1ce4e5b9ULL) | 1;
	for (int i = 0; i < 8; i++)
		random_next(&s);
	return s;
}

/* ---- locks.c ---- */
void locks_open(unsigned objects);
/* Waits until nobody holds the object, at most until `until` (CLOCK_MONOTONIC;
 * NULL: for ever).  false: it took too long. */
bool lock_object(unsigned object, const struct timespec *until);
void unlock_object(unsigned object);

/* ---- table.c ---- */
struct table_plan {
	unsigned objects;
	double access_ns, commit_ns; /* means */
	uint64_t patience_ns;        /* for one lock; 0: no bound */
};
void table_open(const struct table_plan *plan);
/* Adds 1 to each of n different objects, as one transaction.  false: rolled back,
 * since a lock took too long.  `object` is sorted. */
bool table_add(unsigned *object, unsigned n, uint64_t *random);
uint64_t table_count(unsigned object);

/* ---- service.c ---- */
/* Serves until *stop and the last client has gone. */
int service_run(int listener, unsigned objects, uint64_t seed, const volatile int *stop);

/* ---- load.c ---- */
struct load_plan {
	unsigned port, connections, objects, locks; /* a transaction takes 1 to `locks` */
	double rate;                                /* open loop: transactions a second; 0: closed loop */
	double think_ns;                            /* closed loop: mean time between an answer and the next */
	double seconds, warmup;
	double skew;                                /* 0: all objects equally wanted */
	uint64_t seed;
	const char *latencies; /* file for each latency in ns, one a line; NULL: none */
};
int load_run(const struct load_plan *plan); /* 0 or -1, with a message */

#endif

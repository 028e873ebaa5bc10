/* SPDX-License-Identifier: MIT
 *
 * A stress test of everything that an order touches: many threads do operations
 * at random on shared objects, and each object knows what must be true of it.
 *   stress.c       threads and phases
 *   stress_cond.c  condition variables: permits, a queue, gates, deadlines, those of C11
 *   stress_lock.c  mutexes of all kinds, locks of readers and writers
 *   stress_life.c  threads that are cancelled, objects that are destroyed, forks, signals
 *
 * Operations run in phases.  When a phase ends, every thread finishes what it is
 * in; nothing but a lost wake-up can keep it from that.  Then the sums are checked.
 */
#ifndef STRESS_H
#define STRESS_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 64

#define CHECK(c)                                                                                  \
	do {                                                                                      \
		if (!(c)) {                                                                       \
			fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #c, errno); \
			_exit(1);                                                                 \
		}                                                                                 \
	} while (0)
#define IS_OK(call)                                                                                            \
	do {                                                                                                   \
		int e_ = (call);                                                                               \
		if (e_) {                                                                                      \
			fprintf(stderr, "%s:%d: %s is %s\n", __FILE__, __LINE__, #call, strerrorname_np(e_));  \
			_exit(1);                                                                              \
		}                                                                                              \
	} while (0)

struct worker {
	pthread_t thread;
	unsigned id; /* from 1 */
	uint64_t random;
	_Atomic(const char *) at; /* operation it is in, NULL: none; main reads it when it gives up */
};
extern struct worker workers[WORKERS];

static inline uint64_t random_next(uint64_t *s)
{
	*s ^= *s >> 12;
	*s ^= *s << 25;
	*s ^= *s >> 27;
	return *s * 0x2545f4914f6cdd1dULL;
}
static inline unsigned one_in(struct worker *w, unsigned n) { return random_next(&w->random) % n == 0; }

/* So many ns from now. */
static inline struct timespec after(clockid_t clock, uint64_t ns)
{
	struct timespec t;
	clock_gettime(clock, &t);
	ns += (uint64_t)t.tv_nsec;
	return (struct timespec){t.tv_sec + (time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}
/* Up to 2 ms from now. */
static inline struct timespec soon(struct worker *w, clockid_t clock)
{
	return after(clock, random_next(&w->random) % 2000000);
}
static inline bool has_come(clockid_t clock, const struct timespec *t)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return now.tv_sec > t->tv_sec || (now.tv_sec == t->tv_sec && now.tv_nsec >= t->tv_nsec);
}
/* Something that takes a moment, mostly with a change of threads. */
void dawdle(struct worker *w);

/* Of mutexes.  INHERITING: priorities; SHARED: between processes, though nobody else has it. */
enum kind { NORMAL, RECURSIVE, CHECKING, ADAPTIVE, ROBUST, INHERITING, SHARED, KINDS };
void init_mutex(pthread_mutex_t *m, enum kind k);

struct operation {
	const char *name;
	void (*run)(struct worker *w);
	unsigned weight;
};
extern const struct operation cond_operations[], lock_operations[], life_operations[]; /* end with a NULL name */
extern _Atomic bool phase_open;

void cond_open(void);  /* once, before the threads */
void lock_open(void);
void life_open(void);
void cond_phase(void); /* a phase begins */
void cond_close(void); /* it ends: those who wait for others shall not */
void cond_check(void); /* nobody is in an operation */
void lock_check(void);

/* A thread takes a permit and gives it back; it may be cancelled while it waits. */
void *cancelled_permit(void *unused);

#endif

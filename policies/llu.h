/* SPDX-License-Identifier: MIT
 *
 * Lazy updates: for authors of applications.  Some updates of a shared structure
 * may be late without being wrong: moving a page to the front of an LRU list is
 * the usual one.  Such an update need not wait for a contended lock.  It waits a
 * little, and then leaves the update in a backlog of its thread, which does it
 * the next time that it gets the lock.
 *
 *     static __thread struct llu_backlog backlog;
 *     ...
 *     if (llu_lock(&lru_mutex, &backlog, page, LLU_BOUND_NS)) {
 *         for (uint64_t item; llu_next(&backlog, &item);)
 *             move_to_front_if_still_there(item);
 *         move_to_front(page);
 *         pthread_mutex_unlock(&lru_mutex);
 *     }
 *
 * An item is a number: whatever it names may be gone when its turn comes, so the
 * update must look it up again.  Items come in the order in which they were left.
 * A full backlog drops its oldest item, since the newest say most about what will
 * be used next; `dropped` counts them.
 *
 * Whoever holds the lock for another reason should empty its thread's backlog,
 * too.  The items of a thread that ends are lost with it.
 *
 * C11, header only, pthread mutexes, robust ones apart.  A backlog is of one
 * thread only: no atomics, nothing allocated. */
#ifndef TARRY_LLU_H
#define TARRY_LLU_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#ifndef LLU_BACKLOG
#define LLU_BACKLOG 64u /* items a thread, a power of two */
#endif
#define LLU_BOUND_NS 10000u

struct llu_backlog {
	uint64_t item[LLU_BACKLOG];
	uint32_t first, end; /* end - first items, at their numbers modulo LLU_BACKLOG */
	uint64_t deferred, dropped;
};

_Static_assert(LLU_BACKLOG && (LLU_BACKLOG & (LLU_BACKLOG - 1)) == 0, "a power of two");

static inline void llu_defer(struct llu_backlog *b, uint64_t item)
{
	if (b->end - b->first == LLU_BACKLOG) {
		b->first++;
		b->dropped++;
	}
	b->item[b->end++ % LLU_BACKLOG] = item;
}

/* The next item to be done, with the lock held. */
static inline bool llu_next(struct llu_backlog *b, uint64_t *item)
{
	if (b->first == b->end)
		return false;
	*item = b->item[b->first++ % LLU_BACKLOG];
	return true;
}

static inline uint64_t llu_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void llu_pause(void)
{
	for (int i = 0; i < 16; i++) { /* each try takes the lock's cache line away from its owner */
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#endif
	}
}

/* The lock, if it can be had within so long; by spinning, since a sleep would
 * last longer than the bound. */
static inline bool llu_try(pthread_mutex_t *m, uint64_t bound_ns)
{
	if (pthread_mutex_trylock(m) == 0)
		return true;
	uint64_t begin = llu_now();
	do {
		llu_pause();
		if (pthread_mutex_trylock(m) == 0)
			return true;
	} while (llu_now() - begin < bound_ns);
	return false;
}

/* True: the caller has the lock, does what is in the backlog and then the item,
 * and unlocks.  False: the item is in the backlog. */
static inline bool llu_lock(pthread_mutex_t *m, struct llu_backlog *b, uint64_t item, uint64_t bound_ns)
{
	if (llu_try(m, bound_ns))
		return true;
	llu_defer(b, item);
	b->deferred++;
	return false;
}

#endif

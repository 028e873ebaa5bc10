/* SPDX-License-Identifier: MIT
 *
 * Who waits for what, under an order.  Buckets by the object's address hold the
 * waiters in the order of their arrival; they lie in pages that fork wipes, so a
 * child begins with empty queues.  A bucket is locked only with every signal
 * blocked (a handler may neither wait for it nor jump out of it, and asynchronous
 * cancellation stays away), for a time bounded by the number of its waiters;
 * broadcasting to n of them takes n picks.
 *
 * A waiter comes from a pool, not from its thread's stack: a signal handler may
 * jump out of a wait, and what the queue then still holds must stay memory.
 *
 * Runs in the traced process; errno is kept by every function here. */
#ifndef TY_QUEUE_H
#define TY_QUEUE_H

#include "preload/state.h"

#include <stdbool.h>
#include "tarry/order.h"

#pragma GCC visibility push(hidden)

enum ty_waiter_state { TY_W_NEW, TY_W_ALONE, TY_W_QUEUED, TY_W_GRANTED };

struct ty_waiter {
	struct ty_waiter *next, *prev; /* bucket, in the order of arrival */
	struct ty_waiter *peer; /* scratch of a pick and of a batch of grants */
	struct ty_waiter *outer; /* of the same thread, interrupted by the handler that waits here */
	uintptr_t frame;        /* of the function that waits */
	uintptr_t object;
	union {
		sem_t grant;           /* posted exactly once by whoever made it GRANTED */
		_Atomic uint32_t turn; /* gate: futex word, 1: it is head.  Set under the bucket's lock, release;
					* its thread acquires */
	};
	uint64_t age;           /* when its request came into the system, CLOCK_MONOTONIC ns; 0: unknown */
	uint64_t seq;           /* arrival, unique in the process; an earlier one's if it keeps its place */
	uint64_t given_age;     /* of the thread that granted it, 0: has none */
	_Atomic uint32_t used;  /* 0: free, else epoch of the process that took it; see waiter.c */
	uint32_t tid;           /* 0: unknown */
	uint32_t behind;        /* tid that holds what it waits for; 0: unknown */
	uint32_t passed;        /* grants of this object to somebody who came later */
	uint16_t op;
	uint8_t rule;
	uint8_t state;          /* enum ty_waiter_state; bucket's lock */
	bool gate;              /* waits before one, else at a condition variable */
	bool reader;            /* gate: asks for a shared lock */
	bool head;              /* gate: is at the real lock; may not be picked */
	bool moved;             /* gate: somebody became head since it last looked */
};

/* ---- the queue: queue.c ---- */

/* Is anybody queued for an object of this bucket?  A hint for whoever is not
 * ordered against the waiter otherwise; exact for who is: the waiter is added
 * before it lets the mutex go, so who takes that mutex afterwards sees it. */
bool ty_queue_any(const void *object);
/* Is somebody in its list before a gate?  A hint; exact for a thread that found the
 * list so when it had the bucket locked, until that one leaves. */
bool ty_queue_has_list(const void *object);
bool ty_queue_heads(const void *object); /* has that bucket's list a head?  A hint */
/* How many that are before all gates.  Changed under a bucket's lock; here whoever found
 * a list reads at least what he found.  Mostly nobody is there, and then this is all. */
extern struct ty_gate_count {
	_Atomic uint32_t listed;
} __attribute__((aligned(TY_PAGE))) ty_gate_count; /* a page of its own */
static inline bool ty_queue_listed(const void *object)
{
	return TY_UNLIKELY(atomic_load_explicit(&ty_gate_count.listed, memory_order_relaxed) != 0) && ty_queue_has_list(object);
}

/* A gate's waiter, NEW, becomes ALONE in its bucket and head without any lock, and
 * QUEUED as soon as the bucket is locked; false: others are there. */
bool ty_queue_alone(struct ty_waiter *w);
/* ALONE -> NEW; false: it is QUEUED by now. */
bool ty_queue_alone_still(struct ty_waiter *w);

struct ty_bucket;
/* Blocks all signals and locks.  Unlock lets the bucket go, posts whoever was
 * granted meanwhile, in that order, and lets signals in again. */
struct ty_locked {
	struct ty_bucket *bucket;
	uint64_t mask;
	bool masked;
	struct ty_waiter *granted, **granted_end;
};
void ty_queue_lock(struct ty_locked *l, const void *object);
void ty_queue_unlock(struct ty_locked *l);

/* With the bucket locked. */
void ty_queue_add(struct ty_locked *l, struct ty_waiter *w);    /* NEW or GRANTED -> QUEUED; seq 0: takes a new place */
void ty_queue_head(struct ty_locked *l, struct ty_waiter *w);   /* QUEUED: becomes head */
void ty_queue_remove(struct ty_locked *l, struct ty_waiter *w); /* QUEUED -> NEW; else nothing */
/* What it waits for is held by another thread now. */
void ty_queue_behind(struct ty_locked *l, struct ty_waiter *w, uint32_t tid);
/* The object's QUEUED waiters in the order of arrival, linked by `peer`, without
 * heads; n: how many.  Only those of a gate, or only the others: what was a mutex
 * until it was unlocked may be a condition variable by now. */
struct ty_waiter *ty_queue_of(struct ty_locked *l, const void *object, bool gate, uint32_t *n);
/* All that are QUEUED before the object's gate, heads as well, in the order of
 * arrival: after NULL the first one, then the one after it. */
struct ty_waiter *ty_queue_next(const struct ty_locked *l, const void *object, const struct ty_waiter *after);
/* Whom the order of the first one's rule picks of these; counts choices.  fair:
 * nobody is passed over who has been 2n times already (gates). */
struct ty_waiter *ty_queue_pick(struct ty_locked *l, struct ty_waiter *first, uint32_t n, bool fair);
/* Takes w out: GRANTED.  It is posted by ty_queue_unlock. */
void ty_queue_grant(struct ty_locked *l, struct ty_waiter *w);
/* Somebody who had been granted, or was the head, is gone: its grant is another's. */
void ty_queue_pass(struct ty_locked *l, const void *object, bool fair);

/* weight.c: how many are queued behind that thread, over all objects.  Exact while at
 * most some thousand threads have somebody behind them. */
uint32_t ty_queue_weight(uint32_t tid);
void ty_queue_weigh(uint32_t tid, bool more); /* one more, one less; 0: nobody */
bool ty_queue_weight_start(void);

/* Of this process: changes with every fork, never 0. */
uint32_t ty_queue_epoch(void);
/* The process restricts its own system calls: no wait is ordered from now on, and
 * those who are queued are served without blocking signals, which may be death. */
void ty_queue_sandbox(void);
bool ty_queue_sandboxed(void);
/* Blocks exactly these signals; returns what was blocked before.  The system call itself:
 * 32 and 33, which libc keeps for itself, are blocked too. */
uint64_t ty_queue_mask(uint64_t mask);
/* Constructor: the pages that fork wipes.  False: no orders here. */
bool ty_queue_start(void);

/* ---- waiters: waiter.c ---- */

/* A waiter of the calling thread, NEW; frame: of the function that waits.  NULL:
 * no room.  What a handler jumped out of before is taken out of its queue. */
struct ty_waiter *ty_waiter_new(const void *object, uint32_t rule, enum ty_op op, uintptr_t frame);
/* Not QUEUED, and its post taken. */
void ty_waiter_done(struct ty_waiter *w);
/* Takes a QUEUED one out: false.  Has it been granted meanwhile, takes the post: true. */
bool ty_waiter_leave(struct ty_waiter *w);
/* For the post of one that is GRANTED.  No cancellation point. */
void ty_waiter_take(struct ty_waiter *w);
/* Child of a fork in a handler: what its thread waits in is out of every queue. */
void ty_waiter_forked(void);

/* For how long a waiter sleeps before it looks for itself: the configured bound,
 * doubled up to 32-fold while this thread's looks found nothing missed. */
uint64_t ty_waiter_bound(void);
/* When a waiter wakes at the latest: after `bound` ns, by the clock of its deadline
 * (NULL: it has none), so that a clock that is set is obeyed.  True: at the deadline. */
static inline bool ty_waiter_until(struct timespec *t, uint64_t bound, clockid_t clock, const struct timespec *deadline)
{
	*t = (struct timespec){ 0, 0 };
	ty_clock(clock, t);
	bound += (uint64_t)t->tv_nsec;
	t->tv_sec += (time_t)(bound / 1000000000u);
	t->tv_nsec = (long)(bound % 1000000000u);
	if (!deadline || t->tv_sec < deadline->tv_sec || (t->tv_sec == deadline->tv_sec && t->tv_nsec < deadline->tv_nsec))
		return false;
	*t = *deadline;
	return true;
}

/* What a thread keeps from one ordered wait to the next. */
struct ty_order_tls {
	struct ty_waiter *top;  /* its innermost waiter */
	uint32_t home;          /* where in the pool it had the last one, + 1 */
	uint16_t doubled;       /* how often its bound is doubled */
	uint16_t rule, op;      /* of a wait that ended by looking for itself */
	uintptr_t object;       /* of that one; 0: there was none, or the mutex was let go since */
	const void *mutex;
	uint64_t seq, age;      /* place and age of that one */
};
extern __thread struct ty_order_tls ty_order_tls;

/* ---- configuration and counters ---- */

/* stat.c: the object's counters, see include/tarry/order.h.  NULL: orders are off. */
struct ty_order_stat *ty_order_stat(const void *object, uint32_t rule, uint32_t op);
/* Has what wakes the object's waiters come past this library too often: more than once
 * in so many grants? */
bool ty_order_passed_by(const struct ty_order_stat *s, uint64_t grants);
#define TY_ORDER_COUNT_UP(stat, field) \
	((stat) ? (void)atomic_fetch_add_explicit(&(stat)->field, 1, memory_order_relaxed) : (void)0)

/* order.c.  Called by go_live, once, before ty_self.arena is set: is any rule or
 * sync policy configured?  Puts the functions of cond.h, gate.h, sync.h and age.h
 * into ty_grant. */
void ty_orders_start(struct ty_orders *o);
extern struct ty_orders *ty_orders;      /* the arena's; NULL: nothing is configured */
extern struct ty_order_conf ty_order_conf; /* what it says, checked; constant */
/* Has a rule any of these operations?  One of native too: it counts what it matches.
 * The rule of idle sites has them all, so it is asked only with idle. */
static inline bool ty_order_named(const enum ty_op *ops, size_t n, bool idle)
{
	for (uint32_t i = 0; i < ty_order_conf.rules; i++)
		for (size_t k = 0; k < n; k++)
			if ((idle || !ty_order_conf.rule[i].idle) && ty_order_conf.rule[i].ops[ops[k] / 64] >> ops[k] % 64 & 1)
				return true;
	return false;
}

#pragma GCC visibility pop
#endif

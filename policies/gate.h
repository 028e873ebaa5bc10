/* SPDX-License-Identifier: MIT
 * A gate in front of a real lock: who finds the lock taken, or others before the
 * gate, queues; the one whose turn it is, the head, goes to the real lock.  Runs
 * in the traced process. */
#ifndef TY_GATE_H
#define TY_GATE_H

#include "policies/queue.h"

#pragma GCC visibility push(hidden)

/* A call that asks for a lock and found it taken. */
struct ty_gate {
	void *object;
	enum ty_op op;
	bool reader;                    /* shares the lock with other readers */
	bool opened;                    /* whoever unlocks calls ty_gate_open */
	uint32_t tid, owner;            /* the caller, and who has the lock; 0: unknown */
	const struct timespec *deadline; /* NULL: none */
	clockid_t clock;
	uintptr_t frame;                /* of the function that the wrapper called */
	int (*lock)(const struct ty_gate *g);    /* the real call, its result is the caller's */
	int (*attempt)(const struct ty_gate *g); /* the real try, as an errno value */
};

/* 0 and EOWNERDEAD: the lock is ours. */
static inline bool ty_gate_took(int r)
{
	return r == 0 || r == EOWNERDEAD;
}

/* Asks for it in the order of the rule that matches, or at once if none does. */
int ty_gate(const struct ty_gate *g);
/* Its lock has been let go, or is about to be: unless a head is on its way, the order
 * picks one.  The object itself is not looked at. */
void ty_gate_open(const void *object);
/* Has its queue a head?  One that sleeps at the real lock may have it, and leave, before
 * whoever unlocked goes on: then ty_gate_open would pick the one after it too early. */
bool ty_gate_led(const void *object);

/* ---- the queue before a gate: gate_queue.c; the bucket is locked ---- */

enum ty_gate_crowd { TY_CROWD_NONE, TY_CROWD_READERS, TY_CROWD_MIXED };
/* Who is there: nobody whom anybody waits for; only readers on their way in; or others. */
enum ty_gate_crowd ty_gate_crowd(const struct ty_locked *l, const void *object);
/* Unless there is a head, the one whom the order picks becomes it, with a reader
 * all that are queued; they are posted. */
void ty_gate_lead(struct ty_locked *l, const void *object);
/* Its heads are late, and out of the queue: nobody waits for them. */
void ty_gate_late(struct ty_locked *l, const void *object);
/* It goes ahead of its turn. */
void ty_gate_promote(struct ty_locked *l, struct ty_waiter *w);
/* The lock is that thread's now. */
void ty_gate_owned(struct ty_locked *l, const void *object, uint32_t tid);

/* A rule has operations of mutexes.  Written by the constructor only. */
extern bool ty_gated;
/* Called by ty_orders_start: put the gates into ty_grant and ty_first, if a rule
 * has operations of theirs. */
void ty_gate_mutex_start(void);
void ty_gate_rwlock_start(void);

#pragma GCC visibility pop
#endif

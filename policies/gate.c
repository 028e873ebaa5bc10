/* SPDX-License-Identifier: MIT
 * The gate itself.  Runs in the traced process.
 *
 * The lock is libc's: nothing here decides who owns it, and every result is that
 * of a real call.  The gate only makes whoever is not the head sleep for a while
 * before it makes that call.  What must stay true:
 *  - a sleep is bounded.  A look after it tries the real lock, and after LOOKS of
 *    them in which nobody had a turn, the first in the queue goes to the real
 *    lock whatever the head does.  So a head that never comes back (a handler
 *    jumped out of it, it was cancelled) costs time, and so does a program that
 *    needs a lock to be given to whoever asks while it is free.
 *  - if anybody is queued, there is a head, or else an owner who found the queue so
 *    and whose unlock makes one.  Whoever leaves without the lock sees to it that
 *    there is a head.  Becoming head and being woken are one step under the
 *    bucket's lock.
 *  - a head stays in the queue until it has left, so that nobody overtakes it;
 *    but if a look finds the lock free, its heads are late, and out of the queue.
 *
 * pthread_mutex_lock is no cancellation point, and the sleep is none either; of a
 * thread that is cancelled asynchronously its waiter stays, until it is made head
 * and found late. */
#include "policies/gate.h"
#include "policies/age.h"
#include "policies/select.h"

#include <linux/futex.h>

#define LOOKS 8u
#define MISSED_IN 10000u /* grants.  A miss is the bound, in which thousands may be; the old way is only somewhat slower */

enum wakeup { TURN, LOOK, DEADLINE };

/* ---- sleeping ---- */

/* Until its turn, the deadline or the bound, whichever comes first.  syscall() is
 * no cancellation point. */
static enum wakeup sleep_a_while(const struct ty_gate *g, struct ty_waiter *w)
{
	struct timespec until;
	clockid_t clock = g->deadline ? g->clock : CLOCK_MONOTONIC;
	long op = FUTEX_WAIT_BITSET_PRIVATE | (clock == CLOCK_REALTIME ? FUTEX_CLOCK_REALTIME : 0);
	bool last = ty_waiter_until(&until, ty_order_conf.bound_ns, clock, g->deadline);
	while (!atomic_load_explicit(&w->turn, memory_order_acquire)) {
		long r = ty_real.syscall(SYS_futex, &w->turn, op, 0L, &until, NULL, (long)FUTEX_BITSET_MATCH_ANY);
		if (r && errno != EINTR && errno != EAGAIN)
			return last ? DEADLINE : LOOK;
	}
	return TURN;
}

/* Nobody has had a turn for long, and it is the first: it goes, too.  One at a
 * time, so that an owner who keeps the lock for long does not end the order. */
static bool goes_anyway(const struct ty_gate *g, struct ty_waiter *w, unsigned *vain)
{
	struct ty_locked l;
	uint32_t n;
	ty_queue_lock(&l, g->object);
	*vain = w->moved ? 0 : *vain + 1;
	w->moved = false;
	bool goes = w->head || w->state != TY_W_QUEUED; /* not queued: in a child that was forked meanwhile */
	if (!goes && *vain >= LOOKS && ty_queue_of(&l, g->object, true, &n) == w) {
		ty_gate_promote(&l, w);
		goes = true;
	}
	ty_queue_unlock(&l);
	return goes;
}

/* The lock was free although there is a head: that one may never come.  But a
 * reader gets in beside others while the head, a writer, waits for them. */
static void found_free(const struct ty_gate *g, const struct ty_waiter *w)
{
	struct ty_locked l;
	if (!g->reader) {
		ty_queue_lock(&l, g->object);
		ty_gate_late(&l, g->object);
		ty_queue_unlock(&l);
	}
	TY_ORDER_COUNT_UP(ty_order_stat(g->object, w->rule, w->op), bounded);
}

/* Returns when it is its turn: EBUSY; or when it has the lock already: took. */
static int wait_for_turn(const struct ty_gate *g, struct ty_waiter *w)
{
	int saved = errno, r = EBUSY;
	unsigned vain = 0;
	for (;;) {
		enum wakeup why = sleep_a_while(g, w);
		if (why != LOOK)
			break;
		r = g->attempt(g);
		if (ty_gate_took(r)) {
			found_free(g, w);
			break;
		}
		if (r != EBUSY || goes_anyway(g, w, &vain))
			break;
	}
	errno = saved;
	return r;
}

/* ---- coming and leaving ---- */

enum entry { HAS_LOCK, IS_HEAD, QUEUED };

/* If nobody is before the gate it may have the lock at once: *r; else it queues,
 * and is head if there is none. */
static enum entry enter(const struct ty_gate *g, struct ty_waiter *w, int *r)
{
	struct ty_locked l;
	enum entry entry = QUEUED;
	ty_queue_lock(&l, g->object);
	enum ty_gate_crowd crowd = ty_gate_crowd(&l, g->object);
	if (crowd == TY_CROWD_NONE && ty_gate_took(*r = g->attempt(g))) {
		entry = HAS_LOCK;
	} else {
		ty_queue_add(&l, w);
		if (crowd == TY_CROWD_NONE || (crowd == TY_CROWD_READERS && g->reader)) {
			ty_queue_head(&l, w);
			entry = IS_HEAD;
		}
	}
	ty_queue_unlock(&l);
	return entry;
}

/* Who has the lock lets the next one come when it unlocks: until then the order may
 * change its mind, and one wake-up, not two, lies between two owners.  Where it is seen
 * that unlocks come past this library, the next head comes at once and sleeps at the
 * real lock. */
static bool opens_later(const struct ty_gate *g, const struct ty_waiter *w)
{
	return g->opened && !ty_order_passed_by(ty_order_stat(g->object, w->rule, w->op), MISSED_IN);
}

static void leave(const struct ty_gate *g, struct ty_waiter *w, bool took)
{
	struct ty_locked l;
	if (ty_queue_alone_still(w))
		return;
	ty_queue_lock(&l, g->object);
	ty_queue_remove(&l, w);
	if (took && !g->reader)
		ty_gate_owned(&l, g->object, g->tid);
	if (!took || !opens_later(g, w))
		ty_gate_lead(&l, g->object);
	ty_queue_unlock(&l);
}

int ty_gate(const struct ty_gate *g)
{
	bool idle;
	uint32_t rule = ty_select(g->op, g->object, &idle);
	if (rule == TY_NO_RULE)
		return g->lock(g);
	struct ty_waiter *w = ty_waiter_new(g->object, rule, g->op, g->frame);
	if (!w) {
		TY_ORDER_COUNT_UP(ty_order_stat(g->object, rule, g->op), native);
		return g->lock(g);
	}
	w->age = ty_age();
	w->tid = g->tid;
	w->behind = g->owner;
	w->gate = true;
	w->reader = g->reader;
	int r = EBUSY;
	enum entry entry = ty_queue_alone(w) ? IS_HEAD : enter(g, w, &r);
	if (entry != HAS_LOCK) {
		if (entry == QUEUED)
			r = wait_for_turn(g, w);
		else
			TY_ORDER_COUNT_UP(ty_order_stat(g->object, w->rule, w->op), grants);
		if (!ty_gate_took(r))
			r = g->lock(g);
		leave(g, w, ty_gate_took(r));
	}
	ty_waiter_done(w);
	return r;
}

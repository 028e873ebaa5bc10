/* SPDX-License-Identifier: MIT
 * Who leads the queue before a gate.  Runs in the traced process, under the lock
 * of the object's bucket.
 *
 * A head stays in the list.  It is woken while the bucket is locked, so that nobody
 * is about to wake a waiter that has left the list and may be another's by then. */
#include "policies/gate.h"
#include "policies/order.h"

#include <linux/futex.h>

enum ty_gate_crowd ty_gate_crowd(const struct ty_locked *l, const void *object)
{
	enum ty_gate_crowd crowd = TY_CROWD_NONE;
	for (struct ty_waiter *w = NULL; (w = ty_queue_next(l, object, w));) {
		if (!w->head || !w->reader)
			return TY_CROWD_MIXED;
		crowd = TY_CROWD_READERS;
	}
	return crowd;
}

void ty_gate_promote(struct ty_locked *l, struct ty_waiter *w)
{
	for (struct ty_waiter *e = NULL; (e = ty_queue_next(l, (const void *)w->object, e));)
		e->moved = true;
	ty_queue_head(l, w);
	atomic_store_explicit(&w->turn, 1, memory_order_release);
	ty_real.syscall(SYS_futex, &w->turn, (long)FUTEX_WAKE_PRIVATE, 1L, NULL, NULL, 0L);
}

static bool has_head(const struct ty_locked *l, const void *object)
{
	for (struct ty_waiter *w = NULL; (w = ty_queue_next(l, object, w));)
		if (w->head)
			return true;
	return false;
}

/* The waiters before the last one that was let in, and not let in themselves,
 * were passed over, by however many at once. */
static void count_passed(const struct ty_locked *l, const struct ty_waiter *last)
{
	for (struct ty_waiter *w = NULL; (w = ty_queue_next(l, (const void *)last->object, w)) && w != last;)
		if (!w->head)
			w->passed++;
}

void ty_gate_lead(struct ty_locked *l, const void *object)
{
	uint32_t n;
	if (has_head(l, object))
		return;
	struct ty_waiter *first = ty_queue_of(l, object, true, &n);
	if (!first)
		return;
	struct ty_waiter *picked = ty_queue_pick(l, first, n, true), *last = picked;
	struct ty_order_stat *stat = ty_order_stat(object, picked->rule, picked->op);
	for (struct ty_waiter *w = first; w; w = w->peer) {
		if (w != picked && !(picked->reader && w->reader))
			continue;
		ty_gate_promote(l, w);
		TY_ORDER_COUNT_UP(stat, grants);
		last = w;
	}
	count_passed(l, last);
}

bool ty_gate_led(const void *object)
{
	struct ty_locked l;
	if (!ty_queue_heads(object))
		return false;
	ty_queue_lock(&l, object);
	bool led = has_head(&l, object);
	ty_queue_unlock(&l);
	return led;
}

void ty_gate_open(const void *object)
{
	struct ty_locked l;
	ty_queue_lock(&l, object);
	ty_gate_lead(&l, object);
	ty_queue_unlock(&l);
}

void ty_gate_late(struct ty_locked *l, const void *object)
{
	for (struct ty_waiter *w = ty_queue_next(l, object, NULL), *next; w; w = next) {
		next = ty_queue_next(l, object, w);
		if (w->head)
			ty_queue_remove(l, w);
	}
}

/* Does any order look at who waits behind whom?  These do not. */
static bool weighed(void)
{
	for (uint32_t i = 0; i < ty_order_conf.rules; i++)
		switch (ty_order_conf.rule[i].order) {
		case TY_ORDER_native:
		case TY_ORDER_fcfs:
		case TY_ORDER_eldest:
		case TY_ORDER_youngest:
		case TY_ORDER_random:
			break;
		default:
			return true;
		}
	return false;
}

void ty_gate_owned(struct ty_locked *l, const void *object, uint32_t tid)
{
	if (!weighed())
		return;
	for (struct ty_waiter *w = NULL; (w = ty_queue_next(l, object, w));)
		ty_queue_behind(l, w, tid);
}

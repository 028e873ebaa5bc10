/* SPDX-License-Identifier: MIT
 *
 * Puts events that come late in their place: a thread that wakes another one
 * often loses its CPU to it before it can record the wake.  Runs in readers.
 * Those that come in order stand in a ring, the late ones in a heap beside it:
 * under full load every tenth is late, by tens of thousands of events.
 * Must stay true: events of one thread keep their order; at most TY_LAG_EVENTS
 * are held back. */
#include "analyze/blame.h"

#define MASK (TY_LAG_EVENTS - 1)

int ty_order_init(struct ty_order *o)
{
	memset(o, 0, sizeof *o);
	o->v = malloc(TY_LAG_EVENTS * sizeof *o->v);
	o->late_v = malloc(TY_LAG_EVENTS * sizeof *o->late_v);
	return o->v && o->late_v ? 0 : -ENOMEM;
}

void ty_order_free(struct ty_order *o)
{
	free(o->v);
	free(o->late_v);
	memset(o, 0, sizeof *o);
}

/* Wakes come first among equal times: a wait that ends with one was ended by it. */
static bool before(const struct ty_ev *a, const struct ty_ev *b)
{
	if (a->thread == b->thread)
		return false;
	return a->end < b->end || (a->end == b->end && a->kind == TY_EV_WAKE && b->kind != TY_EV_WAKE);
}

/* Total order of the heap: as before(), then as they came. */
static bool sooner(const struct ty_late *a, const struct ty_late *b)
{
	if (a->ev.end != b->ev.end)
		return a->ev.end < b->ev.end;
	bool wakes = a->ev.kind == TY_EV_WAKE, other = b->ev.kind == TY_EV_WAKE;
	return a->ev.thread != b->ev.thread && wakes != other ? wakes : a->seq < b->seq;
}

static void heap_put(struct ty_order *o, const struct ty_ev *ev)
{
	struct ty_late new = { .ev = *ev, .seq = o->late++ };
	size_t at = o->nlate++;
	for (size_t up; at && sooner(&new, &o->late_v[up = (at - 1) / 2]); at = up)
		o->late_v[at] = o->late_v[up];
	o->late_v[at] = new;
}

static void heap_take(struct ty_order *o)
{
	struct ty_late last = o->late_v[--o->nlate];
	size_t at = 0;
	o->taken = o->late_v[0].ev;
	for (size_t down; (down = 2 * at + 1) < o->nlate; at = down) {
		if (down + 1 < o->nlate && sooner(&o->late_v[down + 1], &o->late_v[down]))
			down++;
		if (!sooner(&o->late_v[down], &last))
			break;
		o->late_v[at] = o->late_v[down];
	}
	o->late_v[at] = last;
}

void ty_order_put(struct ty_order *o, const struct ty_ev *ev)
{
	if (o->n && before(ev, &o->v[(o->head + o->n - 1) & MASK]))
		heap_put(o, ev);
	else
		o->v[(o->head + o->n++) & MASK] = *ev;
	o->too_late += ev->end < o->gone;
	o->newest = ev->end > o->newest ? ev->end : o->newest;
}

const struct ty_ev *ty_order_take(struct ty_order *o, bool all)
{
	if (!o->n && !o->nlate)
		return NULL;
	const struct ty_ev *ev = &o->v[o->head & MASK];
	bool late = o->nlate && (!o->n || before(&o->late_v[0].ev, ev));
	if (late)
		ev = &o->late_v[0].ev;
	if (!all && o->n + o->nlate < TY_LAG_EVENTS && o->newest < ev->end + TY_LAG_NS)
		return NULL;
	if (late) {
		heap_take(o);
		ev = &o->taken;
	} else {
		o->head++;
		o->n--;
	}
	o->gone = ev->end > o->gone ? ev->end : o->gone;
	return ev; /* valid until the next call */
}

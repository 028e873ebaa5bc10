/* SPDX-License-Identifier: MIT
 *
 * Puts events that come late in their place: a thread that wakes another one
 * often loses its CPU to it before it can record the wake.  Runs in readers.
 * Must stay true: events of one thread keep their order; at most TY_LAG_EVENTS
 * are held back. */
#include "analyze/blame.h"

#define MASK (TY_LAG_EVENTS - 1)

int ty_order_init(struct ty_order *o)
{
	memset(o, 0, sizeof *o);
	o->v = malloc(TY_LAG_EVENTS * sizeof *o->v);
	return o->v ? 0 : -ENOMEM;
}

void ty_order_free(struct ty_order *o)
{
	free(o->v);
	memset(o, 0, sizeof *o);
}

/* Wakes come first among equal times: a wait that ends with one was ended by it. */
static bool before(const struct ty_ev *a, const struct ty_ev *b)
{
	if (a->thread == b->thread)
		return false;
	return a->end < b->end || (a->end == b->end && a->kind == TY_EV_WAKE && b->kind != TY_EV_WAKE);
}

void ty_order_put(struct ty_order *o, const struct ty_ev *ev)
{
	size_t at = o->head + o->n;
	while (at > o->head && before(ev, &o->v[(at - 1) & MASK])) {
		o->v[at & MASK] = o->v[(at - 1) & MASK];
		at--;
	}
	o->v[at & MASK] = *ev;
	o->late += at != o->head + o->n;
	o->too_late += ev->end < o->gone;
	o->n++;
}

const struct ty_ev *ty_order_take(struct ty_order *o, bool all)
{
	if (!o->n)
		return NULL;
	const struct ty_ev *ev = &o->v[o->head & MASK];
	uint64_t newest = o->v[(o->head + o->n - 1) & MASK].end;
	if (!all && o->n < TY_LAG_EVENTS && newest < ev->end + TY_LAG_NS)
		return NULL;
	o->head++;
	o->n--;
	o->gone = ev->end > o->gone ? ev->end : o->gone;
	return ev; /* valid until the next put */
}

/* SPDX-License-Identifier: MIT
 *
 * Reads the time of the slowest requests once more: which object each of their
 * waits was for, and who woke it last.  Runs in readers.  Must stay true: only
 * these few windows of the store are read; a waker that is not known stays so. */
#include "analyze/tail.h"

typedef void (*on_event)(struct ty_tail *t, struct ty_slow *s, const struct ty_ev *ev);

static int scan(struct ty_tail *t, struct ty_slow *s, on_event cb, char *err)
{
	struct ty_scan *c = NULL;
	const struct ty_ev *ev;
	size_t n;
	int e = ty_scan_open(&c, t->r->store, s->begin, s->end, err);
	while (!e && (e = ty_scan_next(c, &ev, &n, err)) == 1)
		for (e = 0; n--; ev++)
			if (ev->thread < t->r->t.nthreads)
				cb(t, s, ev);
	ty_scan_close(c);
	return e;
}

/* The first wait of s that ends at or after `at`. */
static size_t first_after(const struct ty_slow *s, uint64_t at)
{
	size_t lo = 0, hi = s->waits;
	while (lo < hi) { /* waits do not overlap, so their ends are in order too */
		size_t m = (lo + hi) / 2;
		if (s->wait[m].part.end < at)
			lo = m + 1;
		else
			hi = m;
	}
	return lo;
}

static void find_object(struct ty_tail *t, struct ty_slow *s, const struct ty_ev *ev)
{
	if (ev->kind != TY_EV_WAIT)
		return;
	for (size_t i = first_after(s, ev->begin); i < s->waits && s->wait[i].part.begin < ev->end; i++) {
		struct ty_slow_wait *w = &s->wait[i];
		if (w->part.thread != ev->thread || w->part.begin < ev->begin || w->part.end > ev->end)
			continue;
		w->found = true;
		w->object = ev->object;
		w->flags = ev->flags;
		w->event_path = ev->path;
	}
}

static bool same_object(const struct ty_tail *t, const struct ty_slow_wait *w, const struct ty_ev *ev)
{
	const struct ty_thread_info *th = t->r->t.threads;
	if (w->object != ev->object || w->part.thread >= t->r->t.nthreads)
		return false;
	return (w->flags & ev->flags & TY_F_SHARED) || th[w->part.thread].process == th[ev->thread].process;
}

static void find_waker(struct ty_tail *t, struct ty_slow *s, const struct ty_ev *ev)
{
	if (ev->kind != TY_EV_WAKE)
		return;
	for (size_t i = first_after(s, ev->begin); i < s->waits && s->wait[i].part.begin <= ev->begin; i++) {
		struct ty_slow_wait *w = &s->wait[i];
		if (!w->found || w->part.thread == ev->thread || !same_object(t, w, ev) || ev->begin < w->waker_at)
			continue;
		w->waker = ev->thread;
		w->waker_path = ev->path;
		w->waker_at = ev->begin;
	}
}

int ty_tail_wakers(struct ty_tail *t, char *err)
{
	int e = 0;
	for (size_t i = 0; !e && t->r->store && i < t->nslow; i++) {
		e = scan(t, &t->slow[i], find_object, err);
		if (!e)
			e = scan(t, &t->slow[i], find_waker, err);
	}
	return e;
}

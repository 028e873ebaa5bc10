/* SPDX-License-Identifier: MIT
 *
 * One finished wait, cut by who ended it: each release of its object between
 * its begin and its end ends a segment, which is the releasing thread's.  Runs
 * in readers.  Must stay true: the segments cover the wait without gap or
 * overlap; what nobody can be named for is a segment of an unknown kind. */
#include "analyze/blame.h"

#define SIGNAL_NS 20000000ull

static int cut(struct ty_blame *b, uint64_t begin, uint64_t end, enum ty_blame_kind kind,
	       const struct ty_wake *k)
{
	if (end <= begin && b->ndirect)
		return 0;
	if (TY_RESERVE(b->direct, b->direct_cap, b->ndirect + 1, (size_t)64))
		return -ENOMEM;
	b->direct[b->ndirect++] = (struct ty_direct){ .begin = begin,
						      .end = end,
						      .kind = kind,
						      .hold = k ? k->hold : UINT64_MAX,
						      .thread = k ? k->thread : TY_NONE,
						      .site = k ? k->site : TY_NONE };
	return 0;
}

/* What it was that no wake ended. */
static enum ty_blame_kind by_itself(const struct ty_ev *ev, enum ty_blame_kind otherwise)
{
	switch (ev->err) {
	case ETIMEDOUT:
		return TY_K_TIMER;
	case EINTR:
		return TY_K_INTERRUPTED;
	case EAGAIN:
		return ev->cls == TY_CLASS_FUTEX ? TY_K_CHANGED : otherwise;
	default:
		return otherwise;
	}
}

/* [at, end) of a wait for `o`, wake by wake; the rest is `rest` after the first wake, else `none`. */
static int turns(struct ty_blame *b, const struct ty_ev *ev, const struct ty_waked *o, uint64_t at,
		 enum ty_blame_kind kind, enum ty_blame_kind rest, enum ty_blame_kind none)
{
	const struct ty_wake *last = NULL;
	int e = 0;
	if (o && o->lost_to > at && ty_waked_first(o)) {
		uint64_t to = o->lost_to < ev->end ? o->lost_to : ev->end;
		e = cut(b, at, to, TY_K_FORGOTTEN, NULL);
		at = to;
	}
	for (uint64_t i = o ? ty_waked_from(o, at) : 0; o && !e && i != o->n; i++) {
		const struct ty_wake *k = ty_waked_at(o, i);
		if (k->at > ev->end)
			break;
		if (k->thread == ev->thread)
			continue;
		e = cut(b, at, k->at, kind, k);
		at = k->at;
		last = k;
	}
	if (!e && last)
		e = cut(b, at, ev->end, rest, rest == TY_K_WOKEN ? last : NULL);
	else if (!e)
		e = cut(b, at, ev->end, none, NULL);
	return e;
}

/* ---- owners ---- */

static int by_tid(const void *p, const void *q, void *arg)
{
	const struct ty_thread_info *t = arg;
	const struct ty_thread_info *a = &t[*(const uint32_t *)p], *c = &t[*(const uint32_t *)q];
	return a->tid != c->tid ? (a->tid < c->tid ? -1 : 1) : a->start < c->start ? -1 : a->start > c->start;
}

int ty_blame_threads(struct ty_blame *b)
{
	size_t n = b->r->t.nthreads;
	b->by_tid = malloc((n + 1) * sizeof *b->by_tid);
	if (!b->by_tid)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		b->by_tid[i] = i;
	qsort_r(b->by_tid, n, sizeof *b->by_tid, by_tid, (void *)(uintptr_t)b->r->t.threads);
	return 0;
}

/* The thread that had a tid at a time; TY_NONE: none that was recorded. */
static uint32_t thread_of(const struct ty_blame *b, uint64_t tid, uint64_t when)
{
	size_t lo = 0, hi = b->r->t.nthreads;
	while (lo < hi) { /* the first after (tid, when) */
		size_t m = lo + (hi - lo) / 2;
		const struct ty_thread_info *t = &b->r->t.threads[b->by_tid[m]];
		if (t->tid < tid || (t->tid == tid && t->start <= when))
			lo = m + 1;
		else
			hi = m;
	}
	return lo && b->r->t.threads[b->by_tid[lo - 1]].tid == tid ? b->by_tid[lo - 1] : TY_NONE;
}

/* A lock says who owns it; sometimes, and without a place. */
static void name_owner(struct ty_blame *b, const struct ty_ev *ev)
{
	struct ty_direct *d = &b->direct[0];
	if (b->ndirect != 1 || d->kind != TY_K_UNSEEN || ev->err || !ev->aux ||
	    (ev->cls != TY_CLASS_MUTEX && ev->cls != TY_CLASS_RWLOCK))
		return;
	uint32_t t = thread_of(b, ev->aux, ev->begin);
	if (t == TY_NONE || t == ev->thread)
		return;
	d->kind = TY_K_OWNER;
	d->thread = t;
}

/* The signal that ended a wait: the first one in it that has not ended another wait. */
static struct ty_wake *signal_of(const struct ty_waked *o, const struct ty_ev *ev)
{
	for (uint64_t i = o ? ty_waked_from(o, ev->begin) : 0; o && i != o->n; i++) {
		struct ty_wake *k = ty_waked_at(o, i);
		if (k->at > ev->end)
			break;
		if (k->thread != ev->thread && (k->all || !k->taken))
			return k;
	}
	return NULL;
}

static int condition(struct ty_blame *b, const struct ty_ev *ev)
{
	uint32_t space = ty_blame_space(b, ev);
	struct ty_waked *o = ty_wakes_find(&b->wakes, ev->object, space);
	struct ty_wake *k = ev->err == ETIMEDOUT ? NULL : signal_of(o, ev);
	if (!k) {
		bool lost = o && o->lost_to > ev->begin && ty_waked_first(o);
		return cut(b, ev->begin, ev->end, by_itself(ev, lost ? TY_K_FORGOTTEN : TY_K_UNSEEN), NULL);
	}
	k->taken = true;
	uint64_t at = k->at;
	int e = cut(b, ev->begin, at, TY_K_SIGNAL, k);
	const struct ty_wake by = *k;
	/* the mutex of a shared condition has an id only in its own waits: its address is not one */
	const struct ty_waked *m = ev->flags & TY_F_SHARED ? NULL : ty_wakes_find(&b->wakes, ev->aux, space);
	size_t before = b->ndirect;
	if (!e && at < ev->end)
		e = turns(b, ev, m, at, TY_K_REACQUIRE, TY_K_WOKEN, TY_K_WOKEN);
	/* the mutex was free: the signaller is who made it run */
	for (size_t i = before; !e && i < b->ndirect; i++)
		if (b->direct[i].kind == TY_K_WOKEN && b->direct[i].thread == TY_NONE) {
			b->direct[i].thread = by.thread;
			b->direct[i].site = by.site;
		}
	return e;
}

/* What polling returned: the number of descriptors that were ready. */
static enum ty_blame_kind polled(const struct ty_ev *ev)
{
	return ev->aux == 0 && !ev->err ? TY_K_TIMER : TY_K_READY;
}

/* The first signal sent to the thread or its process in the wait. */
static const struct ty_wake *sent_in(struct ty_blame *b, const struct ty_ev *ev, uint64_t to)
{
	const struct ty_waked *o = ty_wakes_find(&b->wakes, to, TY_SPACE_SIGNALS);
	for (uint64_t i = o ? ty_waked_from(o, ev->begin) : 0; o && i != o->n; i++) {
		const struct ty_wake *k = ty_waked_at(o, i);
		if (k->at > ev->end)
			break;
		if (k->thread != ev->thread)
			return k;
	}
	return NULL;
}

/* A call that the kernel or a signal ends.  Polling may go on for long after a
 * signal that was blocked or ignored, so it is believed to have ended the wait
 * only if that ended soon after it, or by EINTR. */
static int kernel_or_signal(struct ty_blame *b, const struct ty_ev *ev, enum ty_blame_kind otherwise)
{
	const struct ty_thread_info *t = &b->r->t.threads[ev->thread];
	uint32_t pid = b->r->t.processes[t->process].pid;
	const struct ty_wake *k = NULL;
	if (ev->err == EINTR || otherwise == TY_K_READY) {
		k = sent_in(b, ev, pid);
		if (!k && t->tid != pid)
			k = sent_in(b, ev, t->tid);
	}
	if (!k || (ev->err != EINTR && ev->end - k->at > SIGNAL_NS))
		return cut(b, ev->begin, ev->end, ev->err == EINTR ? TY_K_INTERRUPTED : otherwise, NULL);
	const struct ty_wake by = *k;
	int e = cut(b, ev->begin, by.at, TY_K_KILL, &by);
	return e || by.at >= ev->end ? e : cut(b, by.at, ev->end, TY_K_WOKEN, &by);
}

int ty_blame_direct(struct ty_blame *b, const struct ty_ev *ev)
{
	const struct ty_waked *o;
	int e;
	b->ndirect = 0;
	if (ev->kind == TY_EV_OPEN) /* its end is not known either */
		return cut(b, ev->begin, ev->end, TY_K_UNSEEN, NULL);
	switch (ev->cls) {
	case TY_CLASS_COND:
		return condition(b, ev);
	case TY_CLASS_MUTEX:
	case TY_CLASS_RWLOCK:
	case TY_CLASS_SEM:
	case TY_CLASS_FUTEX:
		o = ty_wakes_find(&b->wakes, ev->object, ty_blame_space(b, ev));
		e = turns(b, ev, o, ev->begin,
			  ev->cls == TY_CLASS_SEM   ? TY_K_POST :
			  ev->cls == TY_CLASS_FUTEX ? TY_K_WAKE :
						      TY_K_HELD,
			  by_itself(ev, TY_K_WOKEN), by_itself(ev, TY_K_UNSEEN));
		name_owner(b, ev);
		return e;
	case TY_CLASS_SLEEP:
	case TY_CLASS_YIELD:
		return kernel_or_signal(b, ev, TY_K_TIMER);
	case TY_CLASS_SPIN:
	case TY_CLASS_BARRIER:
	case TY_CLASS_THREAD:
	case TY_CLASS_CHILD:
	case TY_CLASS_FLOCK:
	case TY_CLASS_LOADER:
	case TY_CLASS_COUNT:
		return cut(b, ev->begin, ev->end, TY_K_UNRECORDED, NULL);
	default:
		return kernel_or_signal(b, ev, ev->cls == TY_CLASS_POLL ? polled(ev) : TY_K_KERNEL);
	}
}

/* ---- what the objects' rings are made of ---- */

int ty_blame_wake(struct ty_blame *b, const struct ty_ev *ev)
{
	int64_t site = ty_sites_key(&b->r->sites, ev);
	if (site < 0)
		return (int)site;
	uint32_t space = ev->cls == TY_CLASS_SIGNAL ? TY_SPACE_SIGNALS : ty_blame_space(b, ev);
	struct ty_waked *o = ty_wakes_get(&b->wakes, ev->object, space, ev->end);
	if (!o)
		return -ENOMEM;
	struct ty_wake k = { .at = ev->end,
			     .hold = UINT64_MAX,
			     .thread = ev->thread,
			     .site = (uint32_t)site,
			     .all = ev->flags & TY_F_BROADCAST };
	if (o->owner == ev->thread && o->since <= ev->end)
		k.hold = ev->end - o->since;
	o->owner = TY_NONE;
	return ty_wakes_add(&b->wakes, o, &k);
}

/* A wait for a lock ended: since when its thread has it.  A lock that was free
 * when it was taken leaves no event, so its holder's time is not known. */
void ty_blame_acquired(struct ty_blame *b, const struct ty_ev *ev)
{
	bool cond = ev->cls == TY_CLASS_COND;
	if (ev->kind != TY_EV_WAIT || (ev->cls != TY_CLASS_MUTEX && ev->cls != TY_CLASS_RWLOCK && !cond))
		return;
	if ((cond && ev->flags & TY_F_SHARED) || (!cond && ev->err && ev->err != EOWNERDEAD))
		return;
	struct ty_waked *o = cond ? ty_wakes_find(&b->wakes, ev->aux, ty_blame_space(b, ev)) :
				    ty_wakes_get(&b->wakes, ev->object, ty_blame_space(b, ev), ev->end);
	if (!o)
		return; /* nobody has waited for it yet, or no memory, which the next wake says */
	o->owner = ev->thread;
	o->since = ev->end;
}

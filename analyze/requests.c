/* SPDX-License-Identifier: MIT
 *
 * Requests while they are open: which thread carries each, and which parts of
 * its time were waits.  Runs in readers, driven by cut.c and the rules (cut.h).  Must stay true: the parts of one request never
 * overlap and lie between its begin and its end, so running is never negative;
 * memory is bounded by open requests and sites, not by events. */
#include "analyze/cut.h"

#define FOLD 4096u /* parts kept one by one; beyond that they are summed by site */

/* ---- parts ---- */

static void fold_sum(struct ty_cut *c, struct ty_req *q, const struct ty_fold *f)
{
	for (size_t i = 0; i < q->nfold; i++)
		if (q->fold[i].site == f->site) {
			q->fold[i].ns += f->ns;
			q->fold[i].waits += f->waits;
			return;
		}
	if (TY_RESERVE(q->fold, q->fold_cap, q->nfold + 1, (size_t)16)) {
		ty_cut_fail(c, -ENOMEM);
		return;
	}
	q->fold[q->nfold++] = *f;
}

static void fold_add(struct ty_cut *c, struct ty_req *q, const struct ty_part *p)
{
	uint64_t ns = p->end - p->begin;
	if (!c->times_only)
		ty_cut_fail(c, ty_site_stat(&c->r->sites.v[p->site], ns));
	fold_sum(c, q, &(struct ty_fold){ .ns = ns, .site = p->site, .waits = 1 });
}

/* Sums up the oldest parts of a request that has very many.  Their waits are
 * counted at once: a request of so many waits that never ends is counted with
 * them, which is the price of not keeping every wait. */
static void fold(struct ty_cut *c, struct ty_req *q)
{
	size_t k = q->firm ? q->firm : q->answered ? 0 : q->n / 2;
	if (!k)
		return;
	for (size_t i = 0; i < k; i++)
		fold_add(c, q, &q->part[i]);
	memmove(q->part, q->part + k, (q->n - k) * sizeof *q->part);
	q->n -= k;
	q->firm -= q->firm ? k : 0;
}

static void push(struct ty_cut *c, struct ty_req *q, uint32_t site, uint32_t thread, uint64_t begin, uint64_t end)
{
	if (q->closed || end < begin || (site == TY_SITE_HELD && end == begin))
		return;
	if (TY_RESERVE(q->part, q->cap, q->n + 1, (size_t)16)) {
		ty_cut_fail(c, -ENOMEM);
		return;
	}
	q->part[q->n++] = (struct ty_part){ .begin = begin, .end = end, .site = site, .thread = thread };
	if (q->n >= FOLD)
		fold(c, q);
}

/* A part that is inside the request for sure, found late. */
static void push_firm(struct ty_cut *c, struct ty_req *q, uint32_t site, uint32_t thread, uint64_t begin,
		      uint64_t end)
{
	if (TY_RESERVE(q->part, q->cap, q->n + 1, (size_t)16)) {
		ty_cut_fail(c, -ENOMEM);
		return;
	}
	q->part[q->n++] = q->part[q->firm];
	q->part[q->firm++] = (struct ty_part){ .begin = begin, .end = end, .site = site, .thread = thread };
}

/* The wait in hand from begin to end, or its segments there. */
static void push_wait(struct ty_cut *c, struct ty_req *q, bool firm, const struct ty_part *whole)
{
	const struct ty_part *s = c->nseg ? c->seg : whole, *last = s + (c->nseg ? c->nseg : 1);
	for (; s < last; s++) {
		uint64_t b = s->begin > whole->begin ? s->begin : whole->begin;
		uint64_t e = s->end < whole->end ? s->end : whole->end;
		if (b >= e && c->nseg > 1)
			continue;
		if (firm)
			push_firm(c, q, s->site, whole->thread, b, e);
		else
			push(c, q, s->site, whole->thread, b, e);
	}
}

/* Another thread has q from `at` on: what its old thread waited after that is
 * the time of the request that this thread worked on again, if any. */
static void give_back(struct ty_cut *c, struct ty_req *q, uint64_t at, struct ty_req *again)
{
	size_t k = q->firm;
	for (size_t i = q->firm; i < q->n; i++) {
		struct ty_part p = q->part[i];
		if (p.end > at && again)
			push(c, again, p.site, p.thread, p.begin > at ? p.begin : at, p.end);
		if (p.begin >= at)
			continue;
		if (p.end > at)
			p.end = at;
		q->part[k++] = p;
	}
	q->n = k;
}

/* ---- who carries it ---- */

static void set_held(struct ty_req *q, uint64_t at)
{
	q->held = true;
	q->held_by = q->carrier;
	q->since = at > q->since ? at : q->since;
}

static void set_carried(struct ty_cut *c, struct ty_req *q, uint64_t at)
{
	if (at < q->since)
		at = q->since;
	if (q->held) {
		push(c, q, TY_SITE_HELD, TY_NONE, q->since, at);
		ty_behind_held(c, q, q->held_by, q->since, at);
	}
	q->held = false;
	q->since = at;
}

static void link_head(struct ty_cut *c, struct ty_req *q, uint32_t thread, uint64_t at)
{
	struct ty_carrier *th = &c->th[thread];
	if (th->head) {
		set_held(th->head, at);
		th->head->prev = q;
	}
	q->prev = NULL;
	q->next = th->head;
	th->head = q;
	q->carrier = q->thread = thread;
}

static void unlink_req(struct ty_carrier *th, struct ty_req *q)
{
	if (q->prev)
		q->prev->next = q->next;
	else
		th->head = q->next;
	if (q->next)
		q->next->prev = q->prev;
	q->prev = q->next = NULL;
	q->carrier = TY_NONE;
}

/* Takes q from its thread; the request touched before it is carried again. */
static void detach(struct ty_cut *c, struct ty_req *q, uint64_t at)
{
	struct ty_carrier *th = &c->th[q->carrier];
	bool was_head = th->head == q;
	unlink_req(th, q);
	if (was_head && th->head)
		set_carried(c, th->head, at);
}

void ty_req_leave(struct ty_cut *c, struct ty_req *q, uint64_t at)
{
	if (q->carrier == TY_NONE)
		return;
	struct ty_carrier *th = &c->th[q->carrier];
	if (th->head != q) { /* held up there, and stays so */
		detach(c, q, at);
		return;
	}
	if (at < q->since)
		at = q->since;
	if (at > th->last) { /* the thread may be in a wait that began before `at` */
		if (TY_RESERVE(th->pend, th->pend_cap, th->npend + 1, (size_t)4)) {
			ty_cut_fail(c, -ENOMEM);
			return;
		}
		th->pend[th->npend++] = (struct ty_pend){ .req = q, .from = q->since, .to = at };
		q->pins++;
	}
	struct ty_req *again = q->next;
	detach(c, q, at);
	give_back(c, q, at, again);
	q->held = true;
	q->held_by = TY_NONE;
	q->since = at;
}

void ty_req_touch(struct ty_cut *c, struct ty_req *q, uint32_t thread, uint64_t at)
{
	struct ty_carrier *th = &c->th[thread];
	if (th->head == q)
		return;
	if (at < q->since)
		at = q->since;
	if (q->answered && at < q->last)
		at = q->last;
	if (th->head && at < th->head->since)
		at = th->head->since;
	if (q->carrier == thread)
		unlink_req(th, q);
	else
		ty_req_leave(c, q, at);
	link_head(c, q, thread, at);
	set_carried(c, q, at);
}

/* ---- life ---- */

static struct ty_req *new_req(struct ty_cut *c, uint32_t thread, uint64_t at)
{
	struct ty_req *q = c->free;
	if (q) {
		c->free = q->next;
	} else if (!(q = calloc(1, sizeof *q))) {
		ty_cut_fail(c, -ENOMEM);
		return NULL;
	}
	struct ty_req keep = *q;
	*q = (struct ty_req){ .begin = at, .since = at, .carrier = TY_NONE, .thread = thread, .cls = TY_NONE,
			      .next_cls = TY_NONE,
			      .part = keep.part, .cap = keep.cap, .fold = keep.fold, .fold_cap = keep.fold_cap,
			      .behind = keep.behind, .behind_cap = keep.behind_cap };
	q->all_next = c->all;
	if (c->all)
		c->all->all_prev = q;
	c->all = q;
	c->r->counts.begun++;
	return q;
}

struct ty_req *ty_req_open(struct ty_cut *c, uint32_t thread, uint64_t at, struct ty_req **owner)
{
	struct ty_req *q = new_req(c, thread, at);
	if (!q)
		return NULL;
	link_head(c, q, thread, at);
	q->owner = owner;
	if (owner)
		*owner = q;
	return q;
}

void ty_req_answer(struct ty_cut *c, struct ty_req *q, uint64_t at)
{
	if (!q->answered || at > q->last)
		q->last = at;
	q->answered = true;
	q->firm = q->n;
	q->nagain = 0;
}

void ty_req_merge(struct ty_cut *c, struct ty_req *to, const struct ty_req *q)
{
	for (size_t i = 0; i < q->firm; i++) {
		if (TY_RESERVE(to->part, to->cap, to->n + 1, (size_t)16)) {
			ty_cut_fail(c, -ENOMEM);
			return;
		}
		to->part[to->n++] = q->part[i];
		to->firm = to->n;
		if (to->n >= FOLD)
			fold(c, to);
	}
	for (size_t i = 0; i < q->nfold; i++)
		fold_sum(c, to, &q->fold[i]);
	ty_behind_merge(c, to, q);
}

static void retire(struct ty_cut *c, struct ty_req *q)
{
	if (q->txn)
		ty_txn_retire(c, q);
	else
		ty_req_book(c, q);
	if (q->all_prev)
		q->all_prev->all_next = q->all_next;
	else
		c->all = q->all_next;
	if (q->all_next)
		q->all_next->all_prev = q->all_prev;
	q->next = c->free;
	c->free = q;
}

void ty_req_close(struct ty_cut *c, struct ty_req *q)
{
	struct run *r = c->r;
	if (q->closed)
		return;
	q->counted = q->begin >= r->from && (q->answered ? q->last : q->begin) <= r->to &&
		     c->th[q->thread].counted;
	if (q->carrier != TY_NONE)
		detach(c, q, c->now);
	q->closed = true;
	q->n = q->firm;
	if (q->owner)
		*q->owner = NULL;
	if (!q->pins)
		retire(c, q);
}

void ty_req_split(struct ty_cut *c, struct ty_req *q, uint64_t at)
{
	struct ty_req *old = new_req(c, q->thread, q->begin);
	if (!old)
		return;
	size_t k = 0;
	for (size_t i = 0; i < q->n; i++) {
		struct ty_part p = q->part[i];
		if (p.begin < at)
			push(c, old, p.site, p.thread, p.begin, p.end < at ? p.end : at);
		if (p.end > at) {
			q->part[k] = p;
			q->part[k++].begin = p.begin > at ? p.begin : at;
		}
	}
	if (q->held && q->since < at)
		push(c, old, TY_SITE_HELD, TY_NONE, q->since, at);
	ty_behind_split(q, at);
	q->n = k;
	q->firm = 0;
	old->cls = q->cls;
	old->txn = q->txn;
	q->cls = q->next_at >= at ? q->next_cls : TY_NONE;
	q->next_cls = TY_NONE;
	q->txn = NULL;
	for (size_t i = 0; i < q->nfold; i++)
		if (!TY_RESERVE(old->fold, old->fold_cap, old->nfold + 1, (size_t)16))
			old->fold[old->nfold++] = q->fold[i];
	q->nfold = 0;
	q->begin = at;
	if (q->since < at)
		q->since = at;
	q->nagain = 0;
	ty_req_answer(c, old, at);
	ty_req_close(c, old);
}

void ty_req_close_all(struct ty_cut *c)
{
	for (struct ty_req *q = c->all, *next; q; q = next) {
		next = q->all_next;
		q->pins = 0;
		if (q->closed)
			retire(c, q);
		else
			ty_req_close(c, q);
	}
}

/* ---- waits ---- */

/* The wait of a thread that gave requests away while it waited: the time until then is still theirs. */
static void settle(struct ty_cut *c, struct ty_carrier *th, const struct ty_ev *ev, uint32_t site)
{
	for (size_t i = 0; i < th->npend; i++) {
		struct ty_pend *p = &th->pend[i];
		struct ty_req *q = p->req;
		uint64_t b = ev->begin > p->from ? ev->begin : p->from;
		if (b < q->begin) /* it was split meanwhile */
			b = q->begin;
		uint64_t e = ev->end < p->to ? ev->end : p->to;
		const struct ty_part part = { .begin = b, .end = e, .site = site, .thread = ev->thread };
		if (b < e)
			push_wait(c, q, q->answered && p->to <= q->last, &part);
		if (--q->pins == 0 && q->closed)
			retire(c, q);
	}
	th->npend = 0;
}

void ty_req_wait(struct ty_cut *c, const struct ty_ev *ev, uint32_t site)
{
	struct ty_carrier *th = &c->th[ev->thread];
	if (th->npend)
		settle(c, th, ev, site);
	struct ty_req *q = th->head;
	if (!q || ev->end < q->since)
		return;
	uint64_t b = ev->begin;
	if (b < th->last && th->last > q->since) { /* in two waits at once */
		c->r->counts.overlap++;
		c->r->counts.overlap_ns += (ev->end < th->last ? ev->end : th->last) - b;
		b = th->last;
	}
	const struct ty_part part = { .begin = b > q->since ? b : q->since, .end = ev->end, .site = site,
				      .thread = ev->thread };
	push_wait(c, q, false, &part);
	ty_behind_wait(c, ev, site);
	if (q->answered && q->n - q->firm >= FOLD)
		ty_req_close(c, q); /* thousands of waits after an answer are no longer part of it */
}

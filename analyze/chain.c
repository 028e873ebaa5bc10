/* SPDX-License-Identifier: MIT
 *
 * Chains: while a thread held what another one waited for, what did it wait
 * for itself?  Each thread's recent waits are kept, cut into segments with
 * their own chains; a segment charged to a holder is filled with those of the
 * holder that overlap it, and what is left is the holder running.  Runs in
 * readers.  Must stay true: a holder's waits of the segment have ended before
 * it released, so they have been seen before the wait that they explain; no
 * thread occurs twice in a chain. */
#include "analyze/blame.h"

#define PAST_MIN 32u
#define PAST_MAX 4096u
#define PAST_ALL (1u << 20) /* segments of all threads */
#define KEEP_NS 2000000000ull

static struct ty_seg *past_at(const struct ty_past *p, uint64_t i)
{
	return &p->v[i & (p->cap - 1)];
}

static uint64_t past_first(const struct ty_past *p)
{
	return p->n > p->from + p->cap ? p->n - p->cap : p->from;
}

static int grow(struct ty_blame *b, struct ty_past *p)
{
	uint32_t cap = p->cap ? p->cap * 2 : PAST_MIN;
	struct ty_seg *v = malloc(cap * sizeof *v);
	if (!v)
		return -ENOMEM;
	p->from = past_first(p); /* what the smaller ring has overwritten does not come back */
	for (uint64_t i = p->from; i != p->n; i++)
		v[i & (cap - 1)] = *past_at(p, i);
	b->past_kept += cap - p->cap;
	free(p->v);
	p->v = v;
	p->cap = cap;
	return 0;
}

int ty_chain_remember(struct ty_blame *b, uint32_t thread)
{
	struct ty_past *p = &b->past[thread];
	for (size_t i = 0; i < b->nseg; i++) {
		const struct ty_seg *s = &b->seg[i];
		if (s->end <= s->begin)
			continue;
		bool full = p->n - past_first(p) == p->cap;
		if (!p->cap || (full && p->cap < PAST_MAX && b->past_kept + p->cap <= PAST_ALL &&
				past_at(p, p->n)->end + KEEP_NS > s->end)) {
			int e = grow(b, p);
			if (e)
				return e;
		} else if (full) {
			p->lost_to = past_at(p, p->n)->end;
		}
		*past_at(p, p->n++) = *s;
	}
	return 0;
}

/* One segment of the wait in hand; joined to the one before if that is the same. */
static int put(struct ty_blame *b, uint64_t begin, uint64_t end, int64_t link, const uint32_t *via)
{
	if (link < 0)
		return (int)link;
	struct ty_seg *last = b->nseg ? &b->seg[b->nseg - 1] : NULL;
	if (last && last->link == link && !memcmp(last->via, via, sizeof last->via)) {
		last->end = end;
		return 0;
	}
	if (TY_RESERVE(b->seg, b->seg_cap, b->nseg + 1, (size_t)64))
		return -ENOMEM;
	struct ty_seg *s = &b->seg[b->nseg++];
	*s = (struct ty_seg){ .begin = begin, .end = end, .link = (uint32_t)link };
	memcpy(s->via, via, sizeof s->via);
	return 0;
}

/* The threads of a chain that goes on with `next`; false: the waiter is among them. */
static bool join_via(uint32_t *via, const uint32_t *next, uint32_t waiter)
{
	for (size_t i = 0; i + 1 < TY_CHAIN_MAX && next[i]; i++) {
		if (next[i] == waiter + 1 || next[i] == via[0])
			return false;
		via[i + 1] = next[i];
	}
	return true;
}

static int hold_up(struct ty_blame *b, const struct ty_direct *d, uint32_t waiter, uint32_t site,
		   uint64_t begin, uint64_t end, const struct ty_seg *of)
{
	uint32_t via[TY_CHAIN_MAX] = { d->thread + 1 };
	uint32_t next = of->link;
	if (b->links.v[next].depth >= TY_CHAIN_MAX) {
		b->counts.deep++;
		next = TY_NEXT_DEEP;
	} else if (!join_via(via, of->via, waiter)) {
		b->counts.cycles++;
		next = TY_NEXT_CYCLE;
		memset(via + 1, 0, sizeof via - sizeof *via);
	}
	return put(b, begin, end, ty_link(b, site, d->kind, d->site, next), via);
}

/* The first kept segment that ends after `time`. */
static uint64_t past_from(const struct ty_past *p, uint64_t time)
{
	uint64_t lo = past_first(p), hi = p->n;
	while (lo < hi) {
		uint64_t m = lo + (hi - lo) / 2;
		if (past_at(p, m)->end <= time)
			lo = m + 1;
		else
			hi = m;
	}
	return lo;
}

static int follow(struct ty_blame *b, const struct ty_direct *d, uint32_t waiter, uint32_t site)
{
	const struct ty_past *p = &b->past[d->thread];
	const uint32_t via[TY_CHAIN_MAX] = { d->thread + 1 };
	uint64_t at = d->begin;
	int e = 0;
	if (p->lost_to > at && past_first(p)) {
		uint64_t to = p->lost_to < d->end ? p->lost_to : d->end;
		b->counts.history++;
		b->counts.history_ns += to - at;
		e = put(b, at, to, ty_link(b, site, d->kind, d->site, TY_NEXT_HISTORY), via);
		at = to;
	}
	for (uint64_t i = p->cap ? past_from(p, at) : p->n; !e && i != p->n && at < d->end; i++) {
		const struct ty_seg *s = past_at(p, i);
		uint64_t from = s->begin > at ? s->begin : at, to = s->end < d->end ? s->end : d->end;
		if (from >= d->end)
			break;
		if (from >= to)
			continue;
		if (b->nseg >= TY_SEGS_MAX) {
			b->counts.segs_full++;
			return put(b, at, d->end, ty_link(b, site, d->kind, d->site, TY_NEXT_DEEP), via);
		}
		if (from > at)
			e = put(b, at, from, ty_link(b, site, d->kind, d->site, TY_NEXT_RUNNING), via);
		if (!e)
			e = hold_up(b, d, waiter, site, from, to, s);
		at = to;
	}
	if (!e && at < d->end)
		e = put(b, at, d->end, ty_link(b, site, d->kind, d->site, TY_NEXT_RUNNING), via);
	return e;
}

/* Links without a holder are looked up by site: most waits, all IO, are such, and those of a site mostly of one kind. */
static int64_t single(struct ty_blame *b, uint32_t site, enum ty_blame_kind kind)
{
	struct ty_links *l = &b->links;
	if (TY_RESERVE(l->single, l->single_cap, (size_t)site + 1, (size_t)1024))
		return -ENOMEM;
	struct ty_single *s = &l->single[site];
	int64_t k = s->link && s->kind == kind ? s->link - 1 : ty_link(b, site, kind, TY_NONE, TY_NEXT_RUNNING);
	if (k >= 0)
		*s = (struct ty_single){ .link = (uint32_t)k + 1, .pair = l->v[k].pair, .kind = kind };
	return k;
}

int ty_chain_expand(struct ty_blame *b, const struct ty_ev *ev, uint32_t site)
{
	static const uint32_t nobody[TY_CHAIN_MAX];
	int e = 0;
	b->nseg = 0;
	for (size_t i = 0; !e && i < b->ndirect; i++) {
		struct ty_direct *d = &b->direct[i];
		if (d->thread == TY_NONE)
			e = put(b, d->begin, d->end, single(b, site, d->kind), nobody);
		else if (d->kind == TY_K_WOKEN || d->begin == d->end)
			e = put(b, d->begin, d->end, ty_link(b, site, d->kind, d->site, TY_NEXT_RUNNING),
				nobody);
		else
			e = follow(b, d, ev->thread, site);
		d->link = e ? TY_NONE : b->seg[b->nseg - 1].link;
	}
	return e;
}

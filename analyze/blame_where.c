/* SPDX-License-Identifier: MIT
 *
 * Blame with --where: the sums are of the waits of the requests that are left,
 * which are known when each of them is complete.  Runs in readers.  Must stay
 * true: every part of a request that is left is counted once, and nothing of
 * the others. */
#include "analyze/blame.h"

/* Goes on where the part before ended: the same wait, cut by who ended it or by what that one did. */
static bool goes_on(const struct ty_blame *b, const struct ty_part *last, const struct ty_part *p)
{
	return last && last->end == p->begin && last->thread == p->thread &&
	       b->links.v[last->site].waiter == b->links.v[p->site].waiter;
}

/* waits, segments, pairs: how many of each begin with it. */
static void take(struct ty_blame *b, uint32_t link, uint64_t ns, uint64_t waits, uint64_t segments, uint64_t pairs)
{
	int64_t pair = ty_link_pair(b, link); /* may move the links */
	if (pair < 0) {
		b->cut.error = b->cut.error ? b->cut.error : (int)pair;
		return;
	}
	struct ty_link *k = &b->links.v[link];
	struct ty_blame_class *c = &b->cls[k->cls < TY_CLASS_COUNT ? k->cls : TY_CLASS_COUNT];
	c->waits += waits;
	c->ns[k->kind] += ns;
	k->total += ns;
	k->count += segments;
	b->links.v[pair].count += pairs;
}

static void take_request(void *arg, const struct ty_req *q)
{
	struct ty_blame *b = arg;
	const struct ty_part *last = NULL;
	uint32_t last_pair = TY_NONE;
	for (size_t i = 0; i < q->firm && !b->cut.error; i++) {
		const struct ty_part *p = &q->part[i];
		if (p->site == TY_SITE_HELD)
			continue;
		bool on = goes_on(b, last, p);
		int64_t pair = ty_link_pair(b, p->site);
		take(b, p->site, p->end - p->begin, !on, 1, !on || pair != last_pair);
		last = p;
		last_pair = pair < 0 ? TY_NONE : (uint32_t)pair;
	}
	for (size_t i = 0; i < q->nfold && !b->cut.error; i++)
		if (q->fold[i].site != TY_SITE_HELD)
			take(b, q->fold[i].site, q->fold[i].ns, q->fold[i].waits, q->fold[i].waits, q->fold[i].waits);
}

void ty_blame_watch(struct ty_blame *b)
{
	b->r->request = take_request;
	b->r->request_arg = b;
}

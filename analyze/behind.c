/* SPDX-License-Identifier: MIT
 *
 * What requests that were held up waited behind: the waits of the thread that
 * worked on another one.  Runs in readers, driven by requests.c.  "Held up"
 * stays one site of the report; this splits it, in a ledger of its own that has
 * a row for each of the report's, with the same latency.  What must stay true:
 * a row's parts lie in the time in which its request was held up, and do not
 * overlap; memory is bounded by threads and open requests.  What is too much to
 * keep, or was no recorded wait, is left to the remainder. */
#include "analyze/cut.h"

#include <math.h>

#define RECENT 1024u /* waits of a thread that are kept, a power of two */
#define PARTS 4096u  /* of one request */

struct ty_recent {
	uint64_t n; /* ever */
	struct ty_part v[RECENT];
};

void ty_behind_wait(struct ty_cut *c, const struct ty_ev *ev, uint32_t site)
{
	struct ty_carrier *th = &c->th[ev->thread];
	if (!c->r->want_behind || !th->head || !th->head->next ||
	    (ev->path < c->r->t.npaths && c->r->names.kind[ev->path] == TY_PATH_NOT_TAKEN))
		return;
	if (!th->recent) {
		if (!(th->recent = malloc(sizeof *th->recent))) {
			ty_cut_fail(c, -ENOMEM);
			return;
		}
		th->recent->n = 0;
	}
	uint64_t begin = ev->begin;
	if (th->recent->n) { /* two waits at once: the later one's first part is the other's */
		const struct ty_part *p = &th->recent->v[(th->recent->n - 1) % RECENT];
		begin = p->end > begin ? p->end : begin;
	}
	if (begin < ev->end)
		th->recent->v[th->recent->n++ % RECENT] =
			(struct ty_part){ .begin = begin, .end = ev->end, .site = site, .thread = ev->thread };
}

void ty_behind_held(struct ty_cut *c, struct ty_req *q, uint32_t thread, uint64_t from, uint64_t to)
{
	const struct ty_recent *w = thread == TY_NONE ? NULL : c->th[thread].recent;
	uint64_t least = w && w->n > RECENT ? w->n - RECENT : 0;
	for (uint64_t i = w ? w->n : 0; i > least && q->nbehind < PARTS; i--) {
		const struct ty_part *p = &w->v[(i - 1) % RECENT];
		if (p->end <= from)
			break;
		uint64_t b = p->begin > from ? p->begin : from, e = p->end < to ? p->end : to;
		if (b >= e)
			continue;
		if (TY_RESERVE(q->behind, q->behind_cap, q->nbehind + 1, (size_t)16)) {
			ty_cut_fail(c, -ENOMEM);
			return;
		}
		q->behind[q->nbehind++] = (struct ty_part){ .begin = b, .end = e, .site = p->site, .thread = thread };
	}
}

void ty_behind_split(struct ty_req *q, uint64_t at)
{
	size_t k = 0;
	for (size_t i = 0; i < q->nbehind; i++)
		if (q->behind[i].begin >= at)
			q->behind[k++] = q->behind[i];
	q->nbehind = k;
}

void ty_behind_merge(struct ty_cut *c, struct ty_req *to, const struct ty_req *q)
{
	for (size_t i = 0; i < q->nbehind && to->nbehind < PARTS; i++) {
		struct ty_part p = q->behind[i];
		p.end = p.end < q->last ? p.end : q->last;
		if (p.begin >= p.end)
			continue;
		if (TY_RESERVE(to->behind, to->behind_cap, to->nbehind + 1, (size_t)16)) {
			ty_cut_fail(c, -ENOMEM);
			return;
		}
		to->behind[to->nbehind++] = p;
	}
}

static int by_site(const void *a, const void *b)
{
	const struct ty_part *x = a, *y = b;
	return (x->site > y->site) - (x->site < y->site);
}

/* Rows from before anything was held up; the last one's turn comes. */
static int catch_up(struct ty_cut *c)
{
	struct run *r = c->r;
	int e = 0;
	for (size_t i = r->behind_rows.n; !e && i + 1 < r->rows.n; i++) {
		struct ty_row row = r->rows.v[i];
		row.n = 0;
		e = ty_ledger_add(&r->behind_rows, &row, c->touched, c->xs);
	}
	return e;
}

void ty_behind_row(struct ty_cut *c, struct ty_req *q, const struct ty_row *of)
{
	struct ty_row row = *of;
	uint32_t n = 0;
	if (!q->nbehind && !c->r->behind_rows.n)
		return;
	if (TY_RESERVE(c->touched, c->touched_cap, q->nbehind, (size_t)256) ||
	    TY_RESERVE(c->xs, c->xs_cap, q->nbehind, (size_t)256)) {
		ty_cut_fail(c, -ENOMEM);
		return;
	}
	ty_cut_fail(c, catch_up(c));
	if (q->nbehind)
		qsort(q->behind, q->nbehind, sizeof *q->behind, by_site);
	for (size_t i = 0; i < q->nbehind; i++) {
		const struct ty_part *p = &q->behind[i];
		uint64_t e = p->end < q->last ? p->end : q->last;
		if (p->begin >= e) /* behind what followed the last send */
			continue;
		if (!n || c->touched[n - 1] != p->site) {
			c->touched[n] = p->site;
			c->xs[n++] = 0;
		}
		c->xs[n - 1] += e - p->begin;
	}
	row.n = n;
	ty_cut_fail(c, ty_ledger_add(&c->r->behind_rows, &row, c->touched, c->xs));
}

void ty_behind_free(struct ty_cut *c)
{
	for (size_t i = 0; c->th && i < c->r->t.nthreads; i++)
		free(c->th[i].recent);
}

int ty_pass_behind(struct run *r, char *err)
{
	if (!r->behind_rows.n)
		return 0; /* nothing was held up behind a wait */
	int e = ty_variance(&r->behind_rows, r->sites.n, r->opt.tail, &r->behind);
	return e ? ty_err(err, e, "adding up what requests waited behind: %s", strerror(-e)) : 0;
}

size_t ty_behind_rank(const struct run *r, uint32_t *site, size_t most)
{
	size_t n = 0;
	for (uint32_t i = 0; r->behind.site && i < r->sites.n; i++) {
		double share = fabs(r->behind.site[i].share); /* one that evens out is as good to know */
		size_t at = n;
		if (!(r->behind.site[i].mean > 0))
			continue;
		while (at && fabs(r->behind.site[site[at - 1]].share) < share)
			at--;
		if (at == most)
			continue;
		n += n < most;
		memmove(site + at + 1, site + at, (n - 1 - at) * sizeof *site);
		site[at] = i;
	}
	return n;
}

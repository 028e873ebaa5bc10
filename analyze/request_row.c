/* SPDX-License-Identifier: MIT
 *
 * What a request leaves behind when it is closed: its row, and its waits in
 * their sites' statistics.  Runs in readers, once per request.  Must stay true:
 * only the parts up to its last answer count; the scratch of the row is all 0
 * again after it. */
#include "analyze/cut.h"

static void row_add(struct ty_cut *c, uint32_t *n, uint32_t site, uint64_t ns)
{
	if (site >= c->x_cap && TY_RESERVE(c->x, c->x_cap, (size_t)site + 1, (size_t)1024)) {
		ty_cut_fail(c, -ENOMEM);
		return;
	}
	if (!c->x[site] && ns) {
		if (TY_RESERVE(c->touched, c->touched_cap, (size_t)*n + 1, (size_t)256)) {
			ty_cut_fail(c, -ENOMEM);
			return;
		}
		c->touched[(*n)++] = site;
	}
	c->x[site] += ns;
}

/* With thousands of sites most of their statistics are far from the core: they
 * are asked for four parts ahead. */
static void prefetch(const struct ty_site *v, const struct ty_part *p, size_t left)
{
	if (left > 4) {
		const struct ty_site *s = &v[p[4].site];
		ty_prefetch(&s->sq);
		ty_prefetch(&s->nlate);
		ty_prefetch(&s->late[TY_LATE - 1]);
	}
}

/* The row of an answered request, and its waits into their sites' statistics. */
static void write_row(struct ty_cut *c, struct ty_req *q)
{
	struct ty_row row = { .end = q->last, .latency = ty_req_latency(q), .cls = q->cls };
	uint64_t sum = 0;
	for (size_t i = 0; i < q->firm; i++) {
		uint64_t ns = q->part[i].end - q->part[i].begin;
		if (!c->times_only) {
			prefetch(c->r->sites.v, &q->part[i], q->firm - i);
			ty_cut_fail(c, ty_site_stat(&c->r->sites.v[q->part[i].site], ns));
		}
		row_add(c, &row.n, q->part[i].site, ns);
	}
	for (size_t i = 0; i < q->nfold; i++)
		row_add(c, &row.n, q->fold[i].site, q->fold[i].ns);
	if (TY_RESERVE(c->xs, c->xs_cap, (size_t)row.n, (size_t)256)) {
		ty_cut_fail(c, -ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < row.n; i++) {
		c->xs[i] = c->x[c->touched[i]];
		c->x[c->touched[i]] = 0;
		sum += c->xs[i];
	}
	c->r->counts.negative += sum > row.latency;
	if (c->r->request)
		c->r->request(c->r->request_arg, q);
	ty_cut_fail(c, ty_ledger_add(&c->r->rows, &row, c->touched, c->xs));
	ty_behind_row(c, q, &row);
}

static bool wanted(struct ty_cut *c, const struct ty_req *q)
{
	int in = ty_where_keep(c->r, q);
	ty_cut_fail(c, in);
	return in > 0;
}

static void finished(struct ty_cut_counts *n, const struct ty_req *q)
{
	uint64_t l = ty_req_latency(q);
	bool first = !n->finished++;
	n->earliest = first || q->begin < n->earliest ? q->begin : n->earliest;
	n->latest = q->last > n->latest ? q->last : n->latest;
	n->fastest = first || l < n->fastest ? l : n->fastest;
	n->slowest = l > n->slowest ? l : n->slowest;
}

void ty_req_book(struct ty_cut *c, struct ty_req *q)
{
	struct run *r = c->r;
	if (q->answered)
		finished(&r->counts, q);
	if (q->counted && !q->answered)
		r->counts.unfinished++;
	else if (q->counted && (!r->where || wanted(c, q)))
		write_row(c, q);
}

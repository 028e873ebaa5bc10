/* SPDX-License-Identifier: MIT
 *
 * The pass over requests: shares of latency variance with standard errors, tail
 * shares, quantiles, classes (docs/ARITHMETIC.md has the formulae).  Runs in
 * readers.  Must stay true: population moments; all shares and running sum to
 * 1 within 1e-9, because running is the exact remainder and every sum is taken
 * around the mean latency. */
#include "analyze/run.h"

#include <math.h>

#include "analyze/blocks.h"
#include "analyze/quantile.h"
#include "analyze/radix.h"
#include "analyze/vec.h"

/* Sums of one block, or of all requests; l is latency - mean. */
struct sums { double n, l, ll; };
struct pair { double x, xl; };

struct work {
	struct ty_ledger *rows;
	struct ty_result *res;
	const uint32_t *map; /* what each site is counted as, NULL: as itself */
	size_t nsites;
	struct ty_blocks blocks;
	struct sums all, *by_block;
	size_t stride;      /* nsites + 1: the last is running */
	struct pair *acc;   /* [block * stride + site]; pages of sites without time are never touched */
	double *tail;       /* [site] sum over requests in the tail */
	double tail_l;
};

static int latencies(struct work *w, double tail)
{
	struct ty_result *res = w->res;
	size_t n = w->rows->n;
	unsigned __int128 sum = 0;
	uint64_t *l = ty_vec_huge(malloc(n * sizeof *l), n * sizeof *l);
	if (!l)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sum += l[i] = w->rows->v[i].latency;
	if (ty_radix_sort(l, NULL, n)) {
		free(l);
		return -ENOMEM;
	}
	res->n = n;
	res->mean = (double)((long double)sum / (long double)n);
	res->p50 = l[ty_quantile_at(n, 0.5)];
	res->p95 = l[ty_quantile_at(n, 0.95)];
	res->p99 = l[ty_quantile_at(n, 0.99)];
	res->p999 = l[ty_quantile_at(n, 0.999)];
	res->max = l[n - 1];
	res->tail_at = l[ty_quantile_at(n, tail)];
	long double l2 = 0;
	for (size_t i = 0; i < n; i++)
		l2 += (long double)l[i] * (long double)l[i];
	res->l2 = (double)sqrtl(l2);
	free(l);
	return 0;
}

static int make_blocks(struct work *w)
{
	int e = ty_blocks_make(&w->blocks, w->rows, w->stride);
	if (e)
		return e;
	size_t n = w->blocks.n;
	w->res->blocks = n > 1 ? w->blocks.n : 0;
	w->by_block = calloc(n, sizeof *w->by_block);
	w->acc = ty_vec_huge(calloc(n * w->stride, sizeof *w->acc), n * w->stride * sizeof *w->acc);
	return w->by_block && w->acc ? 0 : -ENOMEM;
}

static inline void add(struct work *w, size_t site, struct pair *acc, double x, double l, bool in_tail)
{
	acc[site].x += x;
	acc[site].xl += x * l;
	if (in_tail)
		w->tail[site] += x;
}

static int gather(struct work *w)
{
	const struct ty_row *row;
	const uint32_t *site;
	const uint64_t *ns;
	size_t i = 0;
	int e = ty_ledger_rewind(w->rows);
	while (!e && (e = ty_ledger_next(w->rows, &row, &site, &ns)) == 1) {
		uint32_t b = w->blocks.of[i++];
		struct sums *s = &w->by_block[b];
		double l = (double)row->latency - w->res->mean;
		bool in_tail = row->latency >= w->res->tail_at;
		uint64_t rest = row->latency;
		s->n++;
		s->l += l;
		s->ll += l * l;
		if (in_tail) {
			w->res->tail_n++;
			w->tail_l += l;
		}
		e = 0;
		struct pair *acc = w->acc + (size_t)b * w->stride;
		for (uint32_t j = 0; j < row->n; j++) {
			rest -= ns[j];
			add(w, w->map ? w->map[site[j]] : site[j], acc, (double)ns[j], l, in_tail);
		}
		add(w, w->nsites, acc, (double)(int64_t)rest, l, in_tail);
	}
	for (uint32_t b = 0; b < w->blocks.n; b++) {
		w->all.n += w->by_block[b].n;
		w->all.l += w->by_block[b].l;
		w->all.ll += w->by_block[b].ll;
	}
	return e;
}

static double ratio(struct sums s, struct pair p)
{
	double var = s.ll - s.l * s.l / s.n;
	return var > 0 ? (p.xl - p.x * s.l / s.n) / var : 0;
}

static void share(struct work *w, size_t site, struct ty_share *out)
{
	const struct pair *p = w->acc + site; /* of block b: p[b * stride] */
	struct pair all = { 0 };
	for (uint32_t b = 0; b < w->blocks.n; b++) {
		all.x += p[b * w->stride].x;
		all.xl += p[b * w->stride].xl;
	}
	if (!(all.x != 0))
		return; /* no time in any request */
	out->mean = all.x / w->all.n;
	out->share = ratio(w->all, all);
	double excess = w->tail_l / (double)w->res->tail_n; /* of latency in the tail over the mean */
	out->tail = excess > 0 ? (w->tail[site] / (double)w->res->tail_n - out->mean) / excess : 0;
	if (w->blocks.n < 2)
		return;
	double sum = 0, sq = 0;
	for (uint32_t b = 0; b < w->blocks.n; b++) {
		const struct sums *s = &w->by_block[b];
		double d = ratio((struct sums){ w->all.n - s->n, w->all.l - s->l, w->all.ll - s->ll },
				 (struct pair){ all.x - p[b * w->stride].x, all.xl - p[b * w->stride].xl }) - out->share;
		sum += d;
		sq += d * d;
	}
	double var = (sq - sum * sum / w->blocks.n) * (w->blocks.n - 1) / w->blocks.n;
	out->se = var > 0 ? w->blocks.widen * sqrt(var) : 0;
}

int ty_variance_as(struct ty_ledger *rows, const uint32_t *map, size_t nsites, double tail, struct ty_result *res)
{
	struct work w = { .rows = rows, .res = res, .map = map, .nsites = nsites, .stride = nsites + 1 };
	memset(res, 0, sizeof *res);
	res->site = calloc(nsites + 1, sizeof *res->site);
	w.tail = calloc(w.stride, sizeof *w.tail);
	int e = res->site && w.tail ? 0 : -ENOMEM;
	if (!e && rows->n) {
		e = latencies(&w, tail);
		if (!e)
			e = make_blocks(&w);
		if (!e)
			e = gather(&w);
		if (!e)
			e = ty_classes(rows, res);
	}
	if (!e && rows->n) {
		res->var = w.all.ll / w.all.n;
		res->valid = res->var > 0;
		for (size_t i = 0; i < nsites; i++) {
			share(&w, i, &res->site[i]);
			res->sum += res->site[i].share;
		}
		share(&w, nsites, &res->running);
		res->sum += res->running.share;
	}
	free(w.blocks.of);
	free(w.by_block);
	free(w.acc);
	free(w.tail);
	return e;
}

int ty_variance(struct ty_ledger *rows, size_t nsites, double tail, struct ty_result *res)
{
	return ty_variance_as(rows, NULL, nsites, tail, res);
}

void ty_result_free(struct ty_result *res)
{
	free(res->site);
	free(res->cls);
	memset(res, 0, sizeof *res);
}

int ty_pass_variance(struct run *r, char *err)
{
	int e = ty_variance(&r->rows, r->sites.n, r->opt.tail, &r->res);
	return e ? ty_err(err, e, "adding up requests: %s", strerror(-e)) : 0;
}

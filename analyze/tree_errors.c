/* SPDX-License-Identifier: MIT
 *
 * Standard errors of the pairs that are listed: their products by block, from
 * one more look at the rows of requests.  Runs in readers.  Must stay true:
 * memory is for the pairs that are listed, and they are bounded. */
#include "analyze/tree.h"

#include <math.h>

#define PAIRS 512u /* the largest ones */

struct work {
	struct ty_tree *t;
	ty_sum *xy;   /* [pair * blocks + block] */
	int64_t *x;   /* [accs] */
	uint32_t *touched;
	size_t n;
	double least;
};

static int by_size(const void *a, const void *b)
{
	const struct ty_pair_error *p = a, *q = b;
	double x = fabs(p->share), y = fabs(q->share);
	return x != y ? (x > y ? -1 : 1) : p->a != q->a ? (p->a < q->a ? -1 : 1) : p->b < q->b ? -1 : p->b > q->b;
}

static int take(void *arg, uint32_t a, uint32_t b, double share)
{
	struct work *w = arg;
	struct ty_tree *t = w->t;
	if (fabs(share) < w->least)
		return 0;
	if (TY_RESERVE(t->listed, t->listed_cap, t->nlisted + 1, (size_t)64))
		return -ENOMEM;
	t->listed[t->nlisted++] = (struct ty_pair_error){ .a = a, .b = b, .share = share, .se = NAN };
	return 0;
}

static void one_row(struct work *w, const struct ty_row *row, const uint32_t *site, const uint64_t *ns, uint32_t block)
{
	const struct ty_tree *t = w->t;
	uint64_t rest = row->latency;
	for (uint32_t j = 0; j < row->n; j++) {
		rest -= ns[j];
		for (uint32_t a = t->leaf[site[j]] ? t->leaf[site[j]] - 1 : TY_NONE; a != TY_NONE; a = t->up[a]) {
			if (!w->x[a])
				w->touched[w->n++] = a;
			w->x[a] += (int64_t)ns[j];
		}
	}
	if (t->running)
		w->x[t->running] = (int64_t)rest;
	for (size_t k = 0; k < t->nlisted; k++)
		w->xy[k * t->blocks + block] += (ty_sum)w->x[t->listed[k].a] * w->x[t->listed[k].b];
	while (w->n)
		w->x[w->touched[--w->n]] = 0;
}

static void error(const struct work *w, size_t k, const uint64_t *in_block)
{
	const struct ty_tree *t = w->t;
	struct ty_pair_error *p = &t->listed[k];
	struct ty_acc a = ty_tree_acc(t, p->a), b = ty_tree_acc(t, p->b), l = ty_tree_acc(t, 0);
	ty_sum xy = ty_tree_products(t, p->a, p->b);
	double left_out[256] = { 0 };
	for (uint32_t i = 0; i < t->blocks; i++) {
		const struct ty_acc *acc = t->acc + (size_t)i * t->accs;
		uint64_t n = t->n_requests - in_block[i];
		int64_t lx = l.x - acc[0].x;
		long double var = ty_moment(l.xx - acc[0].xx, lx, lx, n);
		if (var > 0)
			left_out[i] = (double)(2 * ty_moment(xy - w->xy[k * t->blocks + i], a.x - acc[p->a].x,
							     b.x - acc[p->b].x, n) / var);
	}
	struct ty_blocks blocks = { .n = t->blocks, .widen = t->widen };
	p->se = ty_blocks_error(&blocks, left_out);
}

static int look_again(struct work *w, struct ty_ledger *rows)
{
	struct ty_tree *t = w->t;
	struct ty_blocks blocks = { 0 };
	const struct ty_row *row;
	const uint32_t *site;
	const uint64_t *ns;
	uint64_t in_block[256] = { 0 };
	size_t i = 0;
	int e = ty_blocks_make(&blocks, rows, t->accs);
	if (!e)
		e = ty_ledger_rewind(rows);
	while (!e && (e = ty_ledger_next(rows, &row, &site, &ns)) == 1) {
		in_block[blocks.of[i]]++;
		one_row(w, row, site, ns, blocks.of[i++]);
		e = 0;
	}
	free(blocks.of);
	for (size_t k = 0; !e && k < t->nlisted; k++)
		error(w, k, in_block);
	return e;
}

int ty_tree_errors(struct ty_tree *t, struct ty_ledger *rows, double least)
{
	struct work w = { .t = t, .least = least };
	int e = ty_tree_each_pair(t, take, &w);
	if (e || !t->nlisted)
		return e;
	qsort(t->listed, t->nlisted, sizeof *t->listed, by_size);
	if (t->nlisted > PAIRS)
		t->nlisted = PAIRS;
	if (t->blocks < 2)
		return 0;
	w.xy = calloc(t->nlisted * t->blocks, sizeof *w.xy);
	w.x = calloc(t->accs, sizeof *w.x);
	w.touched = calloc(t->accs, sizeof *w.touched);
	e = w.xy && w.x && w.touched ? look_again(&w, rows) : -ENOMEM;
	free(w.xy);
	free(w.x);
	free(w.touched);
	return e;
}

double ty_tree_pair_error(const struct ty_tree *t, uint32_t a, uint32_t b)
{
	for (size_t k = 0; k < t->nlisted; k++)
		if ((t->listed[k].a == a && t->listed[k].b == b) || (t->listed[k].a == b && t->listed[k].b == a))
			return t->listed[k].se;
	return NAN;
}

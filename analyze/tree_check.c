/* SPDX-License-Identifier: MIT
 *
 * From sums to shares, and the proof that they belong together.  Runs in
 * readers.  Must stay true: for every parent, the variance equals those of its
 * children plus twice the covariance of each pair of them. */
#include "analyze/tree.h"

#include <math.h>

/* n * sum - x * y, all over n: the products stay whole, the quotient and its rest are split. */
long double ty_moment(ty_sum xy, int64_t x, int64_t y, uint64_t n)
{
	ty_sum p = (ty_sum)x * y, q = p / (ty_sum)n, rest = p % (ty_sum)n;
	return ((long double)(xy - q) - (long double)rest / (long double)n) * (long double)n;
}

struct ty_acc ty_tree_acc(const struct ty_tree *t, uint32_t acc)
{
	struct ty_acc sum = { 0 };
	for (uint32_t b = 0; b < t->blocks; b++) {
		sum.x += t->acc[(size_t)b * t->accs + acc].x;
		sum.xx += t->acc[(size_t)b * t->accs + acc].xx;
	}
	return sum;
}

double ty_tree_pair(const struct ty_tree *t, uint32_t a, uint32_t b)
{
	struct ty_acc p = ty_tree_acc(t, a), q = ty_tree_acc(t, b), r = ty_tree_acc(t, 0);
	long double var = ty_moment(r.xx, r.x, r.x, t->n_requests);
	return var > 0 ? (double)(2 * ty_moment(ty_tree_products(t, a, b), p.x, q.x, t->n_requests) / var) : 0;
}

static double error_of(const struct ty_tree *t, uint32_t acc, struct ty_acc all, struct ty_acc root,
		       const uint64_t *in_block)
{
	double left_out[256] = { 0 };
	for (uint32_t b = 0; b < t->blocks; b++) {
		const struct ty_acc *x = &t->acc[(size_t)b * t->accs + acc], *l = &t->acc[(size_t)b * t->accs];
		uint64_t n = t->n_requests - in_block[b];
		if (!n)
			return NAN;
		long double var = ty_moment(root.xx - l->xx, root.x - l->x, root.x - l->x, n);
		if (var > 0)
			left_out[b] = (double)(ty_moment(all.xx - x->xx, all.x - x->x, all.x - x->x, n) / var);
	}
	struct ty_blocks b = { .n = t->blocks, .widen = t->widen };
	return ty_blocks_error(&b, left_out);
}

void ty_tree_shares(struct ty_tree *t)
{
	struct ty_acc root = ty_tree_acc(t, 0);
	uint64_t n = t->n_requests, in_block[256] = { 0 };
	if (!n)
		return;
	for (uint32_t b = 0; b < t->blocks; b++) /* row i is in block i * blocks / n */
		in_block[b] = (n * (b + 1) + t->blocks - 1) / t->blocks - (n * b + t->blocks - 1) / t->blocks;
	long double var = ty_moment(root.xx, root.x, root.x, n);
	t->var = (double)(var / ((long double)n * (long double)n));
	t->mean = (double)root.x / (double)n;
	for (size_t i = 0; i < t->n; i++) {
		struct ty_node *v = &t->v[i];
		if (v->kind == TY_NODE_GONE)
			continue;
		if (i && t->top[v->acc] != i) { /* the same sums as its parent */
			v->mean = t->v[v->parent].mean;
			v->share = t->v[v->parent].share;
			v->se = t->v[v->parent].se;
			continue;
		}
		struct ty_acc a = ty_tree_acc(t, v->acc);
		v->mean = (double)a.x / (double)n;
		v->share = var > 0 ? (double)(ty_moment(a.xx, a.x, a.x, n) / var) : 0;
		v->se = t->blocks > 1 ? error_of(t, v->acc, a, root, in_block) : NAN;
	}
}

/* ---- the proof ---- */

struct sums { ty_sum x, xx, xy; long double squares, var; };

static int add_hashed(const struct ty_tree *t, struct sums *s)
{
	for (size_t i = 0; i < t->pair_slots; i++)
		if (t->pair_slot[i].b)
			s[t->up[t->pair_slot[i].a]].xy += t->pair_slot[i].xy;
	return 0;
}

int ty_tree_check(struct ty_tree *t, char *err)
{
	struct sums *s = calloc(t->accs, sizeof *s);
	struct ty_acc root = ty_tree_acc(t, 0);
	long double n = (long double)t->n_requests, all = ty_moment(root.xx, root.x, root.x, t->n_requests);
	int e = s ? add_hashed(t, s) : -ENOMEM;
	for (uint32_t a = 1; !e && a < t->accs; a++) {
		struct ty_acc x = ty_tree_acc(t, a);
		struct sums *p = &s[t->up[a]];
		p->x += x.x;
		p->xx += x.xx;
		p->squares += (long double)x.x * (long double)x.x;
		p->var += ty_moment(x.xx, x.x, x.x, t->n_requests);
	}
	for (uint32_t a = 0; !e && a < t->accs; a++) {
		uint64_t k = t->kids[a], pairs = t->base[a] == UINT64_MAX || k < 2 ? 0 : k * (k - 1) / 2;
		struct ty_acc x = ty_tree_acc(t, a);
		if (!k)
			continue;
		for (uint64_t i = 0; i < pairs; i++)
			s[a].xy += t->pair[t->base[a] + i];
		/* sum over pairs of n * sum xy - sum x * sum y, those never seen together among them */
		long double sum = (long double)s[a].x;
		long double cov = n * (long double)s[a].xy - (sum * sum - s[a].squares) / 2;
		long double off = fabsl(ty_moment(x.xx, x.x, x.x, t->n_requests) - s[a].var - 2 * cov);
		double residual = all > 0 ? (double)(off / all) : 0;
		t->checked++;
		if (residual > t->residual)
			t->residual = residual;
		/* in whole numbers there is no rounding to excuse */
		if (x.x != s[a].x || x.xx != s[a].xx + 2 * s[a].xy)
			e = ty_err(err, -EPROTO, "internal error: the parts of '%s' do not add up to it; please report this",
				   t->name[t->v[t->top[a]].name]);
	}
	free(s);
	return e == -ENOMEM ? ty_err(err, e, "out of memory") : e;
}

int ty_tree_each_pair(const struct ty_tree *t, int (*cb)(void *arg, uint32_t a, uint32_t b, double share), void *arg)
{
	uint32_t *kid = calloc(t->accs + 1, sizeof *kid), *first = calloc(t->accs + 1, sizeof *first);
	int64_t *x = calloc(t->accs, sizeof *x);
	struct ty_acc root = ty_tree_acc(t, 0);
	long double var = ty_moment(root.xx, root.x, root.x, t->n_requests);
	int e = kid && first && x ? 0 : -ENOMEM;
	for (uint32_t a = 0, at = 0; !e && a < t->accs; a++) {
		first[a] = at;
		at += t->kids[a];
		x[a] = ty_tree_acc(t, a).x;
	}
	for (uint32_t a = 1; !e && a < t->accs; a++)
		kid[first[t->up[a]] + t->rank[a]] = a;
	for (uint32_t p = 0; !e && var > 0 && p < t->accs; p++)
		for (uint32_t j = 1; !e && t->base[p] != UINT64_MAX && j < t->kids[p]; j++)
			for (uint32_t i = 0; !e && i < j; i++) {
				uint32_t a = kid[first[p] + i], b = kid[first[p] + j];
				ty_sum xy = t->pair[t->base[p] + (uint64_t)j * (j - 1) / 2 + i];
				if (xy)
					e = cb(arg, a, b, (double)(2 * ty_moment(xy, x[a], x[b], t->n_requests) / var));
			}
	for (size_t i = 0; !e && var > 0 && i < t->pair_slots; i++) {
		const struct ty_pair_slot *s = &t->pair_slot[i];
		if (s->b)
			e = cb(arg, s->a, s->b, (double)(2 * ty_moment(s->xy, x[s->a], x[s->b], t->n_requests) / var));
	}
	free(kid);
	free(first);
	free(x);
	return e;
}

/* SPDX-License-Identifier: MIT
 *
 * Factors: functions, and pairs of siblings, merged over all places where they
 * occur and ranked by how much variance they hold and how near to the wait
 * they are (docs/ARITHMETIC.md).  Runs in readers.  Must stay true: a function
 * under itself is not counted twice; unless all are wanted, one that is but the
 * way to another, and holds hardly more, gives way to it. */
#include "analyze/tree.h"

#include <math.h>

#define LEAST 1e-7 /* pairs below this share each are not worth merging */
#define MOST 0.9   /* of a function's share: held by one function under it, that one says it better */

/* What is known of a name ("same"). */
struct same {
	uint32_t occurrences; /* nodes */
	uint32_t height;      /* most of them */
	uint32_t only;        /* the name of the only child of all of them, TY_NONE: none or several */
	bool seen, chosen;
	size_t places;
};

struct pair { uint32_t a, b; uint32_t na, nb; double share; }; /* names, a <= b; nodes */

struct work {
	const struct ty_tree *t;
	struct same *same; /* [names] */
	uint32_t *inner;   /* [accs] the innermost node with those sums */
	struct pair *pair;
	size_t n, cap;
	struct ty_factors *ret;
	size_t cap_ret;
	double least;
	bool all;
};

static bool is_factor(const struct ty_node *n)
{
	return n->kind != TY_NODE_GONE && n->kind != TY_NODE_CUT && n->kind != TY_NODE_ROOT;
}

static bool outermost(const struct ty_tree *t, size_t node)
{
	for (uint32_t p = t->v[node].parent; p; p = t->v[p].parent)
		if (t->v[p].same == t->v[node].same)
			return false;
	return true;
}

static void look(struct work *w)
{
	const struct ty_tree *t = w->t;
	for (size_t i = 1; i < t->n; i++) {
		const struct ty_node *n = &t->v[i];
		struct same *s = &w->same[n->same];
		uint32_t only = n->kids == 1 ? t->v[n->child].same : TY_NONE;
		if (n->kind == TY_NODE_GONE)
			continue;
		w->inner[n->acc] = (uint32_t)i;
		s->only = !s->seen || s->only == only ? only : TY_NONE;
		s->seen = true;
		s->occurrences++;
		if (n->height > s->height)
			s->height = n->height;
	}
}

/* All its places have one child, the same one, which occurs nowhere else: it says no more than that child. */
static bool gives_way(const struct work *w, uint32_t name)
{
	uint32_t only = w->same[name].only;
	return only != TY_NONE && only != name && w->same[only].occurrences == w->same[name].occurrences;
}

static struct ty_factor *new_factor(struct work *w, uint32_t a, uint32_t b, double share, uint32_t height)
{
	struct ty_factors *f = w->ret;
	if (TY_RESERVE(f->v, w->cap_ret, f->n + 1, (size_t)64))
		return NULL;
	double up = (double)f->height - (double)height, specificity = up * up;
	f->v[f->n] = (struct ty_factor){ .a = a, .b = b, .share = share, .se = NAN, .height = height,
					  .specificity = specificity, .score = specificity * share };
	return &f->v[f->n++];
}

static int functions(struct work *w)
{
	const struct ty_tree *t = w->t;
	double *share = calloc(t->names + 1, sizeof *share);
	if (!share)
		return -ENOMEM;
	for (size_t i = 1; i < t->n; i++)
		if (is_factor(&t->v[i]) && outermost(t, i)) {
			share[t->v[i].same] += t->v[i].share;
			w->same[t->v[i].same].chosen = true;
			w->same[t->v[i].same].places++;
		}
	int e = 0;
	for (uint32_t s = 0; !e && s < t->names; s++)
		if (w->same[s].chosen && share[s] >= w->least && (w->all || !gives_way(w, s)))
			e = new_factor(w, s, TY_NONE, share[s], w->same[s].height) ? 0 : -ENOMEM;
	free(share);
	return e;
}

/* ---- pairs ---- */

static int take_pair(void *arg, uint32_t a, uint32_t b, double share)
{
	struct work *w = arg;
	uint32_t na = w->inner[a], nb = w->inner[b], sa = w->t->v[na].same, sb = w->t->v[nb].same;
	if (fabs(share) < LEAST || !is_factor(&w->t->v[na]) || !is_factor(&w->t->v[nb]))
		return 0;
	if (TY_RESERVE(w->pair, w->cap, w->n + 1, (size_t)256))
		return -ENOMEM;
	w->pair[w->n++] = sa <= sb ? (struct pair){ sa, sb, na, nb, share } : (struct pair){ sb, sa, nb, na, share };
	return 0;
}

static int by_names(const void *p, const void *q)
{
	const struct pair *a = p, *b = q;
	return a->a != b->a ? (a->a < b->a ? -1 : 1) : a->b != b->b ? (a->b < b->b ? -1 : 1) : 0;
}

static int pairs(struct work *w)
{
	int e = ty_tree_each_pair(w->t, take_pair, w);
	if (w->n)
		qsort(w->pair, w->n, sizeof *w->pair, by_names);
	for (size_t i = 0, j; !e && i < w->n; i = j) {
		double sum = 0;
		uint32_t a = w->pair[i].a, b = w->pair[i].b;
		for (j = i; j < w->n && !by_names(&w->pair[i], &w->pair[j]); j++)
			sum += w->pair[j].share;
		uint32_t ha = w->same[a].height, hb = w->same[b].height;
		if (sum >= w->least)
			e = new_factor(w, a, b, sum, ha > hb ? ha : hb) ? 0 : -ENOMEM;
	}
	return e;
}

/* ---- places, errors ---- */

static int by_share(const void *p, const void *q)
{
	const struct ty_place *a = p, *b = q;
	return a->share != b->share ? (a->share > b->share ? -1 : 1) : a->a < b->a ? -1 : a->a > b->a;
}

static int add_places(struct work *w, struct ty_factor *f)
{
	const struct ty_tree *t = w->t;
	size_t cap = 0;
	for (size_t i = 1; f->b == TY_NONE && i < t->n; i++)
		if (t->v[i].same == f->a && is_factor(&t->v[i]) && outermost(t, i)) {
			if (TY_RESERVE(f->place, cap, f->places + 1, (size_t)4))
				return -ENOMEM;
			f->place[f->places++] = (struct ty_place){ (uint32_t)i, TY_NONE, t->v[i].share };
		}
	for (size_t i = 0; f->b != TY_NONE && i < w->n; i++)
		if (w->pair[i].a == f->a && w->pair[i].b == f->b) {
			if (TY_RESERVE(f->place, cap, f->places + 1, (size_t)4))
				return -ENOMEM;
			f->place[f->places++] = (struct ty_place){ w->pair[i].na, w->pair[i].nb, w->pair[i].share };
		}
	qsort(f->place, f->places, sizeof *f->place, by_share);
	/* the errors of several places are not independent; the sum of them is a bound */
	f->se = 0;
	for (size_t i = 0; i < f->places; i++)
		f->se += f->b == TY_NONE ? t->v[f->place[i].a].se
			: ty_tree_pair_error(t, t->v[f->place[i].a].acc, t->v[f->place[i].b].acc);
	return 0;
}

static int by_score(const void *p, const void *q)
{
	const struct ty_factor *a = p, *b = q;
	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	if (a->share != b->share)
		return a->share > b->share ? -1 : 1;
	return a->a != b->a ? (a->a < b->a ? -1 : 1) : a->b < b->b ? -1 : a->b > b->b;
}

static bool under(const struct ty_tree *t, uint32_t node, uint32_t top)
{
	while (node && node != top)
		node = t->v[node].parent;
	return node == top;
}

/* Does one chosen function under f hold nearly all that f holds? */
static bool hardly_more(const struct ty_tree *t, const struct ty_factors *chosen, const struct ty_factor *f)
{
	for (size_t i = 0; i < chosen->n; i++) {
		const struct ty_factor *c = &chosen->v[i];
		double held = 0;
		for (size_t k = 0; c->b == TY_NONE && k < c->places; k++)
			for (size_t j = 0; j < f->places; j++)
				if (under(t, c->place[k].a, f->place[j].a)) {
					held += c->place[k].share;
					break;
				}
		if (held >= MOST * f->share)
			return true;
	}
	return false;
}

/* In order of score; v[0 .. n) afterwards. */
static int choose(struct work *w, size_t k, bool all)
{
	struct ty_factors *f = w->ret;
	size_t n = f->n;
	int e = 0;
	f->n = 0;
	for (size_t i = 0; !e && i < n && f->n < k; i++) {
		struct ty_factor x = f->v[i];
		e = add_places(w, &x);
		if (!e && (all || x.b != TY_NONE || !hardly_more(w->t, f, &x)))
			f->v[f->n++] = x;
		else
			free(x.place);
	}
	return e;
}

int ty_factors(const struct ty_tree *t, size_t k, double d, bool all, struct ty_factors *ret)
{
	struct work w = { .t = t, .ret = ret, .least = d, .all = all };
	memset(ret, 0, sizeof *ret);
	ret->height = t->v[0].height;
	w.same = calloc(t->names + 1, sizeof *w.same);
	w.inner = calloc(t->accs + 1, sizeof *w.inner);
	int e = w.same && w.inner ? 0 : -ENOMEM;
	if (!e) {
		look(&w);
		e = functions(&w);
	}
	if (!e)
		e = pairs(&w);
	if (!e && ret->n)
		qsort(ret->v, ret->n, sizeof *ret->v, by_score);
	if (!e)
		e = choose(&w, k, all);
	else
		ret->n = 0;
	free(w.same);
	free(w.inner);
	free(w.pair);
	return e;
}

void ty_factors_free(struct ty_factors *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->v[i].place);
	free(f->v);
	memset(f, 0, sizeof *f);
}

/* SPDX-License-Identifier: MIT
 *
 * Which sums the variance tree has: of every node its time and square, of every
 * two siblings their product (tree_gather.c adds them up).  Runs in readers.
 * Must stay true: nodes that are the same number share their sums; memory is
 * for nodes and for siblings that were seen together. */
#include "analyze/tree.h"

#include <math.h>

#define TABLE_PAIRS ((uint64_t)24 << 20) /* all tables together; untouched pages cost nothing */

/* ---- which nodes have sums of their own ---- */

static bool live(const struct ty_tree *t, size_t i)
{
	return t->v[i].kind != TY_NODE_GONE;
}

/* From the leaves: a node with one child is the same number as that child. */
static void give_accs(struct ty_tree *t)
{
	uint32_t next = 1;
	t->v[0].acc = 0;
	for (size_t i = t->n - 1; i > 0; i--)
		if (live(t, i))
			t->v[i].acc = t->v[i].kids == 1 ? t->v[t->v[i].child].acc : next++;
	t->accs = next;
}

static int lay_out(struct ty_tree *t)
{
	give_accs(t);
	t->up = calloc(t->accs, sizeof *t->up);
	t->rank = calloc(t->accs, sizeof *t->rank);
	t->kids = calloc(t->accs, sizeof *t->kids);
	t->top = calloc(t->accs, sizeof *t->top);
	t->base = calloc(t->accs, sizeof *t->base);
	if (!t->up || !t->rank || !t->kids || !t->top || !t->base)
		return -ENOMEM;
	t->up[0] = TY_NONE;
	for (size_t i = 1; i < t->n; i++) {
		uint32_t a = t->v[i].acc, p = t->v[t->v[i].parent].acc;
		if (!live(t, i) || a == p) /* folded; or its parent has the same sums */
			continue;
		t->up[a] = p;
		t->rank[a] = t->kids[p]++;
		t->top[a] = (uint32_t)i;
	}
	for (size_t a = 0; a < t->accs; a++) {
		uint64_t k = t->kids[a], pairs = k * (k - (k > 0)) / 2;
		t->base[a] = k <= TY_TABLE_KIDS && t->pairs + pairs <= TABLE_PAIRS ? t->pairs : UINT64_MAX;
		t->pairs += t->base[a] == UINT64_MAX ? 0 : pairs;
	}
	t->pair = calloc(t->pairs + 1, sizeof *t->pair);
	for (size_t i = 1; i < t->n; i++)
		if (t->v[i].kind == TY_NODE_RUNNING)
			t->running = t->v[i].acc;
	return t->pair ? 0 : -ENOMEM;
}

/* ---- products of siblings ---- */

static uint64_t in_table(const struct ty_tree *t, uint32_t a, uint32_t b)
{
	uint64_t i = t->rank[a], j = t->rank[b];
	return t->base[t->up[a]] + (i < j ? j * (j - 1) / 2 + i : i * (i - 1) / 2 + j);
}

static size_t find_pair(const struct ty_pair_slot *v, size_t slots, uint32_t a, uint32_t b)
{
	size_t k = (size_t)ty_mix((uint64_t)a << 32 | b) & (slots - 1);
	while (v[k].b && !(v[k].a == a && v[k].b == b))
		k = (k + 1) & (slots - 1);
	return k;
}

static int grow_pairs(struct ty_tree *t)
{
	size_t slots = t->pair_slots ? t->pair_slots * 2 : 4096;
	struct ty_pair_slot *v = calloc(slots, sizeof *v);
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < t->pair_slots; i++)
		if (t->pair_slot[i].b)
			v[find_pair(v, slots, t->pair_slot[i].a, t->pair_slot[i].b)] = t->pair_slot[i];
	free(t->pair_slot);
	t->pair_slot = v;
	t->pair_slots = slots;
	return 0;
}

int ty_tree_add_product(struct ty_tree *t, uint32_t a, uint32_t b, ty_sum xy)
{
	if ((t->pair_used + 1) * 2 > t->pair_slots && grow_pairs(t))
		return -ENOMEM;
	struct ty_pair_slot *p = &t->pair_slot[find_pair(t->pair_slot, t->pair_slots, a < b ? a : b, a < b ? b : a)];
	t->pair_used += !p->b;
	p->a = a < b ? a : b;
	p->b = a < b ? b : a;
	p->xy += xy;
	return 0;
}

ty_sum ty_tree_products(const struct ty_tree *t, uint32_t a, uint32_t b)
{
	if (t->base[t->up[a]] != UINT64_MAX)
		return t->pair[in_table(t, a, b)];
	if (!t->pair_slots)
		return 0;
	return t->pair_slot[find_pair(t->pair_slot, t->pair_slots, a < b ? a : b, a < b ? b : a)].xy;
}

int ty_tree_sums(struct ty_tree *t, struct ty_ledger *rows, char *err)
{
	struct ty_blocks blocks = { 0 };
	int e = lay_out(t);
	if (!e)
		e = ty_blocks_make(&blocks, rows, t->accs);
	for (size_t i = 0; !e && i < t->nleaf; i++) /* from nodes to sums */
		t->leaf[i] = t->leaf[i] ? t->v[t->leaf[i] - 1].acc + 1 : 0;
	t->blocks = blocks.n;
	t->widen = blocks.widen;
	t->n_requests = rows->n;
	t->acc = e ? NULL : calloc((size_t)t->blocks * t->accs, sizeof *t->acc);
	if (!e)
		e = t->acc ? ty_tree_gather(t, rows, &blocks) : -ENOMEM;
	free(blocks.of);
	return e ? ty_err(err, e, "adding up the tree: %s", strerror(-e)) : 0;
}

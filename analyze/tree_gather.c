/* SPDX-License-Identifier: MIT
 *
 * Adds up the sums of the variance tree over requests.  Runs in readers.  Must
 * stay true: all sums are whole numbers in 128 bits, so nothing is rounded
 * before the end.
 *
 * A request that waits at a hundred of two thousand sites has five thousand
 * pairs, all over a table of 32 MB.  So products are not added request by
 * request: times are gathered from many requests, and then added node by node,
 * while that node's row of the table is near.  Where 64 bits hold whatever the
 * sum of a batch can come to, it is added up in them first: half the memory
 * and half the arithmetic for each product. */
#include "analyze/tree.h"

#define BATCH ((size_t)1 << 18) /* times of nodes */

struct times { int64_t x; uint32_t acc, group; }; /* of one node in one request */

struct gather {
	struct ty_tree *t;
	int64_t *x;        /* [accs] of the request in hand */
	uint32_t *touched, *head, *next; /* [accs] head: first touched child + 1, where pairs are hashed */
	uint32_t *group;   /* [accs] of the request in hand + 1 */
	size_t n;
	/* the batch; a group is the touched children of one node in one request */
	struct times *v, *sorted;
	int64_t *item_x;   /* [groups' starts] times of a group so far, and */
	uint16_t *item;    /* whose: rank */
	uint64_t most;     /* the largest time in the batch */
	uint64_t *near;    /* [TY_TABLE_KIDS] row of the node in hand, 0 between nodes */
	uint32_t *size, *start, *filled; /* [groups] */
	size_t len, cap, groups;
	uint32_t *bucket;  /* [accs + 1] */
};

static void add_up(struct gather *g, uint32_t a, int64_t x)
{
	const uint32_t *up = g->t->up;
	for (; a != TY_NONE; a = up[a]) {
		if (!g->x[a])
			g->touched[g->n++] = a;
		g->x[a] += x;
	}
}

/* By acc, the last first: brothers then come by rising rank. */
static void sort_batch(struct gather *g)
{
	size_t accs = g->t->accs;
	uint32_t at = 0;
	memset(g->bucket, 0, (accs + 1) * sizeof *g->bucket);
	for (size_t i = 0; i < g->len; i++)
		g->bucket[accs - g->v[i].acc]++;
	for (size_t a = 0; a <= accs; a++) {
		uint32_t k = g->bucket[a];
		g->bucket[a] = at;
		at += k;
	}
	for (size_t i = 0; i < g->len; i++)
		g->sorted[g->bucket[accs - g->v[i].acc]++] = g->v[i];
}

/* How the products of s[0..n), the times of one node, with their brothers before it are added. */
static bool in_64_bits(const struct gather *g, const struct times *s, size_t n, uint64_t rank)
{
	uint64_t sum = 0, bound, products = 0;
	for (size_t i = 0; i < n; i++) {
		if (__builtin_add_overflow(sum, (uint64_t)s[i].x, &sum))
			return false;
		products += g->filled[s[i].group];
	}
	/* one below 0, which no run should have, is a large one here */
	return products > rank && g->most <= INT64_MAX && !__builtin_mul_overflow(sum, g->most, &bound);
}

static void one_node(struct gather *g, const struct times *s, size_t n)
{
	const struct ty_tree *t = g->t;
	uint64_t rank = t->rank[s->acc];
	ty_sum *row = t->pair + t->base[t->up[s->acc]] + rank * (rank - (rank > 0)) / 2;
	bool near = in_64_bits(g, s, n, rank);
	for (size_t i = 0; i < n; i++) {
		uint64_t x = (uint64_t)s[i].x;
		int64_t *with = g->item_x + g->start[s[i].group];
		uint16_t *of = g->item + g->start[s[i].group];
		uint32_t k = 0, filled = g->filled[s[i].group]++;
		if (near)
			for (; k < filled; k++)
				g->near[of[k]] += x * (uint64_t)with[k];
		for (; k < filled; k++)
			row[of[k]] += (ty_sum)s[i].x * with[k];
		with[k] = s[i].x;
		of[k] = (uint16_t)rank;
	}
	for (uint64_t k = 0; near && k < rank; k++) {
		row[k] += g->near[k];
		g->near[k] = 0;
	}
}

static void flush(struct gather *g)
{
	uint32_t at = 0;
	for (size_t k = 0; k < g->groups; k++) {
		g->start[k] = at;
		at += g->size[k];
		g->filled[k] = 0;
	}
	sort_batch(g);
	for (size_t i = 0, next; i < g->len; i = next) {
		for (next = i + 1; next < g->len && g->sorted[next].acc == g->sorted[i].acc; next++)
			;
		one_node(g, g->sorted + i, next - i);
	}
	g->len = g->groups = 0;
	g->most = 0;
}

static void batch_one(struct gather *g, uint32_t a, uint32_t p)
{
	if (!g->group[p]) {
		g->size[g->groups] = 0;
		g->group[p] = (uint32_t)++g->groups;
	}
	g->size[g->group[p] - 1]++;
	g->most = (uint64_t)g->x[a] > g->most ? (uint64_t)g->x[a] : g->most;
	g->v[g->len++] = (struct times){ g->x[a], a, g->group[p] - 1 };
}

static int hash_one(struct gather *g, uint32_t a, uint32_t p)
{
	int e = 0;
	for (uint32_t s = g->head[p]; s && !e; s = g->next[s - 1])
		e = ty_tree_add_product(g->t, a, s - 1, (ty_sum)g->x[a] * g->x[s - 1]);
	g->next[a] = g->head[p];
	g->head[p] = a + 1;
	return e;
}

static int one_request(struct gather *g, uint32_t block)
{
	struct ty_tree *t = g->t;
	struct ty_acc *acc = t->acc + (size_t)block * t->accs;
	int e = 0;
	if (g->len + g->n > g->cap)
		flush(g);
	for (size_t i = 0; i < g->n && !e; i++) {
		uint32_t a = g->touched[i], p = t->up[a];
		acc[a].x += g->x[a];
		acc[a].xx += (ty_sum)g->x[a] * g->x[a];
		if (p == TY_NONE)
			continue;
		if (t->base[p] != UINT64_MAX)
			batch_one(g, a, p);
		else
			e = hash_one(g, a, p);
	}
	for (size_t i = 0; i < g->n; i++) {
		uint32_t a = g->touched[i];
		g->x[a] = 0;
		g->head[a] = g->group[a] = 0;
	}
	g->n = 0;
	return e;
}

static int all_requests(struct gather *g, struct ty_ledger *rows, const struct ty_blocks *blocks)
{
	struct ty_tree *t = g->t;
	const struct ty_row *row;
	const uint32_t *site;
	const uint64_t *ns;
	size_t i = 0;
	int e = ty_ledger_rewind(rows);
	while (!e && (e = ty_ledger_next(rows, &row, &site, &ns)) == 1) {
		uint64_t rest = row->latency;
		for (uint32_t j = 0; j < row->n; j++) {
			rest -= ns[j];
			if (t->leaf[site[j]] && ns[j])
				add_up(g, t->leaf[site[j]] - 1, (int64_t)ns[j]);
		}
		if (t->running && rest)
			add_up(g, t->running, (int64_t)rest);
		e = one_request(g, blocks->of[i++]);
		if (t->progress && i % 4096 == 0)
			t->progress(t->progress_arg, (double)i / (double)rows->n);
	}
	if (!e)
		flush(g);
	return e;
}

int ty_tree_gather(struct ty_tree *t, struct ty_ledger *rows, const struct ty_blocks *blocks)
{
	struct gather g = { .t = t, .cap = BATCH + t->accs };
	g.x = calloc(t->accs, sizeof *g.x);
	g.touched = calloc(t->accs, sizeof *g.touched);
	g.head = calloc(t->accs, sizeof *g.head);
	g.next = calloc(t->accs, sizeof *g.next);
	g.group = calloc(t->accs, sizeof *g.group);
	g.bucket = calloc(t->accs + 1, sizeof *g.bucket);
	g.v = calloc(g.cap, sizeof *g.v);
	g.sorted = calloc(g.cap, sizeof *g.sorted);
	g.item_x = calloc(g.cap, sizeof *g.item_x);
	g.item = calloc(g.cap, sizeof *g.item);
	g.near = calloc(TY_TABLE_KIDS, sizeof *g.near);
	g.size = calloc(g.cap, sizeof *g.size);
	g.start = calloc(g.cap, sizeof *g.start);
	g.filled = calloc(g.cap, sizeof *g.filled);
	bool ok = g.x && g.touched && g.head && g.next && g.group && g.bucket && g.v && g.sorted && g.item_x && g.item &&
		  g.near && g.size && g.start && g.filled;
	int e = ok ? all_requests(&g, rows, blocks) : -ENOMEM;
	free(g.x);
	free(g.touched);
	free(g.head);
	free(g.next);
	free(g.group);
	free(g.bucket);
	free(g.v);
	free(g.sorted);
	free(g.item_x);
	free(g.item);
	free(g.near);
	free(g.size);
	free(g.start);
	free(g.filled);
	return e;
}

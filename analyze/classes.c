/* SPDX-License-Identifier: MIT
 *
 * Latency by class of request, and the exact split of its variance: that
 * between classes is different work, that within them is what the same work
 * takes more or less of.  Runs in readers, as a part of the pass over requests.
 * Must stay true: requests without a class are one class of their own, so that
 * both parts add up to the variance of all. */
#include "analyze/run.h"

#include "analyze/quantile.h"
#include "analyze/radix.h"

struct group { uint64_t n, at; long double sum; };

static size_t group_of(const struct ty_ledger *rows, size_t i, size_t groups)
{
	return rows->v[i].cls < groups - 1 ? rows->v[i].cls : groups - 1;
}

/* The last group is of those with none, or a number that no recording gives. */
static struct group *count(const struct ty_ledger *rows, size_t *groups)
{
	size_t most = 0;
	for (size_t i = 0; i < rows->n; i++)
		if (rows->v[i].cls < rows->n + 65536 && rows->v[i].cls + 1u > most)
			most = rows->v[i].cls + 1u;
	*groups = most + 1;
	struct group *g = calloc(*groups, sizeof *g);
	for (size_t i = 0; g && i < rows->n; i++) {
		struct group *k = &g[group_of(rows, i, *groups)];
		k->n++;
		k->sum += (long double)rows->v[i].latency;
	}
	uint64_t at = 0;
	for (size_t k = 0; g && k < *groups; k++) {
		g[k].at = at;
		at += g[k].n;
	}
	return g;
}

/* One class from its latencies, which are sorted on the way. */
static int add(struct ty_result *res, uint32_t label, uint64_t *latency, const struct group *g, long double total)
{
	long double mean = g->sum / (long double)g->n, ll = 0;
	if (ty_radix_sort(latency, NULL, g->n))
		return -ENOMEM;
	for (uint64_t i = 0; i < g->n; i++) {
		long double d = (long double)latency[i] - mean;
		ll += d * d;
	}
	long double off = mean - (long double)res->mean;
	res->cls[res->ncls++] = (struct ty_class_stat){
		.label = label, .count = g->n, .p99 = latency[ty_quantile_at(g->n, 0.99)], .mean = (double)mean,
		.var = (double)(ll / (long double)g->n), .time = total > 0 ? (double)(g->sum / total) : 0,
	};
	res->var_within += (double)(ll / (long double)res->n);
	res->var_between += (double)((long double)g->n * off * off / (long double)res->n);
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct ty_class_stat *x = a, *y = b;
	if (x->time > y->time || x->time < y->time)
		return x->time > y->time ? -1 : 1;
	return x->label < y->label ? -1 : x->label > y->label;
}

int ty_classes(const struct ty_ledger *rows, struct ty_result *res)
{
	size_t groups;
	struct group *g = count(rows, &groups);
	uint64_t *latency = calloc(rows->n + 1, sizeof *latency);
	uint64_t *end = g ? calloc(groups, sizeof *end) : NULL;
	res->cls = g ? calloc(groups, sizeof *res->cls) : NULL;
	int e = g && latency && end && res->cls ? 0 : -ENOMEM;
	bool any = !e && g[groups - 1].n < rows->n;
	long double total = 0;
	for (size_t i = 0; any && i < rows->n; i++) {
		size_t k = group_of(rows, i, groups);
		latency[g[k].at + end[k]++] = rows->v[i].latency;
		total += (long double)rows->v[i].latency;
	}
	for (size_t k = 0; any && !e && k < groups; k++)
		if (g[k].n)
			e = add(res, k < groups - 1 ? (uint32_t)k : TY_NONE, latency + g[k].at, &g[k], total);
	if (any && !e)
		qsort(res->cls, res->ncls, sizeof *res->cls, by_time);
	free(g);
	free(latency);
	free(end);
	return e;
}

/* SPDX-License-Identifier: MIT
 *
 * One side's metrics, whole and by block, and the verdict over two sides (see
 * compare.h).  Runs in readers.  Must stay true: no change is called one that
 * the base's own variation explains. */
#include "analyze/compare.h"

#include <math.h>

#include "analyze/quantile.h"
#include "analyze/radix.h"

#define WIDEN 1.0679 /* Student's t for 19 degrees of freedom over the normal quantile, at 97.5 % */

static const struct {
	const char *name;
	double q;
} metrics[TY_M_COUNT] = {
	[TY_M_MEAN] = { "mean", 0 },  [TY_M_SD] = { "sd", 0 },      [TY_M_P50] = { "p50", 0.5 },
	[TY_M_P95] = { "p95", 0.95 }, [TY_M_P99] = { "p99", 0.99 }, [TY_M_MAX] = { "max", 1 },
	[TY_M_RMS] = { "rms", 0 },
};

const char *ty_metric_name(enum ty_metric_id m)
{
	return metrics[m].name;
}

static const struct {
	const char *name, *words, *meaning;
} verdicts[] = {
	[TY_V_SAME] = { "same", "same", "within the tolerance, or within 3 standard errors" },
	[TY_V_BETTER] = { "better", "better", "less, by more than the tolerance and 3 standard errors" },
	[TY_V_WORSE] = { "worse", "WORSE", "more, by more than the tolerance and 3 standard errors" },
	[TY_V_FEW] = { "few", "- too few", "not judged: fewer than 100 counts (of p99: beyond it) or 40 requests on a side" },
	[TY_V_VARIES] = { "varies", "- base varies",
			  "not judged: by more than 10 % in the base, and the change is within 6 times the variation" },
	[TY_V_SMALL] = { "small", "- small", "not judged: under 1 % of the base's mean latency on both sides" },
	[TY_V_ONE_SIDE] = { "one_side", "- one side only", "not judged: nothing on one side, so there is no ratio" },
};

const char *ty_verdict_name(enum ty_verdict v)
{
	return verdicts[v].name;
}

const char *ty_verdict_words(enum ty_verdict v)
{
	return verdicts[v].words;
}

const char *ty_verdict_meaning(enum ty_verdict v)
{
	return verdicts[v].meaning;
}

/* ---- a side ---- */

/* Latencies of one block, or of all. */
static int measure_latency(const uint64_t *latency, size_t n, double ret[TY_M_COUNT])
{
	uint64_t *l = malloc((n + 1) * sizeof *l);
	long double sum = 0, sq = 0, dev = 0;
	if (!l)
		return -ENOMEM;
	memcpy(l, latency, n * sizeof *l);
	int e = ty_radix_sort(l, NULL, n);
	for (size_t i = 0; i < n; i++) {
		sum += l[i];
		sq += (long double)l[i] * l[i];
	}
	for (size_t i = 0; n && i < n; i++)
		dev += (l[i] - sum / n) * (l[i] - sum / n);
	for (unsigned m = 0; !e && n && m < TY_M_COUNT; m++)
		ret[m] = (double)l[ty_quantile_at(n, metrics[m].q)];
	if (n) {
		ret[TY_M_MEAN] = (double)(sum / n);
		ret[TY_M_SD] = (double)sqrtl(dev / n);
		ret[TY_M_RMS] = (double)sqrtl(sq / n);
	}
	free(l);
	return e;
}

/* Coefficient of variation and standard error from the blocks. */
static void from_blocks(struct ty_measure *m, bool blocks)
{
	double mean = 0, sq = 0;
	m->cv = m->se = NAN;
	if (!blocks)
		return;
	for (unsigned b = 0; b < TY_SIDE_BLOCKS; b++)
		mean += m->block[b] / TY_SIDE_BLOCKS;
	for (unsigned b = 0; b < TY_SIDE_BLOCKS; b++)
		sq += (m->block[b] - mean) * (m->block[b] - mean);
	double sd = sqrt(sq / (TY_SIDE_BLOCKS - 1));
	m->cv = mean > 0 ? sd / mean : NAN;
	m->se = WIDEN * sd / sqrt(TY_SIDE_BLOCKS);
}

static int take_latency(struct ty_side *s, const uint64_t *latency)
{
	double all[TY_M_COUNT] = { 0 }, of[TY_M_COUNT];
	size_t n = s->n;
	int e = measure_latency(latency, n, all);
	for (size_t b = 0; !e && s->blocks && b < TY_SIDE_BLOCKS; b++) {
		size_t from = (b * n + TY_SIDE_BLOCKS - 1) / TY_SIDE_BLOCKS;
		size_t to = ((b + 1) * n + TY_SIDE_BLOCKS - 1) / TY_SIDE_BLOCKS;
		e = measure_latency(latency + from, to - from, of);
		for (unsigned m = 0; m < TY_M_COUNT; m++)
			s->latency[m].block[b] = of[m];
	}
	for (unsigned m = 0; m < TY_M_COUNT; m++) {
		s->latency[m].value = all[m];
		/* of a quantile: what lies beyond it */
		s->latency[m].counts = m == TY_M_MAX ? 1 : (uint64_t)((double)n * (1 - metrics[m].q) + 1e-9);
		from_blocks(&s->latency[m], s->blocks);
	}
	return e;
}

static int take_sites(struct ty_side *s, struct ty_ledger *rows, size_t nsites, const uint64_t *waits,
		      const uint8_t *block, const uint64_t *in_block)
{
	const struct ty_row *row;
	const uint32_t *site;
	const uint64_t *ns;
	size_t at = 0;
	int e = ty_ledger_rewind(rows);
	while (!e && (e = ty_ledger_next(rows, &row, &site, &ns)) == 1) {
		unsigned b = block[at++];
		uint64_t rest = row->latency;
		for (uint32_t i = 0; i < row->n; i++) {
			s->site[site[i]].block[b] += (double)ns[i];
			rest -= ns[i];
		}
		s->site[nsites].block[b] += (double)(int64_t)rest;
		e = 0;
	}
	for (size_t i = 0; i <= nsites; i++) {
		struct ty_measure *m = &s->site[i];
		for (unsigned b = 0; b < TY_SIDE_BLOCKS; b++) {
			m->value += m->block[b] / (double)s->n;
			m->block[b] /= in_block[b] ? (double)in_block[b] : 1;
		}
		m->counts = i < nsites ? waits[i] : s->n;
		from_blocks(m, s->blocks);
	}
	return e;
}

/* Requests in order of their ends: their latencies, and the block of each row. */
static int in_order(const struct ty_ledger *rows, uint64_t *latency, uint8_t *block, uint64_t *in_block)
{
	size_t n = rows->n;
	uint64_t *end = malloc((n + 1) * sizeof *end);
	uint32_t *row = malloc((n + 1) * sizeof *row);
	int e = end && row ? 0 : -ENOMEM;
	for (size_t i = 0; !e && i < n; i++) {
		end[i] = rows->v[i].end;
		row[i] = (uint32_t)i;
	}
	if (!e)
		e = ty_radix_sort(end, row, n);
	for (size_t i = 0; !e && i < n; i++) {
		unsigned b = (unsigned)(i * TY_SIDE_BLOCKS / n);
		latency[i] = rows->v[row[i]].latency;
		block[row[i]] = (uint8_t)b;
		in_block[b]++;
	}
	free(end);
	free(row);
	return e;
}

int ty_side_take(struct ty_side *s, struct ty_ledger *rows, size_t nsites, const uint64_t *waits)
{
	memset(s, 0, sizeof *s);
	s->n = rows->n;
	s->blocks = rows->n >= 2 * TY_SIDE_BLOCKS;
	s->site = calloc(nsites + 1, sizeof *s->site);
	uint64_t *latency = malloc((rows->n + 1) * sizeof *latency), in_block[TY_SIDE_BLOCKS] = { 0 };
	uint8_t *block = malloc(rows->n + 1);
	int e = s->site && latency && block ? in_order(rows, latency, block, in_block) : -ENOMEM;
	if (!e && rows->n)
		e = take_latency(s, latency);
	if (!e && rows->n)
		e = take_sites(s, rows, nsites, waits, block, in_block);
	if (!e)
		e = ty_variance(rows, nsites, 0.99, &s->res);
	free(latency);
	free(block);
	return e;
}

void ty_side_free(struct ty_side *s)
{
	free(s->site);
	ty_result_free(&s->res);
	memset(s, 0, sizeof *s);
}

/* ---- both ---- */

/* The larger value beyond the smaller one, as part of that: the same for a factor up and down. */
static bool beyond_variation(const struct ty_metric *m, double limit)
{
	bool up = m->now.value > m->base.value;
	const struct ty_measure *lo = up ? &m->base : &m->now, *hi = up ? &m->now : &m->base;
	double size = hi->value / lo->value - 1;
	double se = hypot(hi->se / lo->value, hi->value * lo->se / (lo->value * lo->value));
	return size > limit && size > 3 * se;
}

static enum ty_verdict judge(struct ty_metric *m, double floor, double least)
{
	const struct ty_measure *a = &m->base, *b = &m->now;
	m->change = m->change_se = m->tolerance = NAN;
	if (!(a->value > 0) && !(b->value > 0)) {
		m->change = 0;
		return a->counts < TY_SIDE_COUNTS || b->counts < TY_SIDE_COUNTS ? TY_V_FEW : TY_V_SAME;
	}
	if (!(a->value > 0) || !(b->value > 0))
		return TY_V_ONE_SIDE;
	m->change = b->value / a->value - 1;
	m->change_se = hypot(b->se / a->value, b->value * a->se / (a->value * a->value));
	m->tolerance = fmax(floor, 3 * a->cv);
	if (a->counts < TY_SIDE_COUNTS || b->counts < TY_SIDE_COUNTS || isnan(a->cv) || isnan(b->cv))
		return TY_V_FEW;
	if (a->value < least && b->value < least)
		return TY_V_SMALL;
	if (a->cv > TY_SIDE_CV) {
		double limit = fmax(floor, TY_SIDE_EXPLAINED * fmax(a->cv, b->cv));
		m->tolerance = b->value > a->value ? limit : limit / (1 + limit); /* of the base's value */
		if (!beyond_variation(m, limit))
			return TY_V_VARIES;
		return b->value > a->value ? TY_V_WORSE : TY_V_BETTER;
	}
	if (fabs(m->change) <= m->tolerance || fabs(m->change) <= 3 * m->change_se)
		return TY_V_SAME;
	return m->change > 0 ? TY_V_WORSE : TY_V_BETTER;
}

static void count(struct ty_compared *c, const struct ty_metric *m)
{
	c->judged += m->verdict <= TY_V_WORSE;
	c->worse += m->verdict == TY_V_WORSE;
	c->better += m->verdict == TY_V_BETTER;
}

static int by_difference(const void *p, const void *q, void *arg)
{
	const struct ty_metric *m = arg, *a = &m[*(const uint32_t *)p], *b = &m[*(const uint32_t *)q];
	double x = fabs(a->now.value - a->base.value), y = fabs(b->now.value - b->base.value);
	if (x != y)
		return x > y ? -1 : 1;
	if (a->base.value != b->base.value)
		return a->base.value > b->base.value ? -1 : 1;
	return a < b ? -1 : a > b;
}

int ty_compare(struct ty_compared *c, const struct ty_side *base, const struct ty_side *now, size_t nsites,
	       double floor)
{
	memset(c, 0, sizeof *c);
	c->nsites = nsites;
	c->site = calloc(nsites + 1, sizeof *c->site);
	c->rank = calloc(nsites + 1, sizeof *c->rank);
	if (!c->site || !c->rank) {
		ty_compared_free(c);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < TY_M_COUNT; i++) {
		struct ty_metric *m = &c->latency[i];
		m->base = base->latency[i];
		m->now = now->latency[i];
		m->verdict = judge(m, floor, 0);
		count(c, m);
	}
	double least = TY_SIDE_LEAST * base->latency[TY_M_MEAN].value;
	for (uint32_t i = 0; i <= nsites; i++) {
		struct ty_metric *m = &c->site[i];
		m->base = base->site[i];
		m->now = now->site[i];
		m->verdict = judge(m, floor, least);
		if (!(m->base.value > 0) && !(m->now.value > 0))
			continue;
		count(c, m);
		c->rank[c->nrank++] = i;
	}
	qsort_r(c->rank, c->nrank, sizeof *c->rank, by_difference, c->site);
	return 0;
}

void ty_compared_free(struct ty_compared *c)
{
	free(c->site);
	free(c->rank);
	memset(c, 0, sizeof *c);
}

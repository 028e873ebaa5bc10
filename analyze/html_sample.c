/* SPDX-License-Identifier: MIT
 *
 * Which requests the page shows one by one, and their times by site.  Runs in
 * readers.  Must stay true: memory is 12 bytes a request plus the sample's, at
 * most 4000 requests and 26 rows; the slowest are all there, of the others
 * every k-th by latency. */
#include <math.h>
#include <stdio.h>

#include "analyze/html.h"
#include "analyze/json.h"
#include "analyze/names.h"
#include "analyze/quantile.h"
#include "analyze/radix.h"

#define BINS 64

/* ---- latency ---- */

static size_t first_from(const uint64_t *sorted, size_t n, double from)
{
	size_t lo = 0, hi = n;
	while (lo < hi) {
		size_t m = (lo + hi) / 2;
		if ((double)sorted[m] < from)
			lo = m + 1;
		else
			hi = m;
	}
	return lo;
}

/* Bins of equal width on a logarithmic axis, from the fastest request to the slowest. */
static json_t *histogram(const uint64_t *sorted, size_t n)
{
	json_t *o = json_object(), *edges = json_array(), *counts = json_array();
	double lo = sorted[0] ? (double)sorted[0] : 1, hi = (double)sorted[n - 1];
	unsigned bins = hi > lo ? BINS : 1;
	double step = bins > 1 ? pow(hi / lo, 1.0 / bins) : 1;
	size_t before = 0;
	json_array_append_new(edges, ty_json_real(lo));
	for (unsigned i = 1; i <= bins; i++) {
		double edge = i == bins ? hi : lo * pow(step, i);
		size_t at = i == bins ? n : first_from(sorted, n, edge);
		json_array_append_new(edges, ty_json_real(edge));
		json_array_append_new(counts, ty_json_integer(at - before));
		before = at;
	}
	ty_json_set(o, "edges_ns", edges);
	ty_json_set(o, "counts", counts);
	return o;
}

static json_t *quantile(const uint64_t *sorted, size_t n, double q)
{
	json_t *pair = json_array();
	json_array_append_new(pair, ty_json_real(q));
	json_array_append_new(pair, ty_json_integer(sorted[ty_quantile_at(n, q)]));
	return pair;
}

/* Ever closer to 1, as far as there are requests to tell. */
static json_t *quantiles(const uint64_t *sorted, size_t n)
{
	json_t *a = json_array();
	json_array_append_new(a, quantile(sorted, n, 0));
	for (double rest = 1; rest * (double)n >= 1; rest /= 10)
		for (unsigned i = rest < 1 ? 1 : 2; i <= 90; i += rest < 1 ? 3 : 2)
			if (rest * (double)n * (1 - i / 100.0) >= 1)
				json_array_append_new(a, quantile(sorted, n, 1 - rest * (1 - i / 100.0)));
	json_array_append_new(a, quantile(sorted, n, 1));
	return a;
}

static uint64_t *latencies(const struct ty_ledger *rows, uint32_t *row)
{
	uint64_t *l = malloc((rows->n + 1) * sizeof *l);
	for (size_t i = 0; l && i < rows->n; i++) {
		l[i] = rows->v[i].latency;
		if (row)
			row[i] = (uint32_t)i;
	}
	if (l && ty_radix_sort(l, row, rows->n)) {
		free(l);
		l = NULL;
	}
	return l;
}

json_t *ty_html_latency(const struct ty_ledger *rows)
{
	uint64_t *l = latencies(rows, NULL);
	json_t *o = l ? json_object() : NULL;
	if (o) {
		ty_json_set(o, "histogram", histogram(l, rows->n));
		ty_json_set(o, "quantiles", quantiles(l, rows->n));
	}
	free(l);
	return o;
}

/* ---- the sample ---- */

struct column { uint32_t row, rank; uint64_t latency; };

struct sample {
	struct column *col;  /* by latency */
	size_t n, whole, others; /* n = whole + others */
	uint32_t *at;        /* by row: col + 1 of rows that are in the sample, in order of rows */
	uint32_t *line;      /* by site: its line + 1, 0: the line of what is left */
	uint32_t *site;      /* [lines - 1] */
	size_t lines;        /* the last is what is left */
	uint64_t *ns, *waits; /* [line * n + col] */
};

static int by_row(const void *a, const void *b, void *arg)
{
	const struct column *c = arg;
	uint32_t x = c[*(const uint32_t *)a].row, y = c[*(const uint32_t *)b].row;
	return x < y ? -1 : x > y;
}

static int choose_requests(struct sample *s, const struct ty_ledger *rows)
{
	size_t n = rows->n;
	if (n > UINT32_MAX)
		return -EFBIG;
	s->whole = n < TY_HTML_WHOLE ? n : TY_HTML_WHOLE;
	s->others = n - s->whole < TY_HTML_SAMPLE ? n - s->whole : TY_HTML_SAMPLE;
	s->n = s->whole + s->others;
	uint32_t *row = malloc((n + 1) * sizeof *row);
	uint64_t *l = row ? latencies(rows, row) : NULL;
	s->col = calloc(s->n + 1, sizeof *s->col);
	s->at = calloc(s->n + 1, sizeof *s->at);
	bool ok = l && s->col && s->at;
	for (size_t i = 0; ok && i < s->n; i++) {
		size_t rest = n - s->whole;
		/* the middle of each of equal parts */
		size_t rank = i < s->others ? (size_t)(((double)i + 0.5) * (double)rest / (double)s->others)
					    : rest + (i - s->others);
		s->col[i] = (struct column){ .row = row[rank], .rank = (uint32_t)rank, .latency = l[rank] };
		s->at[i] = (uint32_t)i;
	}
	if (ok)
		qsort_r(s->at, s->n, sizeof *s->at, by_row, s->col);
	free(row);
	free(l);
	return ok ? 0 : -ENOMEM;
}

double ty_html_weight(const struct run *r, uint32_t site)
{
	const struct ty_share *h = &r->res.site[site];
	double time = r->res.mean > 0 ? h->mean / r->res.mean : 0, share = r->res.valid ? fabs(h->share) : 0;
	return share > time ? share : time;
}

static int by_weight(const void *a, const void *b, void *arg)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	double p = ty_html_weight(arg, x), q = ty_html_weight(arg, y);
	return p != q ? (p > q ? -1 : 1) : x < y ? -1 : x > y;
}

static int choose_sites(struct sample *s, struct run *r)
{
	size_t n = 0;
	uint32_t *all = malloc((r->sites.n + 1) * sizeof *all);
	s->line = calloc(r->sites.n + 1, sizeof *s->line);
	s->site = calloc(TY_HTML_SITES + 1, sizeof *s->site);
	if (!all || !s->line || !s->site) {
		free(all);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < r->sites.n; i++)
		if (r->res.site[i].mean > 0)
			all[n++] = i;
	qsort_r(all, n, sizeof *all, by_weight, r);
	for (size_t i = 0; i < n && i < TY_HTML_SITES; i++) {
		s->site[i] = all[i];
		s->line[all[i]] = (uint32_t)++s->lines;
	}
	s->lines++;
	free(all);
	return 0;
}

/* Times or numbers of waits of the chosen rows. */
static int fill(struct sample *s, struct ty_ledger *rows, size_t nsites, uint64_t *to)
{
	const struct ty_row *row;
	const uint32_t *site;
	const uint64_t *x;
	size_t i = 0, k = 0;
	int e = ty_ledger_rewind(rows);
	for (; !e && k < s->n && (e = ty_ledger_next(rows, &row, &site, &x)) == 1; i++, e = 0) {
		uint32_t col = s->at[k];
		if (s->col[col].row != i)
			continue;
		k++;
		for (uint32_t j = 0; j < row->n; j++) {
			size_t line = site[j] < nsites && s->line[site[j]] ? s->line[site[j]] - 1 : s->lines - 1;
			to[line * s->n + col] += x[j];
		}
	}
	return e < 0 ? e : k == s->n ? 0 : -EPROTO;
}

static json_t *numbers(const uint64_t *x, size_t n)
{
	json_t *a = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, ty_json_integer(x[i]));
	return a;
}

static json_t *lines_json(const struct sample *s, const struct run *r)
{
	json_t *lines = json_array();
	char id[17];
	for (size_t i = 0; i + 1 < s->lines; i++) {
		json_t *o = json_object();
		bool held = s->site[i] == TY_SITE_HELD;
		ty_json_set(o, "site", held ? json_null() : json_string(ty_site_id(r, s->site[i], id)));
		ty_json_set(o, "ns", numbers(s->ns + i * s->n, s->n));
		ty_json_set(o, "waits", numbers(s->waits + i * s->n, s->n));
		json_array_append_new(lines, o);
	}
	return lines;
}

static json_t *sample_json(const struct sample *s, const struct run *r)
{
	json_t *o = json_object(), *rank = json_array(), *latency = json_array(), *rest = json_object();
	for (size_t i = 0; i < s->n; i++) {
		json_array_append_new(rank, ty_json_integer(s->col[i].rank));
		json_array_append_new(latency, ty_json_integer(s->col[i].latency));
	}
	ty_json_set(o, "of", ty_json_integer(r->rows.n));
	ty_json_set(o, "slowest", ty_json_integer(s->whole));
	ty_json_set(o, "others", ty_json_integer(s->others));
	ty_json_set(o, "rank", rank);
	ty_json_set(o, "latency_ns", latency);
	ty_json_set(o, "sites", lines_json(s, r));
	ty_json_set(rest, "ns", numbers(s->ns + (s->lines - 1) * s->n, s->n));
	ty_json_set(rest, "waits", numbers(s->waits + (s->lines - 1) * s->n, s->n));
	ty_json_set(o, "other_sites", rest);
	return o;
}

int ty_html_sample(struct run *r, struct ty_ledger *counts, json_t **ret)
{
	struct sample s = { 0 };
	int e = choose_requests(&s, &r->rows);
	if (!e)
		e = choose_sites(&s, r);
	if (!e) {
		s.ns = calloc(s.lines * s.n + 1, sizeof *s.ns);
		s.waits = calloc(s.lines * s.n + 1, sizeof *s.waits);
		e = s.ns && s.waits ? 0 : -ENOMEM;
	}
	if (!e)
		e = fill(&s, &r->rows, r->sites.n, s.ns);
	if (!e)
		e = fill(&s, counts, r->sites.n, s.waits);
	if (!e)
		*ret = sample_json(&s, r);
	free(s.col);
	free(s.at);
	free(s.line);
	free(s.site);
	free(s.ns);
	free(s.waits);
	return e;
}

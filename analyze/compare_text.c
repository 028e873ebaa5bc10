/* SPDX-License-Identifier: MIT
 *
 * `tarry compare` for people.  Runs in readers.  Must stay true: every value
 * has a unit, every line fits 132 columns, a change has its uncertainty. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "analyze/output.h"
#include "analyze/compare.h"
#include "analyze/fmt.h"
#include "analyze/names.h"

#define TOP 10

static void heading(const char *text)
{
	bool bold = isatty(STDOUT_FILENO);
	printf("\n%s%s%s\n", bold ? "\033[1m" : "", text, bold ? "\033[0m" : "");
}

static const char *signed_percent(char buf[TY_FMT], double x)
{
	if (isnan(x))
		return "-";
	snprintf(buf, TY_FMT, "%+.1f %%", x * 100);
	return buf;
}

static const char *percent(char buf[TY_FMT], double x)
{
	return isnan(x) ? "-" : ty_fmt_percent(buf, x);
}

static void show_provenance(const struct ty_comparison *c)
{
	struct ty_provenance p[8];
	char a[256], b[256];
	size_t n = ty_provenance(c, p);
	for (size_t i = 0; i < n; i++) {
		printf("  warning: %s differs: %s  |  %s\n", p[i].key,
		       ty_fmt_fit(a, sizeof a, p[i].text[0], 48), ty_fmt_fit(b, sizeof b, p[i].text[1], 48));
		free(p[i].text[0]);
		free(p[i].text[1]);
	}
}

static void cells(const struct ty_metric *m)
{
	char a[TY_FMT], b[TY_FMT], d[TY_FMT], s[TY_FMT], t[TY_FMT], v[TY_FMT];
	printf("%10s %10s %9s %8s %8s %9s", ty_fmt_ns(a, m->base.value), ty_fmt_ns(b, m->now.value),
	       signed_percent(d, m->change), percent(s, m->change_se), percent(v, m->base.cv),
	       percent(t, m->tolerance));
}

static void show_latency(const struct ty_comparison *c)
{
	char a[TY_FMT], b[TY_FMT];
	heading("Latency");
	printf("%s requests against", ty_fmt_count(a, c->side[0].n));
	printf(" %s\n", ty_fmt_count(b, c->side[1].n));
	if (!c->requests) {
		printf("Without requests on both sides nothing is judged.  tarry report says how to get "
		       "some.\n");
		return;
	}
	printf("%6s %10s %10s %9s %8s %8s %9s  %s\n", "", "base", "new", "change", "+-", "varies",
	       "tolerance", "verdict");
	for (unsigned i = 0; i < TY_M_COUNT; i++) {
		const struct ty_metric *m = &c->found.latency[i];
		printf("%6s ", ty_metric_name((enum ty_metric_id)i));
		cells(m);
		printf("  %s\n", ty_verdict_words(m->verdict));
	}
	printf("  rms: L2 norm over the root of the number of requests.  varies: between %u blocks of the "
	       "base's time.\n",
	       TY_SIDE_BLOCKS);
}

static const char *site_words(const struct ty_comparison *c, uint32_t i, char *fit, size_t size,
			      unsigned width)
{
	char name[TY_NAME_MAX], all[TY_NAME_MAX + 128];
	if (i == c->match.n)
		return "running";
	int side = c->match.key[0][i] == TY_NONE;
	snprintf(all, sizeof all, "%s  %s", ty_site_operation(&c->run[side], c->match.key[side][i]),
		 ty_site_function(&c->run[side], c->match.key[side][i], name));
	return ty_fmt_fit(fit, size, all, width);
}

static const struct ty_share *share(const struct ty_comparison *c, int side, uint32_t i)
{
	return i == c->match.n ? &c->side[side].res.running : &c->side[side].res.site[i];
}

static void show_sites(const struct ty_comparison *c)
{
	char fit[256], a[TY_FMT], b[TY_FMT], s[TY_FMT];
	size_t top = c->run[0].opt.top ? c->run[0].opt.top : TOP;
	if (!c->requests)
		return;
	heading("Time per request by site, largest difference first");
	printf("%10s %10s %9s %8s %8s %9s  %-15s %7s %7s %6s  %s\n", "base", "new", "change", "+-", "varies",
	       "tolerance", "verdict", "share", "new", "+-", "site");
	for (size_t i = 0; i < c->found.nrank && i < top; i++) {
		uint32_t k = c->found.rank[i];
		const struct ty_metric *m = &c->found.site[k];
		const struct ty_share *x = share(c, 0, k), *y = share(c, 1, k);
		cells(m);
		printf("  %-15s %7s %7s %6s  %s\n", ty_verdict_words(m->verdict), ty_fmt_percent(a, x->share),
		       ty_fmt_percent(b, y->share), percent(s, hypot(x->se, y->se)),
		       site_words(c, k, fit, sizeof fit, 28));
	}
	if (c->found.nrank > top)
		printf("  %s more\n", ty_fmt_count(a, c->found.nrank - top));
	printf("  share: of latency variance, with the error of its difference; not judged, as neither more "
	       "nor less is worse.\n");
}

/* ---- without requests ---- */

static double per_second(const struct ty_comparison *c, int side, uint32_t i)
{
	const struct ty_cut_counts *k = &c->run[side].counts;
	uint64_t ns = k->last > k->first ? k->last - k->first : 1;
	return (double)c->match.total[side][i] * 1e9 / (double)ns;
}

static int by_waiting(const void *p, const void *q, void *arg)
{
	const struct ty_comparison *c = arg;
	uint32_t i = *(const uint32_t *)p, k = *(const uint32_t *)q;
	double x = fabs(per_second(c, 1, i) - per_second(c, 0, i)),
	       y = fabs(per_second(c, 1, k) - per_second(c, 0, k));
	if (x == y) {
		x = per_second(c, 0, i);
		y = per_second(c, 0, k);
	}
	return x > y ? -1 : x < y ? 1 : i < k ? -1 : i > k;
}

static int show_waits(const struct ty_comparison *c)
{
	char fit[512], a[TY_FMT], b[TY_FMT];
	size_t top = c->run[0].opt.top ? c->run[0].opt.top : TOP;
	uint32_t *rank = malloc((c->match.n + 1) * sizeof *rank);
	if (!rank)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->match.n; i++)
		rank[i] = i;
	qsort_r(rank, c->match.n, sizeof *rank, by_waiting, (void *)(uintptr_t)c);
	heading("Time waited in a second of the recording, by site, largest difference first");
	printf("%10s %10s  %s\n", "base", "new", "site");
	for (size_t i = 0; i < c->match.n && i < top; i++)
		if (c->match.total[0][rank[i]] || c->match.total[1][rank[i]])
			printf("%10s %10s  %s\n", ty_fmt_ns(a, per_second(c, 0, rank[i])),
			       ty_fmt_ns(b, per_second(c, 1, rank[i])),
			       site_words(c, rank[i], fit, sizeof fit, 108));
	free(rank);
	return 0;
}

int ty_compare_text(const struct ty_comparison *c, char *err)
{
	char a[TY_FMT];
	printf("tarry compare of %s (base) and %s (new)\n", c->run[0].opt.store, c->run[1].opt.store);
	show_provenance(c);
	show_latency(c);
	show_sites(c);
	if (!c->requests && show_waits(c))
		return ty_err(err, -ENOMEM, "out of memory");
	heading("Verdict");
	if (!c->found.judged)
		printf("nothing could be judged\n");
	else
		printf("%u worse, %u better, of %u judged; tolerance at least %s\n", c->found.worse,
		       c->found.better, c->found.judged, ty_fmt_percent(a, c->floor));
	return ty_output_end(0, err);
}

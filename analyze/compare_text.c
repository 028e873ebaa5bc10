/* SPDX-License-Identifier: MIT
 *
 * `tarry compare` for people.  Runs in readers.  Must stay true: every value
 * has a unit, every line fits 132 columns, a change has its uncertainty. */
#include <math.h>
#include <stdio.h>

#include "analyze/output.h"
#include "analyze/compare.h"
#include "analyze/fmt.h"
#include "analyze/names.h"

#define TOP 10

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
	ty_output_heading("Latency");
	printf("%s request%s against", ty_fmt_count(a, c->side[0].n), ty_fmt_s(c->side[0].n));
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
	const char *f = ty_site_function(&c->run[side], c->match.key[side][i], name);
	snprintf(all, sizeof all, "%s%s%s", ty_site_operation(&c->run[side], c->match.key[side][i]), *f ? "  " : "", f);
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
	ty_output_heading("Time per request by site, largest difference first");
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
	const struct run *r = &c->run[side];
	uint64_t begin = r->from > r->start ? r->from : r->start, last = ty_run_end(r);
	uint64_t ns = last > begin ? last - begin : 1; /* as long as the report says it is */
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
	ty_output_heading("Time waited in a second of the recording, by site, largest difference first");
	printf("%10s %10s  %s\n", "base", "new", "site");
	for (size_t i = 0; i < c->match.n && i < top; i++)
		if (c->match.total[0][rank[i]] || c->match.total[1][rank[i]])
			printf("%10s %10s  %s\n", ty_fmt_ns(a, per_second(c, 0, rank[i])),
			       ty_fmt_ns(b, per_second(c, 1, rank[i])),
			       site_words(c, rank[i], fit, sizeof fit, 108));
	free(rank);
	return 0;
}

/* The verdicts that were given, in the order of the enum. */
static void show_meanings(const struct ty_comparison *c)
{
	size_t top = c->run[0].opt.top ? c->run[0].opt.top : TOP;
	unsigned given = 0;
	for (unsigned i = 0; c->requests && i < TY_M_COUNT; i++)
		given |= 1u << c->found.latency[i].verdict;
	for (size_t i = 0; c->requests && i < c->found.nrank && i < top; i++)
		given |= 1u << c->found.site[c->found.rank[i]].verdict;
	for (unsigned v = TY_V_SAME; v <= TY_V_ONE_SIDE; v++)
		if (given & 1u << v)
			printf("  %-16s %s\n", ty_verdict_words((enum ty_verdict)v), ty_verdict_meaning((enum ty_verdict)v));
}

int ty_compare_text(const struct ty_comparison *c, char *err)
{
	char a[TY_FMT];
	fputs("tarry compare of ", stdout);
	ty_fmt_put(stdout, c->run[0].opt.store);
	fputs(" (base) and ", stdout);
	ty_fmt_put(stdout, c->run[1].opt.store);
	puts(" (new)");
	ty_provenance_text(c);
	show_latency(c);
	show_sites(c);
	if (!c->requests && show_waits(c))
		return ty_err(err, -ENOMEM, "out of memory");
	ty_output_heading("Verdict");
	show_meanings(c);
	if (!c->found.judged)
		printf("nothing could be judged\n");
	else
		printf("%u worse, %u better, of %u judged; tolerance at least %s\n", c->found.worse,
		       c->found.better, c->found.judged, ty_fmt_percent(a, c->floor));
	return ty_output_end(0, err);
}

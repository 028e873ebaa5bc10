/* SPDX-License-Identifier: MIT
 *
 * The verdict for people.  Runs in `tarry experiment`.  Must stay true: a ratio
 * has its interval, a line fits 132 columns, what failed is said. */
#include "experiment/judge.h"

#include <math.h>
#include <string.h>
#include "analyze/fmt.h"
#include "analyze/output.h"

#define NAME_COLUMNS 14u
#define COLUMNS 132u

/* Of the larger of two variances, for both: units of a square are a million apart, and two of them on a line mislead. */
static const char *variance_words(char buf[TY_FMT], double ns2, double larger)
{
	static const struct { double size; const char *unit; } units[] = {
		{ 1e18, "s^2" }, { 1e12, "ms^2" }, { 1e6, "us^2" }, { 1, "ns^2" },
	};
	size_t i = 0;
	while (i < 3 && larger < units[i].size * 0.9995) /* a mean of logarithms may be a hair below */
		i++;
	double x = ns2 / units[i].size;
	snprintf(buf, TY_FMT, x >= 100 ? "%.0f %s" : x >= 0.001 ? "%.3g %s" : "%.1e %s", x, units[i].unit);
	return buf;
}

/* larger: of the two values on the line. */
static const char *value_words(char buf[TY_FMT], unsigned metric, double x, double larger)
{
	if (isnan(x))
		return "-";
	if (metric == TY_X_VARIANCE)
		return variance_words(buf, x, larger);
	if (metric != TY_X_THROUGHPUT)
		return ty_fmt_ns(buf, x);
	snprintf(buf, TY_FMT, x < 100 ? "%.3g /s" : "%.0f /s", x);
	return buf;
}

/* Any ratio in at most 8 columns. */
static const char *ratio_words(char buf[TY_FMT], double x)
{
	if (isnan(x))
		return "-";
	snprintf(buf, TY_FMT, x < 100 ? "%.3f" : x < 10000 ? "%.1f" : "%.1e", x);
	return buf;
}

static void show_effect(const struct ty_samples *s, const struct ty_effect *e, unsigned metric)
{
	char base[TY_FMT], value[TY_FMT], tolerance[TY_FMT], ratio[TY_FMT], low[TY_FMT], high[TY_FMT];
	char interval[3 * TY_FMT] = "-", p[TY_FMT] = "-";
	double larger = fmax(e->base, e->value);
	if (!isnan(e->low))
		snprintf(interval, sizeof interval, "%s .. %s", ratio_words(low, e->low), ratio_words(high, e->high));
	if (!isnan(e->p_holm))
		snprintf(p, sizeof p, e->p_holm < 0.0001 ? "< 0.0001" : "%.4f", e->p_holm);
	printf("%10s %14s %14s %8s %18s %9s %10s  %s\n", ty_x_metric_name((enum ty_x_metric)metric, s->measured),
	       value_words(base, metric, e->base, larger), value_words(value, metric, e->value, larger),
	       ratio_words(ratio, e->ratio), interval, p,
	       isnan(e->tolerance) ? "-" : ty_fmt_percent(tolerance, e->tolerance), ty_e_verdict_words(e->verdict));
}

static void show_variant(const struct ty_samples *s, const struct ty_judged *j, size_t variant)
{
	char title[3 * TY_PLAN_NAME_MAX], base[4 * NAME_COLUMNS + 1], name[4 * NAME_COLUMNS + 1];
	snprintf(title, sizeof title, "%s against %s", s->variant[variant], s->variant[s->base]);
	ty_output_heading(title);
	printf("%10s %14s %14s %8s %18s %9s %10s  %s\n", "",
	       ty_fmt_fit(base, sizeof base, s->variant[s->base], NAME_COLUMNS),
	       ty_fmt_fit(name, sizeof name, s->variant[variant], NAME_COLUMNS), "ratio", "95 % interval", "p",
	       "tolerance", "verdict");
	uint32_t least = UINT32_MAX;
	for (unsigned m = 0; m < TY_X_COUNT; m++) {
		if (!ty_x_metric_there(s, m))
			continue;
		show_effect(s, ty_effect(j, variant, m), m);
		least = ty_effect(j, variant, m)->pairs < least ? ty_effect(j, variant, m)->pairs : least;
	}
	printf("  from %u pair%s of runs%s\n", least, least == 1 ? "" : "s",
	       least < TY_E_PAIRS ? ": too few to tell, a verdict needs 3 and finds 25 % from about 5 on" : "");
}

static void show_failed(const struct ty_samples *s)
{
	if (!ty_samples_failed(s))
		return;
	ty_output_heading("Failed runs, in no number above");
	for (size_t i = 0; i < s->n; i++) {
		const struct ty_trial *t = &s->v[i];
		char line[TY_WHY_MAX + 100], fit[4 * COLUMNS + 1], which[32] = "warm-up";
		if (!t->why[0])
			continue;
		if (t->repetition)
			snprintf(which, sizeof which, "repetition %u", t->repetition);
		snprintf(line, sizeof line, "  %s, %s: %s", which, s->variant[t->variant], t->why);
		puts(ty_fmt_fit(fit, sizeof fit, line, COLUMNS));
	}
}

int ty_experiment_text(const struct ty_samples *s, const struct ty_judged *j, char *err)
{
	char seed[TY_FMT];
	snprintf(seed, sizeof seed, "%llu", (unsigned long long)s->seed);
	printf("tarry experiment: %zu variants, %u repetitions, measured: %s, seed %s; samples: ", s->nvariants,
	       s->repetitions, ty_measured_name(s->measured), seed);
	ty_fmt_put(stdout, s->path);
	putchar('\n');
	for (size_t i = 0; i < s->nvariants; i++)
		if (i != s->base)
			show_variant(s, j, i);
	if (j->tests)
		printf("  ratio: geometric mean of the ratios within blocks.  p: corrected for the %u ratios judged.\n"
		       "  A difference counts if p is at most 0.05 and the ratio is beyond the tolerance: 5 %%, or\n"
		       "  thrice the variation of the base's own runs.\n",
		       j->tests);
	if (ty_x_metric_there(s, TY_X_RMS))
		printf("  rms: L2 norm over the root of the number of latencies.\n");
	show_failed(s);
	ty_output_heading("Verdict");
	if (!ty_samples_complete(s))
		printf("The experiment is %s.\n", s->end);
	if (!j->tests)
		printf("nothing could be judged\n");
	else
		printf("%u worse, %u better, %u without a difference shown\n", j->worse, j->better,
		       j->tests - j->worse - j->better);
	return ty_output_end(0, err);
}

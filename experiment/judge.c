/* SPDX-License-Identifier: MIT
 *
 * The verdict over the samples (see judge.h).  Runs in `tarry experiment`.  Must
 * stay true: an experiment of a thing with itself shows a difference in at most
 * 5 % of all cases, over all its metrics and variants together. */
#include "experiment/judge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *words, *why;
} verdicts[] = {
	[TY_E_NONE] = { "no_difference_shown", "no difference shown", "" },
	[TY_E_BETTER] = { "better", "better", "" },
	[TY_E_WORSE] = { "worse", "WORSE", "" },
	[TY_E_PAIRS_FEW] = { "not_judged", "not judged: fewer than 3 pairs", "fewer than 3 pairs of runs" },
	[TY_E_COUNTS_FEW] = { "not_judged", "not judged: few beyond it",
			      "fewer than 10 latencies beyond it in a run" },
	[TY_E_ZERO] = { "not_judged", "not judged: zero", "zero in a run" },
	[TY_E_NOT_ASKED] = { "not_judged", "not judged: not asked", "the experiment's `judge` does not name it" },
};

const char *ty_e_verdict_name(enum ty_e_verdict v)
{
	return verdicts[v].name;
}

const char *ty_e_verdict_words(enum ty_e_verdict v)
{
	return verdicts[v].words;
}

const char *ty_e_verdict_why(enum ty_e_verdict v)
{
	return verdicts[v].why;
}

bool ty_x_metric_there(const struct ty_samples *s, unsigned metric)
{
	return s->measured != TY_MEASURED_TIME || metric == TY_X_MEAN;
}

/* ---- one metric ---- */

/* Runs of a variant by repetition, NULL where it failed or is missing. */
static void runs_of(const struct ty_samples *s, size_t variant, const struct ty_trial **ret)
{
	memset(ret, 0, (s->repetitions + (size_t)1) * sizeof *ret);
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].variant == variant && s->v[i].repetition && !s->v[i].why[0])
			ret[s->v[i].repetition] = &s->v[i];
}

/* Of all the base's runs that count, paired or not. */
static double variation(const struct ty_trial *const *base, uint32_t repetitions, unsigned metric)
{
	double sum = 0, squares = 0, n = 0;
	for (uint32_t r = 1; r <= repetitions; r++)
		if (base[r]) {
			sum += base[r]->value[metric];
			n++;
		}
	double mean = sum / n;
	for (uint32_t r = 1; r <= repetitions; r++)
		if (base[r])
			squares += (base[r]->value[metric] - mean) * (base[r]->value[metric] - mean);
	return n > 1 && mean > 0 ? sqrt(squares / (n - 1)) / mean : NAN;
}

static bool enough_beyond(const struct ty_trial *t, unsigned metric)
{
	double q = metric == TY_X_P50 ? 0.5 : metric == TY_X_P99 ? 0.99 : metric == TY_X_P999 ? 0.999 : 0;
	return q == 0 || (double)t->count * (1 - q) + 1e-9 >= TY_E_BEYOND;
}

/* The logarithms of both runs, by block; returns whether metric can be judged there. */
static enum ty_e_verdict pair_up(struct ty_effect *e, const struct ty_samples *s, const struct ty_trial *const *base,
				 const struct ty_trial *const *now, unsigned metric, double *log_base, double *log_now)
{
	enum ty_e_verdict v = TY_E_NONE;
	for (uint32_t r = 1; r <= s->repetitions; r++) {
		if (!base[r] || !now[r])
			continue;
		double a = base[r]->value[metric], b = now[r]->value[metric];
		if (!(a > 0) || !(b > 0))
			return TY_E_ZERO;
		if (!enough_beyond(base[r], metric) || !enough_beyond(now[r], metric))
			v = TY_E_COUNTS_FEW;
		log_base[e->pairs] = log(a);
		log_now[e->pairs++] = log(b);
	}
	return v;
}

static void estimate(struct ty_effect *e, const double *log_base, const double *log_now)
{
	double sum_base = 0, sum_now = 0, squares = 0, n = e->pairs;
	for (uint32_t i = 0; i < e->pairs; i++) {
		sum_base += log_base[i];
		sum_now += log_now[i];
	}
	double mean = (sum_now - sum_base) / n;
	e->base = exp(sum_base / n);
	e->value = exp(sum_now / n);
	e->ratio = exp(mean);
	if (e->pairs < TY_E_PAIRS)
		return;
	for (uint32_t i = 0; i < e->pairs; i++) {
		double d = log_now[i] - log_base[i] - mean;
		squares += d * d;
	}
	double error = sqrt(squares / (n - 1) / n), reach = ty_student_t(TY_E_ALPHA, e->pairs - 1) * error;
	e->low = exp(mean - reach);
	e->high = exp(mean + reach);
	e->p = error > 0 ? ty_student_p(mean / error, e->pairs - 1) : mean == 0;
}

static void measure(struct ty_effect *e, const struct ty_samples *s, const struct ty_trial *const *base,
		    const struct ty_trial *const *now, unsigned metric, double *room)
{
	*e = (struct ty_effect){ 0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, TY_E_NONE };
	e->verdict = pair_up(e, s, base, now, metric, room, room + s->repetitions);
	if (e->verdict == TY_E_ZERO)
		return;
	if (e->pairs)
		estimate(e, room, room + s->repetitions);
	e->cv = variation(base, s->repetitions, metric);
	e->tolerance = fmax(TY_E_FLOOR, 3 * e->cv);
	if (e->pairs < TY_E_PAIRS)
		e->verdict = TY_E_PAIRS_FEW;
	else if (!(s->judged & 1u << metric))
		e->verdict = TY_E_NOT_ASKED;
}

/* ---- all of them ---- */

static int by_p(const void *a, const void *b)
{
	const struct ty_effect *x = *(const struct ty_effect *const *)a, *y = *(const struct ty_effect *const *)b;
	return x->p != y->p ? (x->p > y->p) - (x->p < y->p) : (x > y) - (x < y);
}

/* Holm: the k-th smallest of m is multiplied by m - k + 1, and none is below the one before it. */
static void correct(struct ty_effect **test, uint32_t n)
{
	double least = 0;
	qsort(test, n, sizeof *test, by_p);
	for (uint32_t i = 0; i < n; i++) {
		least = fmax(least, fmin(1, test[i]->p * (n - i)));
		test[i]->p_holm = least;
	}
}

static void decide(struct ty_judged *j, struct ty_effect *e, bool higher_is_better)
{
	/* the same distance either way: twice as much and half as much are equally far */
	if (e->p_holm > TY_E_ALPHA || fabs(log(e->ratio)) <= log1p(e->tolerance))
		return;
	bool worse = (e->ratio > 1) != higher_is_better;
	e->verdict = worse ? TY_E_WORSE : TY_E_BETTER;
	*(worse ? &j->worse : &j->better) += 1;
}

static void judge_all(struct ty_judged *j, const struct ty_samples *s, const struct ty_trial **base,
		      const struct ty_trial **now, struct ty_effect **test, double *room)
{
	runs_of(s, s->base, base);
	for (size_t i = 0; i < s->nvariants; i++) {
		runs_of(s, i, now);
		for (unsigned m = 0; i != s->base && m < TY_X_COUNT; m++) {
			struct ty_effect *e = &j->v[i * TY_X_COUNT + m];
			if (!ty_x_metric_there(s, m))
				continue;
			measure(e, s, base, now, m, room);
			if (e->verdict == TY_E_NONE)
				test[j->tests++] = e;
		}
	}
	correct(test, j->tests);
	for (uint32_t i = 0; i < j->tests; i++)
		decide(j, test[i], (test[i] - j->v) % TY_X_COUNT == TY_X_THROUGHPUT);
}

int ty_judge(struct ty_judged *j, const struct ty_samples *s)
{
	size_t runs = s->repetitions + (size_t)1, effects = s->nvariants * TY_X_COUNT;
	memset(j, 0, sizeof *j);
	j->v = calloc(effects, sizeof *j->v);
	const struct ty_trial **run = calloc(2 * runs, sizeof *run);
	struct ty_effect **test = calloc(effects, sizeof *test);
	double *room = calloc(2 * runs, sizeof *room);
	int rc = j->v && run && test && room ? 0 : -ENOMEM;
	if (rc == 0)
		judge_all(j, s, run, run + runs, test, room);
	else
		ty_judged_free(j);
	free(run);
	free(test);
	free(room);
	return rc;
}

void ty_judged_free(struct ty_judged *j)
{
	free(j->v);
	memset(j, 0, sizeof *j);
}

/* SPDX-License-Identifier: MIT
 * Description: verdicts of tarry experiment: Student's t against the tables,
 * Holm's correction, the tolerance and what is not judged against hand-made
 * numbers; then 200 experiments of a thing with itself in six kinds of noise, of
 * which at most 5 % may show a difference, and as many with a slowdown of 25 %.
 * Seeds are fixed; the rates that it prints stand in docs/EXPERIMENT.md.
 * timeout: 300 */
#include <CUnit/Basic.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "experiment/judge.h"
#include "experiment/measure.h"

static uint64_t seed = 1;
static double uniform(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}
static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static struct ty_plan plan_of(uint32_t variants, uint32_t repetitions)
{
	static char names[4][4] = { "a", "b", "c", "d" };
	static struct ty_variant variant[4];
	for (unsigned i = 0; i < 4; i++)
		variant[i].name = names[i];
	return (struct ty_plan){ .variant = variant, .nvariants = variants, .repetitions = repetitions, .warmup = 1,
				 .judged = (1u << TY_X_COUNT) - 1 };
}

/* ---- hand-made numbers ---- */

static void test_student(void)
{
	static const struct { double t; unsigned freedom; double p; } table[] = {
		{ 12.706, 1, 0.05 }, { 4.303, 2, 0.05 }, { 3.182, 3, 0.05 }, { 2.776, 4, 0.05 }, { 4.604, 4, 0.01 },
		{ 2.571, 5, 0.05 }, { 2.262, 9, 0.05 }, { 3.250, 9, 0.01 }, { 2.042, 30, 0.05 }, { 1.972, 200, 0.05 },
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		CU_ASSERT_DOUBLE_EQUAL(ty_student_p(table[i].t, table[i].freedom), table[i].p, 2e-4);
		CU_ASSERT_DOUBLE_EQUAL(ty_student_t(table[i].p, table[i].freedom), table[i].t, 2e-3);
	}
	CU_ASSERT_EQUAL(ty_student_p(0, 4), 1);
	CU_ASSERT_DOUBLE_EQUAL(ty_student_p(-2.776, 4), 0.05, 2e-4);
}

/* Every metric of a run is this; throughput its inverse. */
static void put(struct ty_samples *s, uint32_t repetition, uint32_t variant, double x)
{
	struct ty_trial t = { .repetition = repetition, .variant = variant, .count = 20000 };
	for (unsigned m = 0; m < TY_X_COUNT; m++)
		t.value[m] = m == TY_X_THROUGHPUT ? 1 / x : x;
	CU_ASSERT_EQUAL_FATAL(ty_samples_add(s, &t), 0);
}

static struct ty_samples made(const double *base, const double *now, uint32_t n)
{
	struct ty_plan p = plan_of(2, n);
	struct ty_samples s;
	CU_ASSERT_EQUAL_FATAL(ty_samples_from(&s, &p), 0);
	for (uint32_t r = 1; r <= n; r++) {
		put(&s, r, 0, base[r - 1]);
		put(&s, r, 1, now[r - 1]);
	}
	put(&s, 0, 0, 1); /* warm-up is not looked at */
	put(&s, 0, 1, 1000);
	return s;
}

static void test_numbers(void)
{
	/* logarithms of the ratios: log 2 - 0.1, log 2, log 2 + 0.1 */
	const double base[] = { 100, 100, 100 }, now[] = { 200 * exp(-0.1), 200, 200 * exp(0.1) };
	struct ty_samples s = made(base, now, 3);
	struct ty_judged j;
	CU_ASSERT_EQUAL_FATAL(ty_judge(&j, &s), 0);
	const struct ty_effect *e = ty_effect(&j, 1, TY_X_MEAN);
	double error = 0.1 / sqrt(3);
	CU_ASSERT_EQUAL(e->pairs, 3);
	CU_ASSERT_DOUBLE_EQUAL(e->ratio, 2, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(e->base, 100, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(e->value, 200, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(e->low, 2 * exp(-4.30265 * error), 1e-4);
	CU_ASSERT_DOUBLE_EQUAL(e->high, 2 * exp(4.30265 * error), 1e-4);
	CU_ASSERT_DOUBLE_EQUAL(e->cv, 0, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(e->tolerance, 0.05, 1e-12);
	CU_ASSERT_EQUAL(j.tests, 8);
	CU_ASSERT_DOUBLE_EQUAL(e->p, ty_student_p(log(2) / error, 2), 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(e->p_holm, 8 * e->p, 1e-9); /* all eight are the same: all times 8 */
	CU_ASSERT_EQUAL(e->verdict, TY_E_NONE);            /* p is 0.007, times 8 above 5 % */
	ty_judged_free(&j);
	s.judged = 1u << TY_X_MEAN; /* asked for one, it is one test */
	CU_ASSERT_EQUAL_FATAL(ty_judge(&j, &s), 0);
	CU_ASSERT_EQUAL(j.tests, 1);
	CU_ASSERT_EQUAL(ty_effect(&j, 1, TY_X_MEAN)->verdict, TY_E_WORSE);
	CU_ASSERT_EQUAL(ty_effect(&j, 1, TY_X_P50)->verdict, TY_E_NOT_ASKED);
	CU_ASSERT_EQUAL(j.worse, 1);
	ty_judged_free(&j);
	ty_samples_free(&s);
}

static enum ty_e_verdict verdict_of(const double *base, const double *now, uint32_t n, unsigned metric)
{
	struct ty_samples s = made(base, now, n);
	struct ty_judged j;
	CU_ASSERT_EQUAL_FATAL(ty_judge(&j, &s), 0);
	enum ty_e_verdict v = ty_effect(&j, 1, metric)->verdict;
	ty_judged_free(&j);
	ty_samples_free(&s);
	return v;
}

static void test_rule(void)
{
	const double flat[] = { 100, 100.1, 99.9, 100, 100 }, four[] = { 104, 104.1, 103.9, 104, 104 },
		     six[] = { 106, 106.1, 105.9, 106, 106 }, lower[] = { 94, 94.1, 93.9, 94, 94 },
		     wild[] = { 100, 120, 80, 110, 90 }, zero[] = { 100, 0, 100, 100, 100 };
	double half_more[5], thrice[5];
	CU_ASSERT_EQUAL(verdict_of(flat, flat, 5, TY_X_MEAN), TY_E_NONE);
	CU_ASSERT_EQUAL(verdict_of(flat, four, 5, TY_X_MEAN), TY_E_NONE);
	CU_ASSERT_EQUAL(verdict_of(flat, six, 5, TY_X_MEAN), TY_E_WORSE);
	CU_ASSERT_EQUAL(verdict_of(flat, six, 5, TY_X_THROUGHPUT), TY_E_WORSE); /* 6 % lower */
	CU_ASSERT_EQUAL(verdict_of(flat, lower, 5, TY_X_P99), TY_E_BETTER);
	CU_ASSERT_EQUAL(verdict_of(flat, lower, 5, TY_X_THROUGHPUT), TY_E_BETTER);
	/* the base varies by 15.8 %: the tolerance is 47 % either way, however alike the pairs are */
	for (unsigned i = 0; i < 5; i++) {
		half_more[i] = 1.45 * wild[i];
		thrice[i] = 3 * wild[i];
	}
	CU_ASSERT_EQUAL(verdict_of(wild, half_more, 5, TY_X_MEAN), TY_E_NONE);
	CU_ASSERT_EQUAL(verdict_of(wild, thrice, 5, TY_X_MEAN), TY_E_WORSE);
	CU_ASSERT_EQUAL(verdict_of(thrice, wild, 5, TY_X_MEAN), TY_E_BETTER);
	CU_ASSERT_EQUAL(verdict_of(flat, zero, 5, TY_X_MEAN), TY_E_ZERO);
	CU_ASSERT_EQUAL(verdict_of(flat, thrice, 2, TY_X_MEAN), TY_E_PAIRS_FEW);
}

static void test_left_out(void)
{
	const double base[] = { 100, 100, 100, 100 }, now[] = { 200, 200, 200, 200 };
	struct ty_samples s = made(base, now, 4);
	struct ty_judged j;
	strcpy(s.v[1].why, "the load failed"); /* the variant's first run */
	s.v[2].count = 999;                    /* the base's second: 9.99 latencies beyond its p99 */
	CU_ASSERT_EQUAL_FATAL(ty_judge(&j, &s), 0);
	CU_ASSERT_EQUAL(ty_effect(&j, 1, TY_X_MEAN)->pairs, 3);
	CU_ASSERT_EQUAL(ty_effect(&j, 1, TY_X_MEAN)->verdict, TY_E_WORSE);
	CU_ASSERT_EQUAL(ty_effect(&j, 1, TY_X_P50)->verdict, TY_E_WORSE);
	CU_ASSERT_EQUAL(ty_effect(&j, 1, TY_X_P99)->verdict, TY_E_COUNTS_FEW);
	CU_ASSERT_EQUAL(ty_effect(&j, 1, TY_X_P999)->verdict, TY_E_COUNTS_FEW);
	CU_ASSERT_EQUAL(ty_effect(&j, 1, TY_X_MAX)->verdict, TY_E_WORSE);
	CU_ASSERT_DOUBLE_EQUAL(ty_effect(&j, 1, TY_X_P99)->ratio, 2, 1e-9);
	CU_ASSERT_EQUAL(j.tests, 6);
	CU_ASSERT_EQUAL(ty_samples_failed(&s), 1);
	ty_judged_free(&j);
	strcpy(s.v[0].why, "x");
	strcpy(s.v[3].why, "x"); /* two pairs are left */
	CU_ASSERT_EQUAL_FATAL(ty_judge(&j, &s), 0);
	CU_ASSERT_EQUAL(ty_effect(&j, 1, TY_X_MEAN)->pairs, 2);
	CU_ASSERT_EQUAL(ty_effect(&j, 1, TY_X_MEAN)->verdict, TY_E_PAIRS_FEW);
	CU_ASSERT_EQUAL(j.tests, 0);
	ty_judged_free(&j);
	ty_samples_free(&s);
}

/* Independent p of 1, 2 and 3 %: times 3, 2 and 1, and none below the one before. */
static void test_holm(void)
{
	const double t[] = { ty_student_t(0.01, 3), ty_student_t(0.02, 3), ty_student_t(0.03, 3) };
	const double spread[] = { -1.5, -0.5, 0.5, 1.5 }; /* standard error sqrt(5/3/4) */
	struct ty_plan p = plan_of(4, 4);
	struct ty_samples s;
	struct ty_judged j;
	CU_ASSERT_EQUAL_FATAL(ty_samples_from(&s, &p), 0);
	s.judged = 1u << TY_X_MEAN;
	for (uint32_t r = 1; r <= 4; r++)
		for (uint32_t v = 0; v < 4; v++)
			put(&s, r, v, v ? exp(0.1 * (t[v - 1] * sqrt(5.0 / 12) + spread[r - 1])) : 1);
	CU_ASSERT_EQUAL_FATAL(ty_judge(&j, &s), 0);
	CU_ASSERT_EQUAL(j.tests, 3);
	CU_ASSERT_DOUBLE_EQUAL(ty_effect(&j, 1, TY_X_MEAN)->p, 0.01, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(ty_effect(&j, 1, TY_X_MEAN)->p_holm, 0.03, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(ty_effect(&j, 2, TY_X_MEAN)->p_holm, 0.04, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(ty_effect(&j, 3, TY_X_MEAN)->p_holm, 0.04, 1e-9);
	CU_ASSERT_EQUAL(j.worse, 3);
	ty_judged_free(&j);
	ty_samples_free(&s);
}

/* ---- rates ---- */

enum shape { LOGNORMAL, HEAVY, DRIFT, OUTLIER, SAWTOOTH, WILD, SHAPES };
static const char *const shape_names[] = { "lognormal", "heavy tail", "drift", "slow run", "order", "wild" };

struct course { /* of one experiment */
	enum shape shape;
	unsigned runs, slow_run; /* of all, warm-up included */
	double drift;
};

/* How slow the machine is in a run, whoever runs. */
static double slowness(const struct course *c, unsigned run, unsigned place)
{
	double f = exp(0.03 * normal());
	if (c->shape == DRIFT)
		f *= exp(c->drift * run / c->runs);
	if (c->shape == OUTLIER && run == c->slow_run)
		f *= 3;
	if (c->shape == SAWTOOTH && place == 0)
		f *= 1.1;
	if (c->shape == WILD)
		f *= exp(0.2 * normal());
	return f;
}

static double latency(enum shape shape)
{
	if (shape == HEAVY) /* its variance is infinite */
		return 1e5 * pow(uniform(), -1 / 1.8);
	return 1e5 * exp(0.6 * normal());
}

static void one_run(struct ty_samples *s, struct ty_trial *t, const struct course *c, unsigned run, double slower)
{
	struct ty_latencies l = { 0 };
	double sum = 0, f = slower * slowness(c, run, t->order - 1);
	/* enough to judge p99, and once p99.9, too */
	unsigned n = c->shape == LOGNORMAL && c->runs == 12 ? 10000 : 1200;
	int failed = 0;
	for (unsigned i = 0; i < n; i++) {
		double x = f * latency(c->shape);
		sum += x;
		failed |= ty_latencies_add(&l, (uint64_t)x);
	}
	CU_ASSERT_EQUAL_FATAL(failed, 0);
	t->count = l.n;
	ty_latencies_values(&l, t->value, &t->l2);
	t->value[TY_X_THROUGHPUT] = (double)l.n * 1e9 / sum * exp(0.01 * normal());
	CU_ASSERT_EQUAL_FATAL(ty_samples_add(s, t), 0);
	ty_latencies_free(&l);
}

static void one_experiment(struct ty_judged *j, enum shape shape, uint32_t repetitions, uint64_t number, double slower)
{
	struct ty_plan p = plan_of(2, repetitions);
	struct ty_samples s;
	uint32_t order[2 * 32];
	p.seed = number;
	ty_plan_order(&p, order);
	CU_ASSERT_EQUAL_FATAL(ty_samples_from(&s, &p), 0);
	struct course c = { .shape = shape, .runs = 2 * (repetitions + 1), .drift = 0.5 * normal() };
	c.slow_run = (unsigned)(uniform() * c.runs);
	for (uint32_t run = 0; run < c.runs; run++) {
		struct ty_trial t = { .repetition = run / 2, .variant = order[run], .order = 1 + run % 2 };
		one_run(&s, &t, &c, run, t.variant ? slower : 1);
	}
	CU_ASSERT_EQUAL_FATAL(ty_judge(j, &s), 0);
	ty_samples_free(&s);
}

/* Experiments of 200 that show a difference; *mean: those in which the mean got worse. */
static unsigned shown(enum shape shape, uint32_t repetitions, double slower, unsigned *mean)
{
	unsigned n = 0;
	*mean = 0;
	for (uint64_t i = 0; i < 200; i++) {
		struct ty_judged j;
		one_experiment(&j, shape, repetitions, i, slower);
		n += j.better + j.worse > 0;
		*mean += ty_effect(&j, 1, TY_X_MEAN)->verdict == TY_E_WORSE;
		ty_judged_free(&j);
	}
	return n;
}

static void test_false_alarms(void)
{
	unsigned mean;
	for (unsigned shape = 0; shape < SHAPES; shape++)
		for (uint32_t repetitions = 3; repetitions <= 7; repetitions += 2) {
			unsigned n = shown((enum shape)shape, repetitions, 1, &mean);
			printf("\n    %-10s %u repetitions, itself: %.1f %% show a difference",
			       shape_names[shape], repetitions, n / 2.0);
			CU_ASSERT(n <= 10);
		}
}

static void test_found(void)
{
	unsigned mean;
	for (unsigned shape = 0; shape < SHAPES; shape++)
		for (uint32_t repetitions = 3; repetitions <= 7; repetitions += 2) {
			if (shape != LOGNORMAL && repetitions != 5)
				continue;
			unsigned n = shown((enum shape)shape, repetitions, 1.25, &mean);
			printf("\n    %-10s %u repetitions, 25 %% slower: mean %.1f %%, any %.1f %%",
			       shape_names[shape], repetitions, mean / 2.0, n / 2.0);
			if (shape == LOGNORMAL && repetitions == 5)
				CU_ASSERT(mean >= 190);
		}
}

/* ---- order ---- */

static void test_order(void)
{
	struct ty_plan p = plan_of(3, 40), other;
	uint32_t order[42 * 3], again[42 * 3];
	unsigned first[3] = { 0 }, same = 0;
	p.warmup = 2;
	p.seed = 7;
	ty_plan_order(&p, order);
	ty_plan_order(&p, again);
	CU_ASSERT_EQUAL(memcmp(order, again, sizeof order), 0);
	other = p;
	other.seed = 8;
	ty_plan_order(&other, again);
	CU_ASSERT_NOT_EQUAL(memcmp(order, again, sizeof order), 0);
	for (unsigned row = 0; row < 42; row++) {
		unsigned seen = 0;
		for (unsigned i = 0; i < 3; i++)
			seen |= 1u << order[3 * row + i];
		CU_ASSERT_EQUAL(seen, 7);
		first[order[3 * row]]++;
		if (row >= 3 && row % 2 == 1) { /* the second of two: the reverse of the first */
			for (unsigned i = 0; i < 3; i++)
				CU_ASSERT_EQUAL(order[3 * row + i], order[3 * row - 1 - i]);
		} else if (row >= 4) {
			same += memcmp(&order[3 * row], &order[3 * (row - 2)], 3 * sizeof *order) == 0;
		}
	}
	CU_ASSERT(first[0] >= 5 && first[1] >= 5 && first[2] >= 5);
	CU_ASSERT(same < 12); /* of 19, a sixth is expected */
}

int main(void)
{
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("experiment's verdicts", NULL, NULL);
	CU_add_test(s, "Student's t", test_student);
	CU_add_test(s, "numbers", test_numbers);
	CU_add_test(s, "the rule", test_rule);
	CU_add_test(s, "runs and metrics that are left out", test_left_out);
	CU_add_test(s, "Holm's correction", test_holm);
	CU_add_test(s, "the order of runs", test_order);
	CU_add_test(s, "a thing with itself", test_false_alarms);
	CU_add_test(s, "25 % slower", test_found);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failures ? 1 : 0;
}

/* SPDX-License-Identifier: MIT
 * Description: tarry experiment's file, what it means and its defaults (mistakes
 * are in tests/experiment/files.sh); latencies as a load may write them; moments
 * against a direct computation; samples written and read back unchanged. */
#include <CUnit/Basic.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "experiment/measure.h"
#include "experiment/samples.h"

static char err[TY_ERR_MAX];

static int parse(struct ty_plan *p, const char *text)
{
	err[0] = 0;
	return ty_plan_parse(p, "f.yaml", text, strlen(text), err);
}

/* ---- the plan ---- */

static void test_defaults(void)
{
	struct ty_plan p;
	CU_ASSERT_EQUAL_FATAL(parse(&p, "variants: [{name: a}, {name: b}]\n"), 0);
	CU_ASSERT_EQUAL(p.nvariants, 2);
	CU_ASSERT_EQUAL(p.base, 0);
	CU_ASSERT_EQUAL(p.repetitions, 5);
	CU_ASSERT_EQUAL(p.warmup, 1);
	CU_ASSERT_EQUAL(p.stop, SIGTERM);
	CU_ASSERT_EQUAL(p.stop_timeout, 10000000000u);
	CU_ASSERT_EQUAL(p.ready_timeout, 30000000000u);
	CU_ASSERT_EQUAL(p.load_timeout, 0);
	CU_ASSERT_EQUAL(p.measured, TY_MEASURED_TIME);
	CU_ASSERT_EQUAL(p.judged, 1u << TY_X_MEAN);
	CU_ASSERT_FALSE(p.seeded);
	CU_ASSERT_PTR_NULL(p.load);
	ty_plan_free(&p);
	CU_ASSERT_EQUAL(parse(&p, "variants: [{name: a}, {name: b}]\nload: x\n"), -EINVAL); /* nobody would write any */
	CU_ASSERT_EQUAL_FATAL(parse(&p, "variants: [{name: a}, {name: b}]\nload: x\nmeasure: latencies\n"), 0);
	ty_plan_free(&p);
	CU_ASSERT_EQUAL_FATAL(parse(&p, "variants: [{name: a}, {name: b}]\nload: x >$TARRY_EXPERIMENT_LATENCIES\n"), 0);
	CU_ASSERT_EQUAL(p.measured, TY_MEASURED_LATENCIES);
	CU_ASSERT_EQUAL(p.judged, (1u << TY_X_COUNT) - 1);
	ty_plan_free(&p);
}

static const char everything[] =
	"variants:\n  - name: a\n    env: {ONE: '1', TWO: ''}\n    arguments: [-x, 'y z']\n"
	"  - name: b\n    command: [./other, -v]\n    config: configs/default.yaml\nbase: b\n"
	"load: put it\nload_timeout: 2m\nready: ask\nready_timeout: 3s\nstop: SIGINT\nstop_timeout: 4s\nsetup: before\n"
	"cleanup: after\nrepetitions: 7\nwarmup: 0\njudge: [p99.9, throughput]\nseed: 18446744073709551615\n";

static void test_everything(void)
{
	struct ty_plan p;
	CU_ASSERT_EQUAL_FATAL(parse(&p, everything), 0);
	const struct ty_variant *a = &p.variant[0], *b = &p.variant[1];
	CU_ASSERT_EQUAL(a->env.n, 2);
	CU_ASSERT_STRING_EQUAL(a->env.v[0], "ONE=1");
	CU_ASSERT_STRING_EQUAL(a->env.v[1], "TWO=");
	CU_ASSERT_PTR_NULL(a->env.v[2]);
	CU_ASSERT_STRING_EQUAL(a->arguments.v[1], "y z");
	CU_ASSERT_EQUAL(a->command.n, 0);
	CU_ASSERT_PTR_NULL(a->config);
	CU_ASSERT_EQUAL(b->command.n, 2);
	CU_ASSERT_STRING_EQUAL(b->command.v[0], "./other");
	CU_ASSERT_STRING_EQUAL(b->config, "configs/default.yaml");
	CU_ASSERT_EQUAL(p.base, 1);
	CU_ASSERT_STRING_EQUAL(p.load, "put it");
	CU_ASSERT_STRING_EQUAL(p.ready, "ask");
	CU_ASSERT_STRING_EQUAL(p.setup, "before");
	CU_ASSERT_STRING_EQUAL(p.cleanup, "after");
	CU_ASSERT_EQUAL(p.load_timeout, 120000000000u);
	CU_ASSERT_EQUAL(p.ready_timeout, 3000000000u);
	CU_ASSERT_EQUAL(p.stop_timeout, 4000000000u);
	CU_ASSERT_EQUAL(p.stop, SIGINT);
	CU_ASSERT_EQUAL(p.repetitions, 7);
	CU_ASSERT_EQUAL(p.warmup, 0);
	CU_ASSERT_EQUAL(p.seed, UINT64_MAX);
	CU_ASSERT_TRUE(p.seeded);
	CU_ASSERT_EQUAL(p.judged, 1u << TY_X_P999 | 1u << TY_X_THROUGHPUT);
	CU_ASSERT_EQUAL(p.measured, TY_MEASURED_REQUESTS); /* a variant is recorded */
	ty_plan_free(&p);
	/* every key was in it */
	const char *key;
	for (size_t i = 0; (key = ty_plan_key(i, false)); i++)
		if (strcmp(key, "measure") != 0)
			CU_ASSERT_PTR_NOT_NULL(strstr(everything, key));
	for (size_t i = 0; (key = ty_plan_key(i, true)); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(everything, key));
}

/* The example's file says what its documentation says. */
static void test_example(void)
{
	struct ty_plan p;
	static char text[1 << 16];
	FILE *f = fopen("examples/experiment/orders.yaml", "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	size_t n = fread(text, 1, sizeof text, f);
	fclose(f);
	CU_ASSERT_EQUAL_FATAL(ty_plan_parse(&p, "orders.yaml", text, n, err), 0);
	CU_ASSERT_EQUAL(p.nvariants, 3);
	CU_ASSERT_EQUAL(p.measured, TY_MEASURED_LATENCIES);
	ty_plan_free(&p);
}

/* A mistake at the end leaves nothing behind (the sanitizers look). */
static void test_mistake(void)
{
	struct ty_plan p;
	char text[2048];
	for (size_t n = strlen(everything) - 1; n > 0; n--) {
		snprintf(text, sizeof text, "%.*s\n\001", (int)n, everything);
		CU_ASSERT_EQUAL(parse(&p, text), -EINVAL);
		CU_ASSERT(strncmp(err, "f.yaml:", 7) == 0 && !strchr(err, '\n'));
	}
}

/* ---- latencies ---- */

static void test_latency(void)
{
	static const struct { const char *text; uint64_t ns; } good[] = {
		{ "0", 0 }, { "17", 17 }, { "17ns", 17 }, { "1.5us", 1500 }, { "1.5 us", 1500 }, { "250ms", 250000000 },
		{ "0.000000001s", 1 }, { "2s", 2000000000 }, { "3.999", 4 }, { "1.00000000000000000000001ms", 1000000 },
		{ "4611686018427387904", 1ull << 62 },
	};
	static const char *const bad[] = {
		"", " 1", "-1", "+1", "1e6", "1.", ".5", "1 000", "1,5", "ms", "1 m", "1sec", "1  ms", "1ms ", "1\t",
		"nan", "inf", "0x10", "4611686018427387905", "99999999999999999999", "9999999999s", "1\r",
	};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		uint64_t ns = 99;
		CU_ASSERT_EQUAL(ty_latency_parse(good[i].text, strlen(good[i].text), &ns), 0);
		CU_ASSERT_EQUAL(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		uint64_t ns = 99;
		CU_ASSERT_EQUAL(ty_latency_parse(bad[i], strlen(bad[i]), &ns), -EINVAL);
		CU_ASSERT_EQUAL(ns, 99);
	}
}

static void test_moments(void)
{
	static const uint64_t x[] = { 4000000000000000000u, 4000000000000000001u, 4000000000000000005u,
				      4000000000000000002u };
	struct ty_latencies l = { 0 };
	double v[TY_X_COUNT], l2;
	for (size_t i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(ty_latencies_add(&l, x[i]), 0);
	ty_latencies_values(&l, v, &l2);
	CU_ASSERT_EQUAL(v[TY_X_MEAN], 4e18 + 2);
	CU_ASSERT_DOUBLE_EQUAL(v[TY_X_VARIANCE], 3.5, 1e-9); /* of 0, 1, 5, 2, though the squares have 37 digits */
	CU_ASSERT_EQUAL(v[TY_X_MAX], 4e18 + 5);
	CU_ASSERT(v[TY_X_P50] <= v[TY_X_MAX] && v[TY_X_P999] <= v[TY_X_MAX]);
	CU_ASSERT_DOUBLE_EQUAL(l2, 8e18, 1e4);
	CU_ASSERT_DOUBLE_EQUAL(v[TY_X_RMS], 4e18, 1e4);
	ty_latencies_free(&l);
}

/* Lines at the border of two reads, and a last one without an end. */
static void test_long_file(void)
{
	char path[] = "/tmp/tarry-latencies.XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	long double sum = 0;
	for (unsigned i = 1; i <= 50000; i++) {
		fprintf(f, i < 50000 ? "%u\n" : "%u", i * 7);
		sum += i * 7;
	}
	fclose(f);
	struct ty_latencies l = { 0 };
	double v[TY_X_COUNT], l2;
	CU_ASSERT_EQUAL(ty_latencies_read(&l, path, err), 0);
	CU_ASSERT_EQUAL(l.n, 50000);
	ty_latencies_values(&l, v, &l2);
	CU_ASSERT_EQUAL(v[TY_X_MEAN], (double)(sum / 50000));
	ty_latencies_free(&l);
	unlink(path);
}

/* ---- samples ---- */

static bool same_number(double a, double b)
{
	return isnan(a) ? isnan(b) : a == b;
}

static void test_samples(void)
{
	struct ty_plan p;
	struct ty_samples s, r;
	char path[] = "/tmp/tarry-samples.XXXXXX";
	CU_ASSERT_EQUAL_FATAL(parse(&p, everything), 0);
	CU_ASSERT_EQUAL_FATAL(ty_samples_from(&s, &p), 0);
	CU_ASSERT_EQUAL(ty_samples_about(&s, "command", "a\nb\tc"), 0);
	for (uint32_t i = 0; i < 14; i++) {
		struct ty_trial t = { .repetition = 1 + i / 2, .variant = i % 2, .order = 1 + i % 2,
				      .start = i * 1000000000ull, .count = 100 + i, .wall = 1.0 / (i + 3),
				      .program = (int)i, .load = -1 };
		for (unsigned m = 0; m < TY_X_COUNT; m++)
			t.value[m] = i == 4 ? NAN : 1e6 / (3 + i * TY_X_COUNT + m);
		t.l2 = i == 4 ? NAN : 1e7 / (7 + i);
		t.value[TY_X_RMS] = t.l2 / sqrt((double)t.count);
		if (i == 4)
			strcpy(t.why, "it broke: twice");
		CU_ASSERT_EQUAL_FATAL(ty_samples_add(&s, &t), 0);
	}
	strcpy(s.end, "complete");
	FILE *f = fdopen(mkstemp(path), "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(ty_samples_begin(f, &s, everything), 0);
	for (size_t i = 0; i < s.n; i++)
		CU_ASSERT_EQUAL(ty_samples_row(f, &s, &s.v[i]), 0);
	CU_ASSERT_EQUAL(ty_samples_end(f, &s), 0);
	fclose(f);
	CU_ASSERT_EQUAL_FATAL(ty_samples_read(&r, path, err), 0);
	CU_ASSERT_EQUAL(r.nvariants, 2);
	CU_ASSERT_EQUAL(r.base, 1);
	CU_ASSERT_EQUAL(r.measured, TY_MEASURED_REQUESTS);
	CU_ASSERT_EQUAL(r.judged, s.judged);
	CU_ASSERT_EQUAL(r.seed, UINT64_MAX);
	CU_ASSERT_EQUAL(r.repetitions, 7);
	CU_ASSERT_EQUAL(r.about.n, 1);
	CU_ASSERT_STRING_EQUAL(r.about.v[0], "command: a?b?c");
	CU_ASSERT_TRUE(ty_samples_complete(&r));
	CU_ASSERT_EQUAL_FATAL(r.n, 14);
	for (size_t i = 0; i < 14; i++) {
		const struct ty_trial *a = &s.v[i], *b = &r.v[i];
		CU_ASSERT(a->repetition == b->repetition && a->variant == b->variant && a->count == b->count);
		for (unsigned m = 0; m < TY_X_COUNT; m++)
			CU_ASSERT(same_number(a->value[m], b->value[m]));
		CU_ASSERT(same_number(a->l2, b->l2) && same_number(a->wall, b->wall));
		CU_ASSERT_EQUAL(a->program, b->program);
		CU_ASSERT_EQUAL(b->load, -1);
		CU_ASSERT_STRING_EQUAL(a->why, b->why);
	}
	ty_samples_free(&r);
	ty_samples_free(&s);
	ty_plan_free(&p);
	unlink(path);
}

int main(void)
{
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("experiment", NULL, NULL);
	CU_add_test(s, "defaults", test_defaults);
	CU_add_test(s, "everything", test_everything);
	CU_add_test(s, "the example", test_example);
	CU_add_test(s, "mistakes leave nothing behind", test_mistake);
	CU_add_test(s, "a latency", test_latency);
	CU_add_test(s, "moments", test_moments);
	CU_add_test(s, "a long file", test_long_file);
	CU_add_test(s, "samples there and back", test_samples);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failures ? 1 : 0;
}

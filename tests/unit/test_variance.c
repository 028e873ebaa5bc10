/* SPDX-License-Identifier: MIT
 *
 * Shares, tails and standard errors against a plain recomputation, against
 * planted truth, and over 500 synthetic recordings.  Fixed seeds. */
#include <CUnit/Basic.h>
#include <math.h>
#include <stdio.h>

#include "analyze/cut.h"

#define SITES 6
#define MOST 20000

static uint64_t state;
static uint64_t next_u64(void) /* splitmix64 */
{
	uint64_t z = state += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}
static double uniform(void) { return (double)(next_u64() >> 11) / 9007199254740992.0; }
static double exponential(double mean) { return -mean * log(1 - uniform()); }

/* x[r][0 .. SITES-1] and x[r][SITES] = running, in ns; what was given to the ledger */
static uint64_t x[MOST][SITES + 1], latency[MOST];
static size_t requests;

static void add_rows(struct ty_ledger *l)
{
	for (size_t r = 0; r < requests; r++) {
		uint32_t site[SITES];
		uint64_t ns[SITES];
		struct ty_row row = { .end = 1000 * r, .cls = r % 3 == 0 ? 5 : 6 };
		row.latency = x[r][SITES];
		for (uint32_t i = 0; i < SITES; i++)
			if (x[r][i]) {
				site[row.n] = i;
				ns[row.n++] = x[r][i];
				row.latency += x[r][i];
			}
		latency[r] = row.latency;
		CU_ASSERT_EQUAL_FATAL(ty_ledger_add(l, &row, site, ns), 0);
	}
}

/* Six sites of every kind.  z is shared by 1, 2 (with it) and 3 (against it). */
static void generate(size_t n, double memory)
{
	double z = 1000;
	requests = n;
	for (size_t r = 0; r < n; r++) {
		z = memory * z + (1 - memory) * exponential(1000 * 1.0);
		double against = 3000 - 0.5 * z + exponential(200);
		x[r][0] = (uint64_t)(1e3 * exponential(700));
		x[r][1] = (uint64_t)(1e3 * (z + 100 * uniform()));
		x[r][2] = (uint64_t)(1e3 * (0.5 * z + exponential(300)));
		x[r][3] = (uint64_t)(1e3 * (against > 0 ? against : 0));
		x[r][4] = uniform() < 0.05 ? (uint64_t)(1e3 * exponential(2000)) : 0; /* rare and long */
		x[r][5] = 4000; /* constant */
		x[r][SITES] = (uint64_t)(1e3 * (500 + 2000 * uniform()));
	}
}

/* Two plain passes in long double, leaving out rows [from, to). */
static long double naive(size_t site, size_t from, size_t to)
{
	long double ml = 0, mx = 0, cov = 0, var = 0, n = (long double)(requests - (to - from));
	for (size_t r = 0; r < requests; r++)
		if (r < from || r >= to) {
			ml += latency[r];
			mx += x[r][site];
		}
	ml /= n;
	mx /= n;
	for (size_t r = 0; r < requests; r++)
		if (r < from || r >= to) {
			cov += (x[r][site] - mx) * (latency[r] - ml);
			var += (latency[r] - ml) * (latency[r] - ml);
		}
	return cov / var;
}

static int by_value(const void *a, const void *b)
{
	uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;
	return p < q ? -1 : p > q;
}

static void test_shares(void)
{
	struct ty_ledger l = { 0 };
	struct ty_result res;
	state = 1;
	generate(3000, 0.5);
	add_rows(&l);
	CU_ASSERT_EQUAL_FATAL(ty_variance(&l, SITES, 0.99, &res), 0);
	CU_ASSERT_TRUE(res.valid);
	CU_ASSERT_EQUAL(res.n, 3000);
	double sum = 0;
	for (size_t i = 0; i <= SITES; i++) {
		const struct ty_share *s = i < SITES ? &res.site[i] : &res.running;
		CU_ASSERT_DOUBLE_EQUAL(s->share, (double)naive(i, 0, 0), 1e-9);
		sum += s->share;
	}
	CU_ASSERT_DOUBLE_EQUAL(sum, 1, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(res.sum, 1, 1e-9);
	CU_ASSERT_TRUE(res.site[3].share < -0.01); /* negative stays visible */
	CU_ASSERT_DOUBLE_EQUAL(res.site[5].share, 0, 1e-9);
	ty_result_free(&res);
	ty_ledger_free(&l);
}

/* A huge mean with little variance: nothing is lost to rounding. */
static void test_conditioning(void)
{
	struct ty_ledger l = { 0 };
	struct ty_result res;
	state = 2;
	requests = 2000;
	for (size_t r = 0; r < requests; r++) {
		memset(x[r], 0, sizeof x[r]);
		x[r][0] = 3600000000000ull + next_u64() % 1000;
		x[r][SITES] = 1800000000000ull + next_u64() % 2000;
	}
	add_rows(&l);
	CU_ASSERT_EQUAL_FATAL(ty_variance(&l, SITES, 0.99, &res), 0);
	CU_ASSERT_DOUBLE_EQUAL(res.site[0].share, (double)naive(0, 0, 0), 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(res.sum, 1, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(res.var, 1e6 / 12 + 4e6 / 12, 3e4);
	ty_result_free(&res);
	ty_ledger_free(&l);
}

static void test_moments(void)
{
	static const uint64_t v[10] = { 10, 20, 30, 40, 50, 60, 70, 80, 90, 1000 };
	struct ty_ledger l = { 0 };
	struct ty_result res;
	for (uint64_t i = 0; i < 10; i++) {
		struct ty_row row = { .end = i, .latency = v[9 - i], .cls = TY_NONE };
		CU_ASSERT_EQUAL_FATAL(ty_ledger_add(&l, &row, NULL, NULL), 0);
	}
	CU_ASSERT_EQUAL_FATAL(ty_variance(&l, 1, 0.9, &res), 0);
	CU_ASSERT_DOUBLE_EQUAL(res.mean, 145, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(res.var, 81825, 1e-6); /* divided by n, not n - 1 */
	CU_ASSERT_DOUBLE_EQUAL(res.l2, sqrt(1028500), 1e-6);
	CU_ASSERT_EQUAL(res.p50, 50);
	CU_ASSERT_EQUAL(res.p95, 1000);
	CU_ASSERT_EQUAL(res.tail_at, 90);
	CU_ASSERT_EQUAL(res.tail_n, 2);
	CU_ASSERT_EQUAL(res.max, 1000);
	CU_ASSERT_EQUAL(res.blocks, 0); /* too few for standard errors */
	CU_ASSERT_DOUBLE_EQUAL(res.running.share, 1, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(res.running.tail, 1, 1e-12);
	ty_result_free(&res);
	ty_ledger_free(&l);
}

static void test_empty(void)
{
	struct ty_ledger l = { 0 };
	struct ty_result res;
	CU_ASSERT_EQUAL_FATAL(ty_variance(&l, 3, 0.99, &res), 0);
	CU_ASSERT_FALSE(res.valid);
	CU_ASSERT_EQUAL(res.n, 0);
	ty_result_free(&res);
	struct ty_row row = { .end = 5, .latency = 7, .cls = TY_NONE };
	for (int i = 0; i < 100; i++)
		CU_ASSERT_EQUAL_FATAL(ty_ledger_add(&l, &row, NULL, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(ty_variance(&l, 3, 0.99, &res), 0);
	CU_ASSERT_FALSE(res.valid); /* all the same */
	CU_ASSERT_EQUAL(res.running.share, 0);
	ty_result_free(&res);
	ty_ledger_free(&l);
}

static void test_tail(void)
{
	struct ty_ledger l = { 0 };
	struct ty_result res;
	static uint64_t sorted[MOST];
	state = 3;
	generate(5000, 0.3);
	add_rows(&l);
	CU_ASSERT_EQUAL_FATAL(ty_variance(&l, SITES, 0.95, &res), 0);
	memcpy(sorted, latency, requests * sizeof *sorted);
	qsort(sorted, requests, sizeof *sorted, by_value);
	uint64_t at = sorted[(size_t)(0.95 * 5000) - 1];
	CU_ASSERT_EQUAL(res.tail_at, at);
	long double n = 0, lt = 0, lm = 0, sum = 0;
	for (size_t r = 0; r < requests; r++) {
		lm += latency[r];
		if (latency[r] >= at) {
			n++;
			lt += latency[r];
		}
	}
	for (size_t i = 0; i <= SITES; i++) {
		long double t = 0, m = 0;
		for (size_t r = 0; r < requests; r++) {
			m += x[r][i];
			t += latency[r] >= at ? x[r][i] : 0;
		}
		double got = i < SITES ? res.site[i].tail : res.running.tail;
		CU_ASSERT_DOUBLE_EQUAL(got, (double)((t / n - m / requests) / (lt / n - lm / requests)), 1e-9);
		sum += got;
	}
	CU_ASSERT_DOUBLE_EQUAL((double)sum, 1, 1e-9);
	ty_result_free(&res);
	ty_ledger_free(&l);
}

static void test_jackknife(void)
{
	struct ty_ledger l = { 0 };
	struct ty_result res;
	state = 4;
	generate(1003, 0.5);
	add_rows(&l);
	CU_ASSERT_EQUAL_FATAL(ty_variance(&l, SITES, 0.99, &res), 0);
	CU_ASSERT_EQUAL_FATAL(res.blocks, 50);
	for (size_t i = 0; i <= SITES; i++) {
		long double sum = 0, sq = 0, b = res.blocks;
		for (size_t k = 0, from = 0, to; k < res.blocks; k++, from = to) {
			for (to = from; to < requests && to * res.blocks / requests == k; to++)
				;
			CU_ASSERT_TRUE(to - from == 1003 / res.blocks || to - from == 1003 / res.blocks + 1);
			long double d = naive(i, from, to);
			sum += d;
			sq += d * d;
		}
		double se = 1.0253 * (double)sqrtl((sq - sum * sum / b) * (b - 1) / b); /* t(49) / 1.96 */
		double got = i < SITES ? res.site[i].se : res.running.se;
		CU_ASSERT_DOUBLE_EQUAL(got, se, 1e-9);
	}
	ty_result_free(&res);
	ty_ledger_free(&l);
}

static void test_classes(void)
{
	struct ty_ledger l = { 0 };
	struct ty_result res;
	state = 5;
	generate(3000, 0);
	for (size_t r = 0; r < requests; r += 3)
		x[r][SITES] += 5000000;
	add_rows(&l);
	CU_ASSERT_EQUAL_FATAL(ty_variance(&l, SITES, 0.99, &res), 0);
	CU_ASSERT_EQUAL_FATAL(res.ncls, 2);
	CU_ASSERT_TRUE(res.cls[0].time > res.cls[1].time && res.cls[0].label != res.cls[1].label);
	const struct ty_class_stat *few = &res.cls[res.cls[1].label == 5], *many = &res.cls[res.cls[0].label == 5];
	CU_ASSERT_EQUAL(few->label, 5);
	CU_ASSERT_EQUAL(few->count, 1000);
	CU_ASSERT_EQUAL(many->count, 2000);
	double within = (few->var * 1000 + many->var * 2000) / 3000;
	CU_ASSERT_DOUBLE_EQUAL(within / res.var + res.var_between / res.var, 1, 1e-9);
	CU_ASSERT_TRUE(res.var_between > 0.3 * res.var && res.var_between < 0.9 * res.var);
	CU_ASSERT_DOUBLE_EQUAL((res.var_between + res.var_within) / res.var, 1, 1e-12);
	ty_result_free(&res);
	ty_ledger_free(&l);
}

/* 95 % intervals of 500 recordings cover the truth: the shares of one very long
 * recording of the same process (its own error is a twentieth of theirs). */
static void test_coverage(void)
{
	enum { RECORDINGS = 500, N = 3000, LONG = 400 };
	double truth[SITES + 1] = { 0 };
	unsigned hit[SITES + 1] = { 0 }, all = 0;
	struct ty_result res;
	/* truth by pooled moments */
	static long double sum_l, sum_ll, sum_x[SITES + 1], sum_xl[SITES + 1];
	long double n = (long double)LONG * N * 5;
	state = 6;
	for (int k = 0; k < LONG * 5; k++) {
		generate(N, 0.8);
		for (size_t r = 0; r < requests; r++) {
			long double lat = 0;
			for (size_t i = 0; i <= SITES; i++)
				lat += x[r][i];
			lat /= 1e6;
			sum_l += lat;
			sum_ll += lat * lat;
			for (size_t i = 0; i <= SITES; i++) {
				sum_x[i] += x[r][i] / 1e6L;
				sum_xl[i] += x[r][i] / 1e6L * lat;
			}
		}
	}
	for (size_t i = 0; i <= SITES; i++)
		truth[i] = (double)((sum_xl[i] - sum_x[i] * sum_l / n) / (sum_ll - sum_l * sum_l / n));
	for (int k = 0; k < RECORDINGS; k++) {
		struct ty_ledger l = { 0 };
		generate(N, 0.8);
		add_rows(&l);
		CU_ASSERT_EQUAL_FATAL(ty_variance(&l, SITES, 0.99, &res), 0);
		for (size_t i = 0; i <= SITES; i++) {
			const struct ty_share *s = i < SITES ? &res.site[i] : &res.running;
			if (i != 5)
				hit[i] += fabs(s->share - truth[i]) <= 1.96 * s->se;
		}
		ty_result_free(&res);
		ty_ledger_free(&l);
	}
	printf("\n    coverage of 95 %% intervals:");
	for (size_t i = 0; i <= SITES; i++) {
		if (i == 5) /* constant: share and error are 0 */
			continue;
		double part = (double)hit[i] / RECORDINGS;
		printf(" %.1f", 100 * part);
		CU_ASSERT_TRUE(part >= 0.90 && part <= 0.98);
		all += hit[i];
	}
	printf(" %%, together %.1f %% ", 100.0 * all / (6.0 * RECORDINGS));
}

static void test_sketch(void)
{
	static uint64_t v[MOST];
	struct ty_sketch a = { 0 }, b = { 0 }, all = { 0 };
	state = 7;
	for (size_t i = 0; i < MOST; i++) {
		v[i] = (uint64_t)exponential(1 << (i % 30));
		CU_ASSERT_EQUAL_FATAL(ty_sketch_add(i % 2 ? &a : &b, v[i]), 0);
		CU_ASSERT_EQUAL_FATAL(ty_sketch_add(&all, v[i]), 0);
	}
	CU_ASSERT_EQUAL_FATAL(ty_sketch_merge(&a, &b), 0);
	qsort(v, MOST, sizeof *v, by_value);
	for (size_t percent = 1; percent < 100; percent++) {
		double q = (double)percent / 100, got = (double)ty_sketch_quantile(&a, q);
		double exact = (double)v[(percent * MOST + 99) / 100 - 1];
		CU_ASSERT_TRUE(fabs(got - exact) <= exact / 128);
		CU_ASSERT_EQUAL(ty_sketch_quantile(&a, q), ty_sketch_quantile(&all, q));
	}
	CU_ASSERT_EQUAL_FATAL(ty_sketch_add(&a, UINT64_MAX), 0);
	CU_ASSERT_TRUE(ty_sketch_quantile(&a, 1) > UINT64_MAX / 128 * 127);
	ty_sketch_free(&a);
	ty_sketch_free(&b);
	ty_sketch_free(&all);
}

/* Waits that are late for the sketch count all the same, whatever their number. */
static void test_late(void)
{
	for (unsigned n = 1; n <= 3 * TY_LATE + 1; n++) {
		struct ty_site site = { 0 };
		struct ty_sketch all = { 0 };
		for (unsigned i = 0; i < n; i++) {
			uint64_t ns = (uint64_t)i * i * 977 + i;
			CU_ASSERT_EQUAL_FATAL(ty_site_stat(&site, ns), 0);
			CU_ASSERT_EQUAL_FATAL(ty_sketch_add(&all, ns), 0);
		}
		CU_ASSERT_EQUAL_FATAL(ty_site_settle(&site), 0);
		CU_ASSERT_EQUAL(site.sketch->n, n);
		CU_ASSERT_EQUAL(site.waits, n);
		CU_ASSERT_EQUAL(ty_site_p99(&site), site.max); /* of fewer than 100 */
		for (double q = 0.01; q <= 1; q += 0.01)
			CU_ASSERT_EQUAL(ty_sketch_quantile(site.sketch, q), ty_sketch_quantile(&all, q));
		ty_sketch_free(site.sketch);
		free(site.sketch);
		ty_sketch_free(&all);
	}
}

int main(void)
{
	static const struct { const char *name; void (*run)(void); } tests[] = {
		{ "shares", test_shares }, { "conditioning", test_conditioning }, { "moments by hand", test_moments },
		{ "nothing, and no variance", test_empty }, { "tail shares", test_tail },
		{ "block jackknife", test_jackknife }, { "classes", test_classes }, { "sketch", test_sketch },
		{ "late for the sketch", test_late },
		{ "intervals cover the truth", test_coverage },
	};
	if (CU_initialize_registry())
		return 1;
	CU_pSuite s = CU_add_suite("variance", NULL, NULL);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		CU_add_test(s, tests[i].name, tests[i].run);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures() + (CU_get_error() != CUE_SUCCESS);
	CU_cleanup_registry();
	return failed != 0;
}

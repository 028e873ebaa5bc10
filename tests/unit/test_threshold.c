/* SPDX-License-Identifier: MIT
 * Description: thresholds of orders: an object with a small share of choices is left to
 * libc and measured again, one above the threshold is not; auto keeps the candidate
 * under which the waits varied least, and goes on trying others. */
#include <CUnit/Basic.h>
#include "policies/threshold.c"

static struct ty_order_stat stat;

/* n waits of an object of whose grants one in `every` is a choice; returns how many
 * were native. */
static unsigned waits(unsigned n, unsigned every, uint32_t theta)
{
	unsigned native = 0;
	for (unsigned i = 0; i < n; i++) {
		if (ty_threshold_native(&stat, theta)) {
			native++;
			continue;
		}
		stat.grants++;
		stat.choices += stat.grants % every == 0;
	}
	return native;
}

static void test_fixed(void)
{
	stat = (struct ty_order_stat){ 0 };
	CU_ASSERT_EQUAL(waits(10000, 1000, 0), 0); /* 0: always ordered */
	stat = (struct ty_order_stat){ 0 };
	CU_ASSERT_EQUAL(waits(10000, 2, 400), 0); /* a half is above 0.4 */
	CU_ASSERT_EQUAL(stat.theta, 400);
	stat = (struct ty_order_stat){ 0 };
	CU_ASSERT_EQUAL(waits(TY_THETA_WINDOW, 10, 400), 0); /* not known yet */
	CU_ASSERT_EQUAL(waits(TY_THETA_RUN, 10, 400), TY_THETA_RUN);
	CU_ASSERT_EQUAL(waits(TY_THETA_WINDOW, 10, 400), 0); /* measured again */
	CU_ASSERT_EQUAL(waits(TY_THETA_RUN, 2, 400), TY_THETA_RUN);
	/* it has become crowded meanwhile, and stays ordered */
	CU_ASSERT_EQUAL(waits(100 * TY_THETA_WINDOW, 2, 400), 0);
	/* and back: the next window that is small ends it */
	CU_ASSERT_EQUAL(waits(2 * TY_THETA_WINDOW + TY_THETA_RUN, 100, 400), TY_THETA_RUN);
}

static void test_all_native(void)
{
	stat = (struct ty_order_stat){ 0 };
	/* above each share; only the measuring is ordered */
	unsigned n = 100 * (TY_THETA_WINDOW + TY_THETA_RUN);
	CU_ASSERT_EQUAL(waits(n, 1, TY_THETA_ALL), 100 * TY_THETA_RUN);
}

/* Waits whose length varies by the theta that is in force: share of the epochs in
 * which the best one was. */
static double kept(uint32_t rule, uint32_t best, unsigned epochs)
{
	unsigned good = 0;
	uint64_t random = 1;
	for (unsigned e = 0; e < epochs; e++) {
		uint32_t theta = ty_threshold_theta(rule, TY_THETA_AUTO);
		good += theta == best;
		for (unsigned i = 0; i < TY_THETA_EPOCH; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			uint64_t spread = theta == best ? 10000 : 40000 + theta * 10;
			ty_threshold_waited(rule, 1000000 + (random >> 33) % spread);
		}
	}
	return (double)good / epochs;
}

static void test_auto(void)
{
	CU_ASSERT_EQUAL(ty_threshold_theta(3, 250), 250);
	CU_ASSERT_EQUAL(ty_threshold_theta(3, 0), 0);
	for (uint32_t i = 0; i < CANDIDATES; i++) {
		kept(i, candidate[i], 100); /* finds it */
		double share = kept(i, candidate[i], 800);
		CU_ASSERT(share > 0.85);
		CU_ASSERT(share < 1); /* explores */
	}
	/* the load has changed: another is best now */
	kept(0, candidate[3], 400);
	CU_ASSERT(kept(0, candidate[3], 800) > 0.85);
	ty_threshold_waited(TY_RULES, 1); /* no rule of that number */
	CU_ASSERT_EQUAL(ty_threshold_theta(TY_RULES, TY_THETA_AUTO), TY_THETA_AUTO);
}

/* The longest waits do not overflow the sum of squares. */
static void test_long(void)
{
	for (unsigned e = 0; e < 100; e++)
		for (unsigned i = 0; i < TY_THETA_EPOCH; i++)
			ty_threshold_waited(7, i % 2 ? UINT64_MAX : 0);
	for (uint32_t i = 0; i < CANDIDATES; i++) /* half of them 2^27, half 0: variance 2^52 */
		CU_ASSERT(tuning[7].score[i] > 1ull << 51 && tuning[7].score[i] < 1ull << 53);
}

int main(void)
{
	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	CU_pSuite s = CU_add_suite("threshold", NULL, NULL);
	CU_add_test(s, "fixed", test_fixed);
	CU_add_test(s, "all native", test_all_native);
	CU_add_test(s, "auto", test_auto);
	CU_add_test(s, "long waits", test_long);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed ? 1 : 0;
}

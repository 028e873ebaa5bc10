/* SPDX-License-Identifier: MIT
 *
 * Lazy updates: the order of a backlog, what a full one drops, numbers that wrap,
 * and that a lock which somebody has is given up on. */
#include <CUnit/Basic.h>
#include <errno.h>

#define LLU_BACKLOG 8u
#include "policies/llu.h"

static void test_order(void)
{
	struct llu_backlog b = {.first = UINT32_MAX - 2, .end = UINT32_MAX - 2}; /* wraps within the test */
	uint64_t item;
	CU_ASSERT_FALSE(llu_next(&b, &item));
	for (uint64_t i = 0; i < 5; i++)
		llu_defer(&b, 100 + i);
	for (uint64_t i = 0; i < 5; i++)
		CU_ASSERT(llu_next(&b, &item) && item == 100 + i);
	CU_ASSERT_FALSE(llu_next(&b, &item));
	CU_ASSERT_EQUAL(b.dropped, 0);
}

static void test_full(void)
{
	struct llu_backlog b = {.first = 0};
	uint64_t item;
	for (uint64_t i = 0; i < 11; i++)
		llu_defer(&b, i);
	CU_ASSERT_EQUAL(b.dropped, 3);
	for (uint64_t i = 3; i < 11; i++)
		CU_ASSERT(llu_next(&b, &item) && item == i);
	CU_ASSERT_FALSE(llu_next(&b, &item));
}

static void *without_lock(void *arg)
{
	struct llu_backlog b = {.first = 0};
	uint64_t item, begin = llu_now();
	CU_ASSERT_FALSE(llu_lock(arg, &b, 7, 100000));
	CU_ASSERT(llu_now() - begin >= 100000);
	CU_ASSERT_FALSE(llu_lock(arg, &b, 8, 0));
	CU_ASSERT_EQUAL(b.deferred, 2);
	CU_ASSERT(llu_next(&b, &item) && item == 7);
	CU_ASSERT(llu_next(&b, &item) && item == 8);
	return NULL;
}

static void test_lock(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	struct llu_backlog b = {.first = 0};
	uint64_t item;
	pthread_t t;
	CU_ASSERT(llu_lock(&m, &b, 1, 0)); /* free: locked, and the caller does its item itself */
	CU_ASSERT_FALSE(llu_next(&b, &item));
	CU_ASSERT_EQUAL(pthread_mutex_trylock(&m), EBUSY);
	CU_ASSERT_EQUAL(pthread_create(&t, NULL, without_lock, &m), 0);
	pthread_join(t, NULL);
	pthread_mutex_unlock(&m);
}

int main(void)
{
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("llu", NULL, NULL);
	CU_add_test(s, "order", test_order);
	CU_add_test(s, "a full backlog", test_full);
	CU_add_test(s, "lock", test_lock);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	int failed = (int)CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed != 0;
}

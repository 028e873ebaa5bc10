/* SPDX-License-Identifier: MIT
 * Description: names for the rules of orders: functions of call paths and variables of a
 * module (this test's own) against patterns; decisions lie where the traced side looks
 * for them, and those that find no place are counted. */
#include <CUnit/Basic.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include "common/conf.h"
#include "recorder/match.h"
#include "recorder/symbols.h"
#include "tarry/arena.h"

#ifdef __SANITIZE_ADDRESS__
#define ASAN_NAMES 1 /* __odr_asan.shown_variable */
#else
#define ASAN_NAMES 0
#endif

extern int shown_variable[10];
int shown_variable[10] = { 1 };
static long hidden_variable = 1;

__attribute__((noinline)) static long planted_inner(long x)
{
	static long planted_local;
	planted_local += x + hidden_variable;
	return planted_local;
}

__attribute__((noinline)) static long planted_outer(long x)
{
	return planted_inner(x) + 1;
}

static struct ty_orders *arena;
static struct ty_settings set;
static struct ty_elf *self;
static uint64_t base;

static int take_base(struct dl_phdr_info *p, size_t size, void *arg)
{
	(void)size;
	*(uint64_t *)arg = p->dlpi_addr;
	return 1; /* the program comes first */
}

static struct ty_matcher *matcher(const char *orders)
{
	char err[TY_ERR_MAX] = "";
	memset(arena, 0, sizeof *arena);
	ty_settings_default(&set);
	if (ty_settings_parse(&set, "f", orders, strlen(orders), err) < 0)
		printf("%s\n", err);
	struct ty_matcher *m = ty_matcher_new(&set.orders, arena, false);
	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	return m;
}

static void end(struct ty_matcher *m)
{
	ty_matcher_free(m);
	ty_settings_free(&set);
}

/* What the traced side would find; policies/select.c looks in the same way. */
static uint16_t decided(uint64_t path)
{
	for (uint32_t i = 0; i < TY_DECIDED_PROBES; i++) {
		uint64_t d = arena->decided[(ty_mix(path) + i) & (TY_DECIDED - 1)];
		if (d >> 16 == path >> 16)
			return (uint16_t)d;
	}
	return 0;
}

static void decide(struct ty_matcher *m, uint64_t path, long (*functions[])(long), unsigned n, uint16_t rules)
{
	struct ty_match *p = calloc(1, sizeof *p + n * sizeof *p->frame);
	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	p->path = path;
	p->count = (uint16_t)n;
	for (unsigned i = 0; i < n; i++)
		p->frame[i] = (struct ty_match_frame){ (uint64_t)(uintptr_t)functions[i] - base, 1, rules, true };
	ty_matcher_path(m, (struct ty_elf *[]){ NULL, self }, 2, p);
	free(p);
}

static void test_names(void)
{
	CU_ASSERT_TRUE(ty_name_matches("lock_*", "lock_wait"));
	CU_ASSERT_TRUE(ty_name_matches("lock_wait", "lock_wait"));
	CU_ASSERT_TRUE(ty_name_matches("lock_wait", "lock_wait.part.0"));
	CU_ASSERT_TRUE(ty_name_matches("lock_wait.*", "lock_wait.part.0"));
	CU_ASSERT_TRUE(ty_name_matches("ns::Pool::*", "ns::Pool::get"));
	CU_ASSERT_FALSE(ty_name_matches("lock_wait", "lock_wait_row"));
	CU_ASSERT_FALSE(ty_name_matches("lock_wait", "my_lock_wait"));
	CU_ASSERT_FALSE(ty_name_matches("", ".text"));
}

#define PATH(n) (1ull << 63 | (uint64_t)(n) << 20 | 0xabcd)

static void test_paths(void)
{
	struct ty_matcher *m = matcher("orders:\n"
				       "  - {order: eldest, path: 'planted_in*'}\n"
				       "  - {order: eldest, path: planted_outer, module: x}\n"
				       "  - {order: eldest, module: x}\n"
				       "  - {order: fcfs, object: planted_outer}\n"
				       "  - {order: fcfs, path: no_such}\n"
				       "order_age: idle\norder_idle: [no_such, planted_outer]\n");
	long (*both[])(long) = { planted_inner, planted_outer };
	uint16_t idle = 1 << 5, all = 1 << 0 | 1 << 1 | 1 << 2 | idle;
	/* rules of a frame: whose pattern for the module fits it */
	decide(m, PATH(1), both, 2, all);
	CU_ASSERT_EQUAL(decided(PATH(1)), all);
	decide(m, PATH(2), both, 1, all); /* the inner one alone */
	CU_ASSERT_EQUAL(decided(PATH(2)), 1 << 0 | 1 << 2);
	decide(m, PATH(3), both, 2, 1 << 0 | idle); /* another module */
	CU_ASSERT_EQUAL(decided(PATH(3)), 1 << 0 | idle);
	decide(m, PATH(4), both, 2, 1 << 4);
	CU_ASSERT_EQUAL(decided(PATH(4)), 0);
	decide(m, PATH(1), both, 1, all); /* again: the same place */
	CU_ASSERT_EQUAL(decided(PATH(1)), 1 << 0 | 1 << 2);
	CU_ASSERT_EQUAL(ty_matcher_found(m), all);
	size_t used = 0;
	for (uint32_t i = 0; i < TY_DECIDED; i++)
		used += arena->decided[i] != 0;
	CU_ASSERT_EQUAL(used, 3);
	CU_ASSERT_EQUAL(ty_matcher_no_room(m), 0);
	end(m);
}

static void test_full(void)
{
	struct ty_matcher *m = matcher("orders: [{order: eldest, path: 'planted_*'}]\n");
	long (*one[])(long) = { planted_inner };
	for (uint32_t i = 0; i < TY_DECIDED; i++)
		arena->decided[i] = PATH(1000000) | 1;
	decide(m, PATH(1), one, 1, 1);
	CU_ASSERT_EQUAL(decided(PATH(1)), 0);
	CU_ASSERT_EQUAL(ty_matcher_no_room(m), 1);
	CU_ASSERT_EQUAL(arena->decided[0], PATH(1000000) | 1);
	end(m);
}

static bool holds(const struct ty_variable *v, size_t n, const void *at, uint16_t rules)
{
	uint64_t a = (uint64_t)(uintptr_t)at - base;
	for (size_t i = 0; i < n; i++)
		if (a >= v[i].lo && a < v[i].hi)
			return v[i].rules == rules;
	return false;
}

static void test_variables(void)
{
	struct ty_variable *v;
	char name[64];
	struct ty_matcher *m = matcher("orders:\n  - {order: eldest, object: '*_variable'}\n"
				       "  - {order: eldest, object: 'hidden_*'}\n"
				       "  - {order: eldest, object: planted_local}\n"
				       "  - {order: eldest, object: planted_outer}\n");
	size_t n = ty_matcher_variables(m, self, &v);
	CU_ASSERT(holds(v, n, &shown_variable[9], 1 << 0));
	CU_ASSERT(!holds(v, n, &shown_variable[10], 1 << 0));
	CU_ASSERT(holds(v, n, &hidden_variable, 1 << 0 | 1 << 1));
	/* with the local one, which no compiler calls just so; a function is no variable */
	CU_ASSERT_EQUAL(n, 3 + ASAN_NAMES);
	free(v);
	end(m);
	CU_ASSERT_TRUE(ty_symbols_variable_at(self, (uint64_t)(uintptr_t)&shown_variable[2] - base, name, sizeof name));
	CU_ASSERT_STRING_EQUAL(name, "shown_variable+0x8");
	CU_ASSERT_TRUE(ty_symbols_variable_at(self, (uint64_t)(uintptr_t)&shown_variable[0] - base, name, sizeof name));
	CU_ASSERT_STRING_EQUAL(name, "shown_variable");
	CU_ASSERT_FALSE(ty_symbols_variable_at(self, (uint64_t)(uintptr_t)planted_outer - base, name, sizeof name));
	m = matcher("orders: [{order: eldest, path: shown_variable}]\n");
	CU_ASSERT_EQUAL(ty_matcher_variables(m, self, &v), 0); /* no rule has a variable */
	CU_ASSERT_PTR_NULL(v);
	end(m);
}

int main(void)
{
	char err[TY_ERR_MAX];
	if (CU_initialize_registry() != CUE_SUCCESS || !(arena = calloc(1, sizeof *arena)) ||
	    ty_elf_open(&self, "/proc/self/exe", NULL, err) < 0)
		return 1;
	dl_iterate_phdr(take_base, &base);
	planted_outer(1);
	CU_pSuite s = CU_add_suite("match", NULL, NULL);
	CU_add_test(s, "names", test_names);
	CU_add_test(s, "call paths", test_paths);
	CU_add_test(s, "no room", test_full);
	CU_add_test(s, "variables", test_variables);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	ty_elf_close(self);
	free(arena);
	return failed ? 1 : 0;
}

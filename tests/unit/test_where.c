/* SPDX-License-Identifier: MIT
 *
 * --where: its grammar, what each condition lets through on a store whose
 * requests are known, and that every mistake is named with its column. */
#include "tree_help.h"

#include "analyze/run.h"

/* Eight kinds of requests by three bits: 1 locks, 2 flushes, 4 is slow; 25 of each. */
enum { HANDLE, LOCK_ROW, FLUSH };
static const char *const functions[] = { "handle", "lock_row", "flush_log(int, char)", NULL };
enum { EACH = 25 };

static void make_store(void)
{
	struct ty_store *s = new_store("where", functions);
	put_path(s, 0, 0, 0, HANDLE, LOCK_ROW, -1);
	put_path(s, 1, 0, 0, HANDLE, FLUSH, -1);
	nev = 0;
	now = 1000000000;
	for (uint64_t r = 0; r < 8 * EACH; r++) {
		mark(TY_MARK_BEGIN, r, r & 1 ? 1 : 2);
		run_for(r & 4 ? 6000000 : 1000000);
		if (r & 1)
			mutex(0, 1000);
		if (r & 2)
			wait_for(TY_OP_fdatasync, TY_CLASS_SYNC, 1, 5, 1000);
		mark(TY_MARK_END, r, 0);
		now = 1000000000 + (r + 1) * 10000000; /* 10 ms apart: 100 in a second */
	}
	finish_store(s);
}

static int count(const char *where)
{
	int rc = command(cmd_tree, "--json", "--where", where, store, NULL);
	if (rc)
		return -rc;
	json_t *j = json_loads(text, 0, NULL), *head = json_object_get(j, "tarry");
	int n = (int)json_integer_value(json_object_get(head, "requests"));
	CU_ASSERT_EQUAL(n + (int)json_integer_value(json_object_get(head, "left_out")), 8 * EACH);
	CU_ASSERT_STRING_EQUAL(string(head, "where"), where);
	json_decref(j);
	return n;
}

static void test_conditions(void)
{
	CU_ASSERT_EQUAL(count("site:lock_row"), 4 * EACH);
	CU_ASSERT_EQUAL(count("site:fdatasync"), 4 * EACH); /* an operation */
	CU_ASSERT_EQUAL(count("site:handle"), 6 * EACH);
	CU_ASSERT_EQUAL(count("site:\"flush_log(int, char)\""), 4 * EACH);
	CU_ASSERT_EQUAL(count("latency>5ms"), 4 * EACH);
	CU_ASSERT_EQUAL(count("latency < 1.5ms"), 4 * EACH);
	CU_ASSERT_EQUAL(count("latency>=1ms"), 8 * EACH);
	CU_ASSERT_EQUAL(count("latency>1ms"), 7 * EACH); /* one kind takes just that */
	CU_ASSERT_EQUAL(count("latency<=1ms"), EACH);
	CU_ASSERT_EQUAL(count("class=buy"), 4 * EACH);
	CU_ASSERT_EQUAL(count("class=\"browse all\""), 4 * EACH);
	CU_ASSERT_EQUAL(count("class:b"), 8 * EACH);
	CU_ASSERT_EQUAL(count("class:rows"), 4 * EACH);
	CU_ASSERT_EQUAL(count("thread=4712"), 8 * EACH);
	CU_ASSERT_EQUAL(count("process = 4711"), 8 * EACH);
	CU_ASSERT_EQUAL(count("time in 0s..1s"), 100);
	CU_ASSERT_EQUAL(count("time in 500ms..1s"), 50);
	CU_ASSERT_EQUAL(count("time in 0..9s"), 8 * EACH);
}

static void test_operators(void)
{
	CU_ASSERT_EQUAL(count("site:lock_row and site:fdatasync"), 2 * EACH);
	CU_ASSERT_EQUAL(count("site:lock_row or site:fdatasync"), 6 * EACH);
	CU_ASSERT_EQUAL(count("not site:lock_row"), 4 * EACH);
	CU_ASSERT_EQUAL(count("not not site:lock_row"), 4 * EACH);
	/* and binds tighter than or, not tighter than both */
	CU_ASSERT_EQUAL(count("latency>5ms or site:lock_row and site:fdatasync"), 5 * EACH);
	CU_ASSERT_EQUAL(count("(latency>5ms or site:lock_row) and site:fdatasync"), 3 * EACH);
	CU_ASSERT_EQUAL(count("not site:lock_row and site:fdatasync"), 2 * EACH);
	CU_ASSERT_EQUAL(count("not(site:lock_row and site:fdatasync)"), 6 * EACH);
	CU_ASSERT_EQUAL(count("  ( ( NOT Latency>5ms ) AND ( site:lock_row OR site:fdatasync ) ) "), 3 * EACH);
	CU_ASSERT_EQUAL(count("site:lock_row and not site:lock_row"), -1); /* none is left */
	CU_ASSERT_PTR_NOT_NULL(strstr(trouble, "no request"));
	CU_ASSERT_EQUAL(command(cmd_blame, "--where", "latency>50s", store, NULL), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(trouble, "is left by --where: the 200 there are"));
	CU_ASSERT_EQUAL(count("not class=\"\""), 8 * EACH);
}

static void test_mistakes(void)
{
	static const struct { const char *text, *column, *says; } t[] = {
		{ "", "column 1", "a condition is expected" },
		{ "latncy>5ms", "column 1", "did you mean 'latency'" },
		{ "lat>5ms", "column 1", "did you mean 'latency'" },
		{ "site:handle an class=buy", "column 13", "'and', 'or' or the end" },
		{ "site:handle and", "column 16", "a condition is expected" },
		{ "site:handle and (class=buy", "column 27", "')' is expected for the '(' in column 17" },
		{ "site:handle)", "column 12", "'and', 'or' or the end" },
		{ "site=handle", "column 5", "site:TEXT" },
		{ "site:", "column 6", "a text is expected" },
		{ "site:\"\"", "column 6", "a text is expected" },
		{ "class=", "column 7", "a text is expected" },
		{ "class:\"\"", "column 7", "a text is expected" },
		{ "site:\"abc", "column 6", "no end" },
		{ "latency>5", "column 9", "5ms" },
		{ "latency>-5ms", "column 9", "5ms" },
		{ "latency=5ms", "column 8", "latency>5ms" },
		{ "thread=abc", "column 8", "a whole number" },
		{ "thread=0", "column 8", "a whole number" },
		{ "process=99999999999", "column 9", "a whole number" },
		{ "time 2s..3s", "column 6", "time in 2s..5s" },
		{ "time in 2s", "column 9", "2s..5s" },
		{ "time in 2s..x", "column 13", "a time since the start" },
		{ "time in 3s..2s", "column 9", "ends before it begins" },
		/* names that the recording does not have: the nearest it has */
		{ "class=buy and site:lock_rwo", "column 20", "nearest: lock_row" },
		{ "class=bui", "column 7", "nearest: buy" },
		{ "class=\"browse al\"", "column 7", "browse all" },
		{ "thread=4713 or thread=4717", "column 23", "471" },
		{ "process=4712", "column 9", "4711" },
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		int n = count(t[i].text);
		CU_ASSERT_EQUAL(n, -2);
		CU_ASSERT_PTR_NOT_NULL(strstr(trouble, t[i].column));
		CU_ASSERT_PTR_NOT_NULL(strstr(trouble, t[i].says));
		if (n != -2 || !strstr(trouble, t[i].column) || !strstr(trouble, t[i].says))
			printf("\n  %s\n  %s", t[i].text, trouble);
		CU_ASSERT_TRUE(strchr(trouble, '\n') == trouble + strlen(trouble) - 1); /* one line */
	}
}

/* Trees that are too deep or too wide are refused, not crashed on. */
static void test_bounds(void)
{
	static char deep[20000];
	struct ty_where *w = NULL;
	memset(deep, '(', 10000);
	CU_ASSERT_EQUAL(ty_where_parse(&w, deep, err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "too deeply"));
	memset(deep, 0, sizeof deep);
	for (size_t i = 0; i + 4 < 19000; i += 4)
		memcpy(deep + i, "not ", 4);
	CU_ASSERT_EQUAL(ty_where_parse(&w, deep, err), -EINVAL);
	CU_ASSERT_PTR_NULL(w);
}

int main(void)
{
	CU_pSuite s = begin("where");
	CU_add_test(s, "the store", make_store);
	CU_add_test(s, "each condition", test_conditions);
	CU_add_test(s, "and, or, not, parentheses", test_operators);
	CU_add_test(s, "mistakes", test_mistakes);
	CU_add_test(s, "bounds", test_bounds);
	return finish();
}

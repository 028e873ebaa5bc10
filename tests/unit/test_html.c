/* SPDX-License-Identifier: MIT
 *
 * The data of tarry report --html: a planted store whose requests differ by one
 * ns each, so that every number of the sample, the histogram and the quantiles
 * is known; and a function whose name would end the element of the data. */
#include "tree_help.h"

enum { REQUESTS = 10000, SLOWEST = 400, OTHERS = 3600, RARE = 30, LINES = 24 };
#define EVIL "</script><!--&\xe2\x80\xa8"

static json_t *data;

/* Of all that have another order: a permutation, since 7919 is prime. */
static uint64_t rank_of(uint64_t request)
{
	return request * 7919 % REQUESTS;
}

/* 500 ns running, 400 + rank in the queue, 1000 at one of 30 other sites. */
static void make_planted(void)
{
	static char names[RARE][16];
	const char *functions[RARE + 3] = { "handle", EVIL };
	for (int i = 0; i < RARE; i++) {
		snprintf(names[i], sizeof names[i], "rare_%d", i);
		functions[i + 2] = names[i];
	}
	struct ty_store *s = new_store("planted", functions);
	put_path(s, 0, 0, 0, 0, 1, -1);
	for (int i = 0; i < RARE; i++)
		put_path(s, (uint32_t)i + 1, 0, 0, 0, i + 2, -1);
	nev = 0;
	now = 1000000000;
	for (uint64_t r = 0; r < REQUESTS; r++) {
		mark(TY_MARK_BEGIN, r, 1);
		run_for(500);
		mutex(0, 400 + rank_of(r));
		wait_for(TY_OP_futex_wait, TY_CLASS_FUTEX, 1 + (uint32_t)(r % RARE), 0x99, 1000);
		mark(TY_MARK_END, r, 0);
		run_for(100);
	}
	finish_store(s);
	CU_ASSERT_EQUAL_FATAL(command(cmd_report, "--html", "-", store, NULL), 0);
}

static void test_escaped(void)
{
	const char *from = strstr(text, "id=\"data\">");
	CU_ASSERT_PTR_NOT_NULL_FATAL(from);
	from += strlen("id=\"data\">");
	const char *to = strstr(from, "</script>");
	CU_ASSERT_PTR_NOT_NULL_FATAL(to);
	for (const char *p = from; p < to; p++)
		CU_ASSERT_TRUE_FATAL(*p != '<' && *p != '>' && *p != '&' && (unsigned char)*p < 0x80);
	data = json_loadb(from, (size_t)(to - from), 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(data);
	json_t *sites = json_object_get(json_object_get(data, "report"), "sites");
	CU_ASSERT_STRING_EQUAL(string(json_array_get(sites, 0), "function"), EVIL);
	CU_ASSERT_EQUAL(json_array_size(sites), RARE + 1);
}

static uint64_t at(json_t *array, size_t i)
{
	return (uint64_t)json_integer_value(json_array_get(array, i));
}

static void test_sample(void)
{
	json_t *s = json_object_get(data, "sample"), *rank = json_object_get(s, "rank");
	json_t *latency = json_object_get(s, "latency_ns"), *lines = json_object_get(s, "sites");
	json_t *rest = json_object_get(s, "other_sites");
	CU_ASSERT_EQUAL(number(s, "of"), REQUESTS);
	CU_ASSERT_EQUAL(number(s, "slowest"), SLOWEST);
	CU_ASSERT_EQUAL(number(s, "others"), OTHERS);
	CU_ASSERT_EQUAL_FATAL(json_array_size(rank), SLOWEST + OTHERS);
	CU_ASSERT_EQUAL_FATAL(json_array_size(lines), LINES);
	size_t bad = 0;
	for (size_t i = 0; i < SLOWEST + OTHERS; i++) {
		uint64_t want = i < OTHERS ? (uint64_t)(((double)i + 0.5) * (REQUESTS - SLOWEST) / OTHERS)
					   : REQUESTS - SLOWEST + (i - OTHERS);
		uint64_t ns = at(json_object_get(rest, "ns"), i), waits = at(json_object_get(rest, "waits"), i);
		for (size_t k = 0; k < LINES; k++) {
			ns += at(json_object_get(json_array_get(lines, k), "ns"), i);
			waits += at(json_object_get(json_array_get(lines, k), "waits"), i);
		}
		bad += at(rank, i) != want || at(latency, i) != 1900 + want || ns != 1400 + want || waits != 2;
	}
	CU_ASSERT_EQUAL(bad, 0);
}

/* The queue makes the variance, so it comes first, with the rank in every number. */
static void test_line(void)
{
	json_t *s = json_object_get(data, "sample"), *line = json_array_get(json_object_get(s, "sites"), 0);
	json_t *site = json_array_get(json_object_get(json_object_get(data, "report"), "sites"), 0);
	size_t bad = 0;
	CU_ASSERT_STRING_EQUAL(string(line, "site"), string(site, "id"));
	for (size_t i = 0; i < SLOWEST + OTHERS; i++)
		bad += at(json_object_get(line, "ns"), i) != 400 + at(json_object_get(s, "rank"), i) ||
		       at(json_object_get(line, "waits"), i) != 1;
	CU_ASSERT_EQUAL(bad, 0);
}

static void test_latency(void)
{
	json_t *l = json_object_get(data, "latency"), *h = json_object_get(l, "histogram"), *pair;
	json_t *edges = json_object_get(h, "edges_ns"), *counts = json_object_get(h, "counts");
	size_t n = json_array_size(counts), bad = 0, i;
	double last = -1;
	CU_ASSERT_EQUAL_FATAL(json_array_size(edges), n + 1);
	CU_ASSERT_EQUAL(json_real_value(json_array_get(edges, 0)), 1900);
	CU_ASSERT_EQUAL(json_real_value(json_array_get(edges, n)), 1900 + REQUESTS - 1);
	for (i = 0; i < n; i++) { /* one request at each ns */
		double from = ceil(json_real_value(json_array_get(edges, i)));
		double to = ceil(json_real_value(json_array_get(edges, i + 1))) + (i == n - 1);
		bad += at(counts, i) != (uint64_t)(to - from);
	}
	CU_ASSERT_EQUAL(bad, 0);
	json_array_foreach(json_object_get(l, "quantiles"), i, pair) {
		double q = json_real_value(json_array_get(pair, 0)), rank = ceil(q * REQUESTS - 1e-9);
		bad += q <= last || at(pair, 1) != 1900 + (uint64_t)(rank < 1 ? 0 : rank - 1);
		last = q;
	}
	CU_ASSERT_EQUAL(bad, 0);
	CU_ASSERT_EQUAL(last, 1);
	CU_ASSERT_TRUE(i > 50);
}

/* The tree's report shares add up: the root's is 1, each parent's that of its children. */
static void test_tree(void)
{
	json_t *nodes = json_object_get(json_object_get(data, "tree"), "nodes"), *v, *w;
	size_t i, k, bad = 0;
	CU_ASSERT_TRUE(fabs(number(json_array_get(nodes, 0), "report_share") - 1) < 1e-9);
	json_array_foreach(nodes, i, v) {
		double sum = 0;
		bool any = false;
		json_array_foreach(nodes, k, w) {
			json_t *parent = json_object_get(w, "parent");
			if (!json_is_integer(parent) || json_integer_value(parent) != (json_int_t)number(v, "node"))
				continue;
			any = true;
			sum += number(w, "report_share");
		}
		bad += any && fabs(sum - number(v, "report_share")) > 1e-9;
	}
	CU_ASSERT_EQUAL(bad, 0);
	CU_ASSERT_TRUE(json_array_size(nodes) > RARE);
}

/* More sites than a page lists: the others are summed up, and all shares are still 1. */
static void test_many_sites(void)
{
	enum { MANY = 700, LISTED = 500, MANY_REQUESTS = 1400 };
	static char names[MANY][16];
	static const char *functions[MANY + 2] = { "handle" };
	for (int i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof names[i], "many_%d", i);
		functions[i + 1] = names[i];
	}
	struct ty_store *s = new_store("many", functions);
	for (int i = 0; i < MANY; i++)
		put_path(s, (uint32_t)i, 0, 0, 0, i + 1, -1);
	nev = 0;
	now = 1000000000;
	for (uint64_t r = 0; r < MANY_REQUESTS; r++) {
		mark(TY_MARK_BEGIN, r, 1);
		run_for(500);
		mutex((uint32_t)(r % MANY), 1000 + r % MANY * 10);
		mark(TY_MARK_END, r, 0);
		run_for(100);
	}
	finish_store(s);
	CU_ASSERT_EQUAL_FATAL(command(cmd_report, "--html", "-", store, NULL), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "<code>tarry tail</code>")); /* where the tables are without scripts */
	const char *from = strstr(text, "id=\"data\">") + strlen("id=\"data\">");
	json_t *j = json_loadb(from, (size_t)(strstr(from, "</script>") - from), 0, NULL), *v;
	CU_ASSERT_PTR_NOT_NULL_FATAL(j);
	json_t *left = json_object_get(j, "sites_left"), *report = json_object_get(j, "report");
	double sum = number(left, "share") + number(json_object_get(report, "running"), "share");
	double waits = number(left, "waits");
	size_t i;
	CU_ASSERT_EQUAL(json_array_size(json_object_get(report, "sites")), LISTED);
	CU_ASSERT_EQUAL(number(left, "sites"), MANY - LISTED);
	json_array_foreach(json_object_get(report, "sites"), i, v) {
		sum += number(v, "share");
		waits += number(v, "waits");
	}
	CU_ASSERT_DOUBLE_EQUAL(sum, 1, 1e-9);
	CU_ASSERT_EQUAL(waits, MANY_REQUESTS);
	json_decref(j);
}

int main(void)
{
	CU_pSuite s = begin("html");
	CU_add_test(s, "the planted store", make_planted);
	CU_add_test(s, "names are escaped", test_escaped);
	CU_add_test(s, "the sample of requests", test_sample);
	CU_add_test(s, "times of one site", test_line);
	CU_add_test(s, "histogram and quantiles", test_latency);
	CU_add_test(s, "shares of the tree add up", test_tree);
	CU_add_test(s, "more sites than are listed", test_many_sites);
	int failed = finish();
	json_decref(data);
	return failed;
}

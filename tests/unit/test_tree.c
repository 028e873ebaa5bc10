/* SPDX-License-Identifier: MIT
 *
 * tarry tree: a planted store in which every variance and covariance is known,
 * one of them negative, with its factors worked out by hand; sums against a
 * plain recomputation; many siblings. */
#include "tree_help.h"

#include "analyze/tree.h"

#define NEAR(a, b) CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-6)

/* ---- the planted store ----
 *
 *   request
 *     main > loop > handle                         all paths: folded away
 *       update > lock_row > pthread_mutex_lock     A = 5000 + 2000 u + 1000 v
 *       commit > flush > fdatasync                 B = 4000 - 1500 u
 *       audit > lock_row > pthread_mutex_lock      C = 3000 + 700 v + 500 w
 *     running                                      R = 10000 + 300 w
 *
 * u, v, w are -1 or 1 by three bits of the request's number, so over whole
 * eights they have mean 0, variance 1, and do not correlate.
 *
 *   Var A = 4e6 + 1e6 = 5e6    Var B = 2.25e6    Var C = 0.49e6 + 0.25e6 = 0.74e6    Var R = 0.09e6
 *   Cov AB = -3e6    Cov AC = 0.7e6    Cov CR = 0.15e6    all others 0
 *   L = 22000 + 500 u + 1700 v + 800 w:    Var L = 0.25e6 + 2.89e6 + 0.64e6 = 3.78e6
 *     = 5e6 + 2.25e6 + 0.74e6 + 0.09e6 + 2 (-3e6 + 0.7e6 + 0.15e6)
 */
#define VAR 3.78e6

enum { MAIN, LOOP, HANDLE, UPDATE, COMMIT, AUDIT, LOCK_ROW, FLUSH, FUNCTIONS };
static const char *const functions[] = { "main", "loop", "handle", "update", "commit", "audit", "lock_row", "flush", NULL };

static void make_planted(void)
{
	struct ty_store *s = new_store("planted", functions);
	put_path(s, 0, 0, 0, MAIN, LOOP, HANDLE, UPDATE, LOCK_ROW, -1);
	put_path(s, 1, 0, 1, MAIN, LOOP, HANDLE, UPDATE, LOCK_ROW, -1); /* another place in the same function */
	put_path(s, 2, 0, 0, MAIN, LOOP, HANDLE, COMMIT, FLUSH, -1);
	put_path(s, 3, 0, 2, MAIN, LOOP, HANDLE, AUDIT, LOCK_ROW, -1);
	nev = 0;
	now = 1000000000;
	for (uint64_t r = 0; r < 4000; r++) {
		int u = r & 1 ? 1 : -1, v = r & 2 ? 1 : -1, w = r & 4 ? 1 : -1;
		uint64_t a = (uint64_t)(5000 + 2000 * u + 1000 * v);
		mark(TY_MARK_BEGIN, r, r % 2 ? 1 : 2);
		run_for((uint64_t)(10000 + 300 * w));
		mutex(0, a / 2);
		mutex(1, a - a / 2);
		wait_for(TY_OP_fdatasync, TY_CLASS_SYNC, 2, 5, (uint64_t)(4000 - 1500 * u));
		mutex(3, (uint64_t)(3000 + 700 * v + 500 * w));
		mark(TY_MARK_END, r, 0);
		run_for(777);
	}
	finish_store(s);
}

static json_t *tree(const char *option, const char *value)
{
	int rc = option ? command(cmd_tree, "--json", store, option, value, NULL) : command(cmd_tree, "--json", store, NULL);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
	json_t *j = json_loads(text, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(j);
	return j;
}

static json_t *node(json_t *j, const char *name, const char *parent)
{
	size_t i;
	json_t *n, *p, *list = json_object_get(j, "nodes");
	json_array_foreach(list, i, n) {
		if (strcmp(string(n, "name"), name) != 0)
			continue;
		size_t k;
		json_array_foreach(list, k, p)
			if (json_integer_value(json_object_get(p, "node")) == json_integer_value(json_object_get(n, "parent")) &&
			    !strcmp(string(p, "name"), parent))
				return n;
	}
	CU_FAIL("no such node");
	return NULL;
}

static double pair(json_t *j, json_t *a, json_t *b)
{
	size_t i;
	json_t *p;
	json_int_t x = json_integer_value(json_object_get(a, "node")), y = json_integer_value(json_object_get(b, "node"));
	json_array_foreach(json_object_get(j, "pairs"), i, p) {
		json_int_t m = json_integer_value(json_object_get(p, "a")), n = json_integer_value(json_object_get(p, "b"));
		if ((m == x && n == y) || (m == y && n == x))
			return number(p, "share");
	}
	return 0;
}

static void test_planted(void)
{
	json_t *j = tree(NULL, NULL);
	json_t *update = node(j, "update", "request"), *commit = node(j, "commit", "request");
	json_t *audit = node(j, "audit", "request"), *running = node(j, "running", "request");
	NEAR(number(json_object_get(j, "tarry"), "requests"), 4000);
	NEAR(number(j, "var_ns2") / VAR, 1);
	NEAR(number(j, "mean_ns"), 22000);
	NEAR(number(j, "latency_share"), 1);
	CU_ASSERT_STRING_EQUAL(string(j, "folded"), "main > loop > handle");
	NEAR(number(update, "share"), 5e6 / VAR);
	NEAR(number(commit, "share"), 2.25e6 / VAR);
	NEAR(number(audit, "share"), 0.74e6 / VAR);
	NEAR(number(running, "share"), 0.09e6 / VAR);
	NEAR(number(update, "mean_ns"), 5000);
	NEAR(number(running, "mean_ns"), 10000);
	NEAR(pair(j, update, commit), 2 * -3e6 / VAR); /* negative stays visible */
	NEAR(pair(j, update, audit), 2 * 0.7e6 / VAR);
	NEAR(pair(j, audit, running), 2 * 0.15e6 / VAR);
	NEAR(pair(j, commit, audit), 0);
	NEAR(pair(j, update, running), 0);
	/* down to the waits; two places in lock_row are one function */
	NEAR(number(node(j, "lock_row", "update"), "share"), 5e6 / VAR);
	NEAR(number(node(j, "lock_row", "audit"), "share"), 0.74e6 / VAR);
	NEAR(number(node(j, "fdatasync", "flush"), "share"), 2.25e6 / VAR);
	CU_ASSERT_TRUE(number(j, "residual") < 1e-12);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(j, "checked")), 1); /* the others have one child */
	json_decref(j);
}

/* Heights: waits and running 0, lock_row and flush 1, update, commit and audit 2, the request 3.
 *
 *   factor                                share V            height  (3 - h)^2  score
 *   lock_row: pthread_mutex_lock          5.74 / 3.78           0        9      13.667
 *   lock_row                              5.74 / 3.78           1        4       6.074
 *   flush: fdatasync                      2.25 / 3.78           0        9       5.357
 *   lock_row: ... with itself             1.40 / 3.78           0        9       3.333
 *   flush                                 2.25 / 3.78           1        4       2.381
 *   update                                5.00 / 3.78           2        1       1.323
 *   lock_row: ... with running            0.30 / 3.78 = 7.9 %   0        9       0.714
 *   commit                                2.25 / 3.78           2        1       0.595
 *   audit                                 0.74 / 3.78           2        1       0.196
 *   running                               0.09 / 3.78 = 2.4 %: less than 5 %
 *   lock_row: ... with flush: ...         -6.00 / 3.78: less than 5 %
 *
 * Of these lock_row, flush and commit are but the way to the wait below them,
 * and one wait below update, and below audit, holds all that these hold. */
static const struct { const char *a, *b; double share, height, specificity; bool best; } by_hand[] = {
	{ "lock_row: pthread_mutex_lock", NULL, 5.74e6, 0, 9, true },
	{ "lock_row", NULL, 5.74e6, 1, 4, false },
	{ "flush: fdatasync", NULL, 2.25e6, 0, 9, true },
	{ "lock_row: pthread_mutex_lock", "lock_row: pthread_mutex_lock", 1.4e6, 0, 9, true },
	{ "flush", NULL, 2.25e6, 1, 4, false },
	{ "update", NULL, 5e6, 2, 1, false },
	{ "lock_row: pthread_mutex_lock", "running", 0.3e6, 0, 9, true },
	{ "commit", NULL, 2.25e6, 2, 1, false },
	{ "audit", NULL, 0.74e6, 2, 1, false },
};
#define BY_HAND (sizeof by_hand / sizeof *by_hand)

static void check_factor(json_t *f, size_t k)
{
	json_t *names = json_object_get(f, "functions");
	const char *a = json_string_value(json_array_get(names, 0)), *b = json_string_value(json_array_get(names, 1));
	if (by_hand[k].b && strcmp(a, by_hand[k].a) != 0) { /* a pair has no order */
		const char *c = a;
		a = b;
		b = c;
	}
	CU_ASSERT_STRING_EQUAL_FATAL(a, by_hand[k].a);
	CU_ASSERT_EQUAL_FATAL(!b, !by_hand[k].b);
	if (b)
		CU_ASSERT_STRING_EQUAL(b, by_hand[k].b);
	NEAR(number(f, "share"), by_hand[k].share / VAR);
	NEAR(number(f, "height"), by_hand[k].height);
	NEAR(number(f, "specificity"), by_hand[k].specificity);
	NEAR(number(f, "score"), by_hand[k].specificity * by_hand[k].share / VAR);
}

static void test_factors(void)
{
	CU_ASSERT_EQUAL_FATAL(command(cmd_tree, "-j", "-k20", "--all-factors", store, NULL), 0);
	json_t *j = json_loads(text, 0, NULL), *f = json_object_get(j, "factors");
	NEAR(number(j, "height"), 3);
	CU_ASSERT_EQUAL_FATAL(json_array_size(f), BY_HAND);
	for (size_t k = 0; k < BY_HAND; k++)
		check_factor(json_array_get(f, k), k);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(json_array_get(f, 0), "places")), 2);
	json_decref(j);

	j = tree(NULL, NULL);
	f = json_object_get(j, "factors");
	size_t n = 0;
	for (size_t k = 0; k < BY_HAND; k++)
		if (by_hand[k].best)
			check_factor(json_array_get(f, n++), k);
	CU_ASSERT_EQUAL(json_array_size(f), n);
	CU_ASSERT_STRING_EQUAL(string(json_array_get(f, 1), "sentence"),
			       "flush waits for data to reach the disk (fdatasync) in commit");
	json_decref(j);

	j = tree("-k", "2");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(j, "factors")), 2);
	json_decref(j);
	j = tree("-d", "40");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(j, "factors")), 2);
	json_decref(j);
}

static void test_options(void)
{
	json_t *j = tree("--root", "update");
	CU_ASSERT_STRING_EQUAL(string(j, "root"), "update");
	NEAR(number(j, "var_ns2") / 5e6, 1);
	NEAR(number(j, "latency_share"), 5e6 / VAR);
	NEAR(number(node(j, "lock_row", "update"), "share"), 1);
	json_decref(j);
	j = tree("--root", "lock_r"); /* a part of a name will do if it is the only one; both places together */
	NEAR(number(j, "var_ns2") / (5.74e6 + 2 * 0.7e6), 1);
	json_decref(j);
	j = tree("--depth", "1");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(j, "nodes")), 6); /* request, 3 functions, running, held up */
	json_decref(j);
	CU_ASSERT_EQUAL(command(cmd_tree, "--no-fold", "-j", store, NULL), 0);
	j = json_loads(text, 0, NULL);
	NEAR(number(node(j, "update", "handle"), "share"), 5e6 / VAR);
	NEAR(number(j, "height"), 6);
	json_decref(j);
	CU_ASSERT_EQUAL(command(cmd_tree, "--root", "lock_rwo", store, NULL), 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(trouble, "lock_row"));
	CU_ASSERT_EQUAL(command(cmd_tree, "-d", "0", store, NULL), 2);
	CU_ASSERT_EQUAL(command(cmd_tree, "-k", "x", store, NULL), 2);
	CU_ASSERT_EQUAL(command(cmd_tree, "--json", NULL), 2);
	CU_ASSERT_EQUAL(command(cmd_tree, "/nonexistent", NULL), 1);
	CU_ASSERT_EQUAL(command(cmd_tree, "--requests", "none", store, NULL), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(trouble, "no requests"));
}

static void test_text(void)
{
	CU_ASSERT_EQUAL(command(cmd_tree, store, NULL), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "folded away, since all paths begin with it: main > loop > handle"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "-159 %")); /* 2 Cov AB */
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "update  against  commit"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "update  with  audit"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "update > lock_row > pthread_mutex_lock"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "lock_row waits for a mutex (pthread_mutex_lock)"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "checked: 1 function is the sum of its parts"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "tarry report's share is a covariance with latency"));
	for (char *p = text, *end; (end = strchr(p, '\n')); p = end + 1)
		CU_ASSERT_TRUE(end - p <= 140);
}

/* ---- sums, without a store ---- */

static uint64_t state = 7;
static uint64_t next_u64(void) /* splitmix64 */
{
	uint64_t z = state += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* Site i waits at the path [i, i / width, 0], leaf first: sites / width functions of width children. */
static void make_run(struct run *r, uint32_t sites, uint32_t width)
{
	static const struct ty_op_info op = { .name = "fsync", .class_name = "sync" };
	static const struct ty_module_info module = { .path = "/x/app" };
	struct ty_path *p = calloc(sites, sizeof *p);
	struct ty_frame *f = calloc(3 * (size_t)sites, sizeof *f);
	memset(r, 0, sizeof *r);
	for (uint32_t i = 0; i < sites; i++) {
		f[3 * i] = (struct ty_frame){ .offset = 1000000 + i };
		f[3 * i + 1] = (struct ty_frame){ .offset = 1 + i / width };
		f[3 * i + 2] = (struct ty_frame){ .offset = 0 };
		p[i] = (struct ty_path){ .count = 3, .frames = &f[3 * i] };
	}
	r->t = (struct ty_tables){ .ops = &op, .nops = 1, .modules = &module, .nmodules = 1, .paths = p, .npaths = sites };
	CU_ASSERT_EQUAL_FATAL(ty_pass_names(r, err), 0);
	CU_ASSERT_EQUAL_FATAL(ty_sites_init(&r->sites, TY_BY_SITE, r->names.group, sites, r->names.ngroups, 1), 0);
	for (uint32_t i = 0; i < sites; i++) {
		struct ty_ev e = { .path = i };
		int64_t k = ty_sites_key(&r->sites, &e);
		CU_ASSERT_EQUAL_FATAL(k, i + 1);
		r->sites.v[k].waits = 1;
	}
}

static void drop_run(struct run *r)
{
	free((void *)(uintptr_t)r->t.paths[0].frames);
	free((void *)(uintptr_t)r->t.paths);
	ty_run_free(r);
}

#define ROWS 3000

static long double moment(const uint64_t *a, const uint64_t *b, size_t from, size_t to)
{
	long double n = 0, ma = 0, mb = 0, c = 0;
	for (size_t i = 0; i < ROWS; i++)
		if (i < from || i >= to) {
			n++;
			ma += a[i];
			mb += b[i];
		}
	for (size_t i = 0; i < ROWS; i++)
		if (i < from || i >= to)
			c += (a[i] - ma / n) * (b[i] - mb / n);
	return c / n;
}

static void sums_with(uint64_t much)
{
	static uint64_t group[4][ROWS], latency[ROWS];
	struct run r;
	struct ty_tree t;
	make_run(&r, 30, 10);
	memset(group, 0, sizeof group);
	for (size_t i = 0; i < ROWS; i++) {
		uint32_t site[30];
		uint64_t ns[30], z = next_u64() % 1000000;
		struct ty_row row = { .end = i, .cls = TY_NONE };
		row.latency = latency[i] = much + next_u64() % 5000;
		for (uint32_t k = 0; k < 30; k++)
			if (next_u64() % 3 == 0) {
				site[row.n] = k + 1;
				ns[row.n] = 1 + z / (k + 1) + next_u64() % 1000;
				group[k / 10][i] += ns[row.n];
				row.latency += ns[row.n++];
			}
		group[3][i] = latency[i];
		latency[i] = row.latency;
		CU_ASSERT_EQUAL_FATAL(ty_ledger_add(&r.rows, &row, site, ns), 0);
	}
	CU_ASSERT_EQUAL_FATAL(ty_tree_build(&t, &r, NULL, true, err), 0);
	CU_ASSERT_EQUAL_FATAL(ty_tree_sums(&t, &r.rows, err), 0);
	ty_tree_shares(&t);
	CU_ASSERT_EQUAL(ty_tree_check(&t, err), 0);
	CU_ASSERT_EQUAL(t.checked, 4);
	long double var = moment(latency, latency, 0, 0);
	NEAR(t.var / (double)var, 1);
	CU_ASSERT_EQUAL(ty_tree_errors(&t, &r.rows, 1e-6), 0);
	uint32_t of[3] = { 0 };
	for (uint32_t i = 1, k = 0; i < t.n; i++)
		if (t.v[i].kind == TY_NODE_FUNCTION && t.v[i].parent == 0 && k < 3)
			of[k++] = i;
	for (int k = 0; k < 3; k++) {
		NEAR(t.v[of[k]].share, (double)(moment(group[k], group[k], 0, 0) / var));
		/* the error: leave out each of 50 blocks of 60 requests */
		double left[50], mean = 0, sq = 0;
		for (size_t b = 0; b < 50; b++) {
			left[b] = (double)(moment(group[k], group[k], 60 * b, 60 * b + 60) /
					   moment(latency, latency, 60 * b, 60 * b + 60));
			mean += left[b] / 50;
		}
		for (size_t b = 0; b < 50; b++)
			sq += (left[b] - mean) * (left[b] - mean);
		NEAR(t.v[of[k]].se, 1.0253 * sqrt(sq * 49 / 50));
		NEAR(ty_tree_pair(&t, t.v[of[k]].acc, t.running), (double)(2 * moment(group[k], group[3], 0, 0) / var));
	}
	NEAR(ty_tree_pair(&t, t.v[of[0]].acc, t.v[of[2]].acc), (double)(2 * moment(group[0], group[2], 0, 0) / var));
	double left[50], mean = 0, sq = 0;
	for (size_t b = 0; b < 50; b++) {
		left[b] = (double)(2 * moment(group[0], group[1], 60 * b, 60 * b + 60) /
				   moment(latency, latency, 60 * b, 60 * b + 60));
		mean += left[b] / 50;
	}
	for (size_t b = 0; b < 50; b++)
		sq += (left[b] - mean) * (left[b] - mean);
	CU_ASSERT_TRUE(sq > 0);
	NEAR(ty_tree_pair_error(&t, t.v[of[0]].acc, t.v[of[1]].acc), 1.0253 * sqrt(sq * 49 / 50));
	ty_tree_free(&t);
	drop_run(&r);
}

static void test_sums(void)
{
	sums_with(1000000000000); /* much mean, little variance: products of more than 64 bits */
	sums_with(1000000);
}

/* The proof finds what does not add up. */
static void test_check(void)
{
	struct run r;
	struct ty_tree t;
	make_run(&r, 6, 3);
	for (size_t i = 0; i < 100; i++) {
		uint32_t site[2] = { 1 + (uint32_t)(i % 3), 4 };
		uint64_t ns[2] = { 100 + i, 50 + i % 7 };
		struct ty_row row = { .end = i, .latency = 1000 + i, .n = 2 };
		ty_ledger_add(&r.rows, &row, site, ns);
	}
	CU_ASSERT_EQUAL_FATAL(ty_tree_build(&t, &r, NULL, true, err), 0);
	CU_ASSERT_EQUAL_FATAL(ty_tree_sums(&t, &r.rows, err), 0);
	ty_tree_shares(&t);
	CU_ASSERT_EQUAL(ty_tree_check(&t, err), 0);
	t.acc[t.accs - 1].xx++;
	CU_ASSERT_EQUAL(ty_tree_check(&t, err), -EPROTO);
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "internal error"));
	t.acc[t.accs - 1].xx--;
	t.pair[0]++;
	CU_ASSERT_EQUAL(ty_tree_check(&t, err), -EPROTO);
	ty_tree_free(&t);
	drop_run(&r);
}

/* More siblings than a table of pairs is made for: only those seen together take memory. */
static void test_many_siblings(void)
{
	enum { SITES = 6000 };
	struct run r;
	struct ty_tree t;
	uint64_t sum[3] = { 0 }, products = 0;
	make_run(&r, SITES, SITES);
	for (size_t i = 0; i < ROWS; i++) {
		uint32_t site[3] = { 1, 2 + (uint32_t)(i % 2), 4 + (uint32_t)(next_u64() % (SITES - 4)) };
		uint64_t ns[3] = { 1 + next_u64() % 1000, 1 + next_u64() % 1000, 5 };
		struct ty_row row = { .end = i, .latency = 5000, .n = 3 };
		ty_ledger_add(&r.rows, &row, site, ns);
		sum[0] += ns[0];
		sum[1] += i % 2 ? 0 : ns[1];
		products += i % 2 ? 0 : ns[0] * ns[1];
	}
	CU_ASSERT_EQUAL_FATAL(ty_tree_build(&t, &r, NULL, false, err), 0);
	CU_ASSERT_EQUAL_FATAL(ty_tree_sums(&t, &r.rows, err), 0);
	ty_tree_shares(&t);
	CU_ASSERT_EQUAL(ty_tree_check(&t, err), 0);
	CU_ASSERT_TRUE(t.pair_used > ROWS && t.pair_used <= 3 * ROWS);
	CU_ASSERT_TRUE(t.residual < 1e-9);
	CU_ASSERT_EQUAL((uint64_t)ty_tree_products(&t, t.leaf[1] - 1, t.leaf[2] - 1), products);
	CU_ASSERT_EQUAL(ty_tree_products(&t, t.leaf[2] - 1, t.leaf[3] - 1), 0); /* never in one request */
	CU_ASSERT_EQUAL((uint64_t)ty_tree_acc(&t, t.leaf[1] - 1).x, sum[0]);
	CU_ASSERT_EQUAL((uint64_t)ty_tree_acc(&t, t.leaf[2] - 1).x, sum[1]);
	ty_tree_free(&t);
	drop_run(&r);
}

int main(void)
{
	CU_pSuite s = begin("tree");
	CU_add_test(s, "the planted store", make_planted);
	CU_add_test(s, "planted variances and covariances", test_planted);
	CU_add_test(s, "factors worked out by hand", test_factors);
	CU_add_test(s, "options", test_options);
	CU_add_test(s, "text", test_text);
	CU_add_test(s, "sums and errors recomputed", test_sums);
	CU_add_test(s, "the proof can fail", test_check);
	CU_add_test(s, "many siblings", test_many_siblings);
	return finish();
}

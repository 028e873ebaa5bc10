/* SPDX-License-Identifier: MIT
 *
 * tarry tail: a planted store in which the slowest requests differ in all three
 * ways by known amounts; errors against a plain recomputation; timelines. */
#include "tree_help.h"

#include "analyze/tail.h"
#include "analyze/tree.h"

#define NEAR(a, b) CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-6)

/* ---- the planted store ----
 *
 * 1000 requests, 11 of them slow, so that those at or above the 99 % quantile
 * are just these.  p = 0.011 is their part.
 *
 *                         989 others    11 slow      E[.|tail] - E[.] = (slow - other) (1 - p)
 *   queue: mutex          1 x 1000      6 x 1000     more waits    5 x 1000          = 5000 (1 - p)
 *   disk: fdatasync       2 x 500       2 x 3000     longer waits  2 x (3000 - 500)  = 5000 (1 - p)
 *   rare: futex           -             1 x 7000     other site    7000              = 7000 (1 - p)
 *   running               1000          1500                                           500 (1 - p)
 *   latency               3000          20500                                        17500 (1 - p)
 */
enum { HANDLE, QUEUE, DISK, RARE, OWNER };
static const char *const functions[] = { "handle", "queue", "disk", "rare", "owner", NULL };
enum { SLOW = 11, REQUESTS = 1000 };

static void make_planted(void)
{
	struct ty_store *s = new_store("planted", functions);
	put_path(s, 0, 0, 0, HANDLE, QUEUE, -1);
	put_path(s, 1, 0, 0, HANDLE, DISK, -1);
	put_path(s, 2, 0, 0, HANDLE, RARE, -1);
	put_path(s, 3, 0, 0, OWNER, -1);
	nev = 0;
	now = 1000000000;
	for (uint64_t r = 0; r < REQUESTS; r++) {
		bool slow = r % 90 == 50;
		mark(TY_MARK_BEGIN, r, slow ? 2 : 1);
		run_for(slow ? 1500 : 1000);
		for (int i = 0; i < (slow ? 6 : 1); i++) {
			if (slow && i == 2)
				wake(now + 990, 3, 0x77);
			mutex(0, 1000);
		}
		for (int i = 0; i < 2; i++)
			wait_for(TY_OP_fdatasync, TY_CLASS_SYNC, 1, 5, slow ? 3000 : 500);
		if (slow)
			wait_for(TY_OP_futex_wait, TY_CLASS_FUTEX, 2, 0x99, 7000);
		mark(TY_MARK_END, r, 0);
		run_for(100);
	}
	finish_store(s);
}

static json_t *tail(const char *option, const char *value)
{
	int rc = option ? command(cmd_tail, "--json", store, option, value, NULL) : command(cmd_tail, "--json", store, NULL);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
	json_t *j = json_loads(text, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(j);
	return j;
}

static json_t *site(json_t *j, const char *function)
{
	size_t i;
	json_t *s;
	json_array_foreach(json_object_get(j, "sites"), i, s)
		if (!strcmp(string(s, "function"), function))
			return s;
	CU_FAIL_FATAL("no such site");
	return NULL;
}

static double cause(json_t *j, const char *name, json_t *of)
{
	size_t i;
	json_t *c;
	json_array_foreach(json_object_get(j, "causes"), i, c)
		if (!strcmp(string(c, "cause"), name) && !strcmp(string(c, "site"), string(of, "site")))
			return number(c, "share");
	return 0;
}

static json_int_t repeats(json_t *s, const char *which, size_t bucket)
{
	return json_integer_value(json_array_get(json_object_get(s, which), bucket));
}

static void test_causes(void)
{
	json_t *j = tail(NULL, NULL);
	json_t *queue = site(j, "queue"), *disk = site(j, "disk"), *rare = site(j, "rare");
	double p = (double)SLOW / REQUESTS;
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(j, "count")), SLOW);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(j, "from_ns")), 20500);
	NEAR(number(j, "mean_ns") / (3000 + 17500 * p), 1);
	NEAR(number(j, "mean_tail_ns"), 20500);
	NEAR(number(j, "excess_ns") / (17500 * (1 - p)), 1);
	NEAR(number(j, "share_sum"), 1);
	NEAR(cause(j, "more_waits", queue), 5000.0 / 17500);
	NEAR(cause(j, "longer_waits", queue), 0);
	NEAR(cause(j, "longer_waits", disk), 5000.0 / 17500);
	NEAR(cause(j, "more_waits", disk), 0);
	NEAR(cause(j, "other_site", rare), 7000.0 / 17500);
	NEAR(number(json_object_get(j, "running"), "share"), 500.0 / 17500);
	CU_ASSERT_TRUE(json_is_true(json_object_get(rare, "other_site")));
	CU_ASSERT_TRUE(json_is_false(json_object_get(queue, "other_site")));
	CU_ASSERT_STRING_EQUAL(string(json_array_get(json_object_get(j, "causes"), 0), "cause"), "other_site");
	NEAR(number(queue, "waits_per_request"), 1 + 5 * p);
	NEAR(number(queue, "waits_per_request_tail"), 6);
	NEAR(number(disk, "per_request_tail_ns"), 6000);
	/* there are but two kinds of requests, so what differs correlates perfectly */
	NEAR(number(queue, "r2_count"), 1);
	NEAR(number(queue, "r2_time"), 1);
	NEAR(number(disk, "r2_time"), 1);
	CU_ASSERT_TRUE(json_is_null(json_object_get(disk, "r2_count")));
	CU_ASSERT_EQUAL(repeats(queue, "repeats_tail", 4), SLOW); /* 5-8 */
	CU_ASSERT_EQUAL(repeats(queue, "repeats_others", 1), REQUESTS - SLOW);
	CU_ASSERT_EQUAL(repeats(disk, "repeats_tail", 2), SLOW);
	CU_ASSERT_EQUAL(repeats(rare, "repeats_others", 0), REQUESTS - SLOW);
	CU_ASSERT_EQUAL(repeats(rare, "repeats_tail", 1), SLOW);
	CU_ASSERT_TRUE(number(queue, "share_se") < 1e-6); /* leaving requests out changes nothing here */
	json_decref(j);
}

static void test_timelines(void)
{
	json_t *j = tail("-n", "3"), *slowest = json_object_get(j, "slowest");
	CU_ASSERT_EQUAL_FATAL(json_array_size(slowest), 3);
	json_t *s = json_array_get(slowest, 0), *waits = json_object_get(s, "waits");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(s, "latency_ns")), 20500);
	/* request 50 is the first: 50 fast ones of 3000 + 100 before it */
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(s, "begin_ns")), 1000000000 + 50 * 3100);
	CU_ASSERT_STRING_EQUAL(string(s, "class"), "browse all");
	CU_ASSERT_EQUAL_FATAL(json_array_size(waits), 9);
	for (size_t i = 0; i < 9; i++) {
		json_t *w = json_array_get(waits, i);
		uint64_t offset = i < 6 ? 1500 + 1000 * i : i < 8 ? 7500 + 3000 * (i - 6) : 13500;
		CU_ASSERT_EQUAL((uint64_t)json_integer_value(json_object_get(w, "offset_ns")), offset);
		CU_ASSERT_EQUAL(json_integer_value(json_object_get(w, "duration_ns")), i < 6 ? 1000 : i < 8 ? 3000 : 7000);
		CU_ASSERT_STRING_EQUAL(string(w, "function"), i < 6 ? "queue" : i < 8 ? "disk" : "rare");
		if (i == 2) { /* woken 10 ns before its end */
			CU_ASSERT_EQUAL(json_integer_value(json_object_get(w, "waker_thread")), 4713);
			CU_ASSERT_STRING_EQUAL(string(w, "waker_function"), "owner");
			CU_ASSERT_EQUAL((uint64_t)json_integer_value(json_object_get(w, "waker_offset_ns")), offset + 990);
		} else {
			CU_ASSERT_TRUE(json_is_null(json_object_get(w, "waker_thread")));
		}
	}
	json_decref(j);
	CU_ASSERT_EQUAL(command(cmd_tail, store, NULL), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "other site"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "40.0 %")); /* 7000 / 17500 */
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "woken by other 4713 in owner"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "only 11 requests are that slow"));
	for (char *p = text, *end; (end = strchr(p, '\n')); p = end + 1)
		CU_ASSERT_TRUE(end - p <= 140);
}

static void test_options(void)
{
	json_t *j = tail("-q", "50"); /* the median is a fast one: all are at or above it, there is no tail */
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(j, "count")), REQUESTS);
	CU_ASSERT_TRUE(json_is_null(json_object_get(j, "share_sum")));
	json_decref(j);
	CU_ASSERT_EQUAL(command(cmd_tail, "-q", "50", store, NULL), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "there is no tail"));
	j = tail("--where", "class=buy");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_object_get(j, "tarry"), "requests")), REQUESTS - SLOW);
	json_decref(j);
	CU_ASSERT_EQUAL(command(cmd_tail, "-q", "100", store, NULL), 2);
	CU_ASSERT_EQUAL(command(cmd_tail, "-n", "0", store, NULL), 2);
	CU_ASSERT_EQUAL(command(cmd_tail, "-n", "5000", store, NULL), 2);
	CU_ASSERT_EQUAL(command(cmd_tail, store, "second", NULL), 2);
}

/* The same function waits in the same way for two callers: the tables tell them apart. */
static void test_alike(void)
{
	struct ty_store *s = new_store("alike", functions);
	put_path(s, 0, 0, 0, HANDLE, DISK, QUEUE, -1);
	put_path(s, 1, 0, 0, HANDLE, RARE, QUEUE, -1);
	nev = 0;
	now = 1000000000;
	for (uint64_t r = 0; r < 400; r++) {
		mark(TY_MARK_BEGIN, r, 1);
		mutex(0, 1000 + r * 10);
		run_for(100);
		mutex(1, 2000 + r * 20);
		mark(TY_MARK_END, r, 0);
		run_for(50);
	}
	finish_store(s);
	CU_ASSERT_EQUAL(command(cmd_tail, store, NULL), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "  disk .. queue: pthread_mutex_lock"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "  rare .. queue: pthread_mutex_lock"));
	CU_ASSERT_PTR_NULL(strstr(text, "  queue: pthread_mutex_lock"));
}

static void test_repeat_buckets(void)
{
	static const struct { uint64_t n; unsigned bucket; } t[] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 3, 3 }, { 4, 3 },
		{ 5, 4 }, { 8, 4 }, { 9, 5 }, { 16, 5 }, { 17, 6 }, { 32, 6 }, { 33, 7 }, { 64, 7 }, { 65, 8 }, { UINT64_MAX, 8 } };
	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		CU_ASSERT_EQUAL(ty_repeat(t[i].n), t[i].bucket);
}

/* ---- sums against a plain recomputation ---- */

#define ROWS 2000
#define SITES 4
static uint64_t state = 3;
static uint64_t next_u64(void) /* splitmix64 */
{
	uint64_t z = state += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint64_t n[ROWS][SITES], x[ROWS][SITES], latency[ROWS];

struct plain { double share, more, longer; };

static struct plain plain(size_t site, uint64_t from, size_t skip, size_t skip_to)
{
	double all = 0, in = 0, na = 0, nt = 0, ta = 0, tt = 0, la = 0, lt = 0;
	for (size_t r = 0; r < ROWS; r++) {
		bool tail_row = latency[r] >= from;
		if (r >= skip && r < skip_to)
			continue;
		all++;
		na += (double)n[r][site];
		ta += (double)x[r][site];
		la += (double)latency[r];
		if (!tail_row)
			continue;
		in++;
		nt += (double)n[r][site];
		tt += (double)x[r][site];
		lt += (double)latency[r];
	}
	double excess = lt / in - la / all, mean = ta / na, mean_tail = tt / nt;
	return (struct plain){ (tt / in - ta / all) / excess, (nt / in - na / all) * mean / excess,
			       nt / in * (mean_tail - mean) / excess };
}

static void add_rows(struct run *r, struct ty_tail *t)
{
	for (size_t i = 0; i < ROWS; i++) {
		struct ty_row row = { .end = i, .cls = TY_NONE, .latency = 1000 + next_u64() % 1000 };
		uint32_t sites[SITES];
		uint64_t ns[SITES], counts[SITES];
		for (uint32_t s = 0; s < SITES; s++) {
			n[i][s] = next_u64() % (s + 2);
			x[i][s] = 0;
			for (uint64_t k = 0; k < n[i][s]; k++)
				x[i][s] += 1 + next_u64() % (1000 * (s + 1)) * (next_u64() % 20 ? 1 : 9);
			if (!n[i][s])
				continue;
			sites[row.n] = s + 1;
			counts[row.n] = n[i][s];
			ns[row.n++] = x[i][s];
			row.latency += x[i][s];
		}
		latency[i] = row.latency;
		ty_ledger_add(&r->rows, &row, sites, ns);
		ty_ledger_add(&t->counts, &row, sites, counts);
	}
}

static void test_sums(void)
{
	struct run r = { .sites.n = SITES + 1 };
	struct ty_tail t = { .r = &r, .q = 0.95, .k = 1 };
	add_rows(&r, &t);
	CU_ASSERT_EQUAL_FATAL(ty_variance(&r.rows, SITES + 1, 0.95, &r.res), 0);
	CU_ASSERT_EQUAL_FATAL(ty_tail_sums(&t, err), 0);
	CU_ASSERT_TRUE(t.n_tail >= ROWS / 20);
	NEAR(t.sum, 1);
	for (size_t s = 0; s < SITES; s++) {
		const struct ty_tail_site *got = &t.site[s + 1];
		struct plain want = plain(s, t.from, 0, 0);
		double mean = 0, sq = 0, left[50];
		NEAR(got->share, want.share);
		NEAR(got->share, r.res.site[s + 1].tail); /* what the report says */
		NEAR(got->more, want.more);
		NEAR(got->longer, want.longer);
		NEAR(got->more + got->longer, got->share);
		for (size_t b = 0; b < 50; b++) { /* 50 blocks of 40 requests */
			left[b] = plain(s, t.from, 40 * b, 40 * b + 40).longer;
			mean += left[b] / 50;
		}
		for (size_t b = 0; b < 50; b++)
			sq += (left[b] - mean) * (left[b] - mean);
		NEAR(got->longer_se, 1.0253 * sqrt(sq * 49 / 50));
		CU_ASSERT_TRUE(got->longer_se > 1e-4);
		long double mx = 0, ml = 0, cov = 0, vx = 0, vl = 0;
		for (size_t i = 0; i < ROWS; i++)
			mx += x[i][s], ml += latency[i];
		mx /= ROWS;
		ml /= ROWS;
		for (size_t i = 0; i < ROWS; i++) {
			cov += (x[i][s] - mx) * (latency[i] - ml);
			vx += (x[i][s] - mx) * (x[i][s] - mx);
			vl += (latency[i] - ml) * (latency[i] - ml);
		}
		NEAR(got->r2_time, (double)(cov * cov / (vx * vl)));
	}
	ty_tail_free(&t);
	ty_ledger_free(&r.rows);
	ty_result_free(&r.res);
}

int main(void)
{
	CU_pSuite s = begin("tail");
	CU_add_test(s, "the planted store", make_planted);
	CU_add_test(s, "all three causes", test_causes);
	CU_add_test(s, "timelines and wakers", test_timelines);
	CU_add_test(s, "options", test_options);
	CU_add_test(s, "sites that look alike", test_alike);
	CU_add_test(s, "buckets of repeats", test_repeat_buckets);
	CU_add_test(s, "sums and errors recomputed", test_sums);
	return finish();
}

/* SPDX-License-Identifier: MIT
 *
 * Unit test of the scan: events of all threads come back, in order of end as
 * far as watermarks allow, and in order within their thread always. */
#include "tests/unit/store_help.h"

/* A million events of many drains, several drains a block, several blocks a commit. */
static void test_million(void)
{
	fresh("million");
	struct ty_store *s = create();
	struct ty_ev *ev = malloc(THREADS * 200 * sizeof *ev);
	uint64_t total = 0, sum = 0, now = 1000000;
	size_t in_window = 0;
	seed(11);
	put_threads(s, THREADS);
	for (int i = 0; total < 1000000; i++) {
		size_t n = drain(ev, i % 7 == 0 ? 199 : 20, now, 1000000);
		total += n;
		sum += sum_of(ev, n);
		for (size_t k = 0; k < n; k++)
			in_window += ev[k].end >= 60000000 && ev[k].begin <= 61000000;
		/* threads run up to a span ahead: their last events are beyond the watermark */
		OK(ty_store_put_block(s, ev, n, now, err));
		now += 500000;
		if (i % 5 == 0)
			OK(ty_store_commit(s, false, err));
	}
	OK(ty_store_commit(s, false, err));
	ty_store_close(s);
	free(ev);

	s = reopen();
	struct seen r = scan(s, 0, UINT64_MAX);
	CU_ASSERT_EQUAL(r.events, total);
	CU_ASSERT_EQUAL(r.sum, sum);
	CU_ASSERT_EQUAL(r.unordered, 0);
	CU_ASSERT_EQUAL(r.thread_unordered, 0);
	CU_ASSERT_EQUAL(r.stragglers, 0);
	CU_ASSERT_TRUE(in_window > 0);
	CU_ASSERT_EQUAL(scan(s, 60000000, 61000000).events, in_window);
	CU_ASSERT_EQUAL(scan(s, now * 4, UINT64_MAX).events, 0);
	ty_store_close(s);
}

static void test_watermark(void)
{
	fresh("watermark");
	struct ty_store *s = create();
	put_threads(s, 3);
	struct ty_ev a[] = { event(0, 10, 100), event(0, 110, 300), event(1, 50, 90) };
	struct ty_ev b[] = { event(0, 310, 320), event(1, 150, 150), event(1, 200, 290), event(2, 1, 310) };
	struct ty_ev c[] = { event(2, 311, 315), event(2, 330, 400) }; /* 315: the block before said 320 */
	put_committed(s, a, 3, 120);
	put_committed(s, b, 4, 320);
	put_committed(s, c, 2, 400);
	ty_store_close(s);

	s = reopen();
	static const uint64_t ends[] = { 90, 100, 150, 290, 300, 310, 320, 315, 400 };
	static const size_t slices[] = { 2, 5, 2 }; /* what each block lets go */
	struct ty_scan *sc = NULL;
	const struct ty_ev *ev;
	size_t n, k = 0, slice = 0;
	OK(ty_scan_open(&sc, s, 0, UINT64_MAX, err));
	while (ty_scan_next(sc, &ev, &n, err) == 1) {
		CU_ASSERT_TRUE_FATAL(slice < 3);
		CU_ASSERT_EQUAL(n, slices[slice]);
		slice++;
		for (size_t i = 0; i < n; i++, k++) {
			CU_ASSERT_EQUAL(ev[i].end, ends[k]);
			CU_ASSERT_EQUAL(ev[i].cls, ev[i].kind == TY_EV_MARK ? TY_CLASS_COUNT : TY_CLASS_SYNC);
		}
	}
	CU_ASSERT_EQUAL(k, 9);
	CU_ASSERT_EQUAL(ty_scan_stragglers(sc), 1);
	ty_scan_close(sc);
	ty_store_close(s);
}

/* Drains between two commits share a block, grouped by thread: rec says where an event stood. */
static void test_drains_share_a_block(void)
{
	fresh("share");
	struct ty_store *s = create();
	put_threads(s, 2);
	for (uint64_t i = 0; i < 50; i++) {
		struct ty_ev ev[] = { event(0, 10 * i, 10 * i + 1), event(1, 10 * i, 10 * i + 2) };
		OK(ty_store_put_block(s, ev, 2, 10 * i + 5, err));
	}
	OK(ty_store_commit(s, false, err));
	ty_store_close(s);
	s = reopen();
	struct ty_extent x;
	struct ty_scan *c = NULL;
	const struct ty_ev *ev;
	size_t n, next[2] = { 0, 50 };
	OK(ty_store_extent(s, &x, err));
	CU_ASSERT(x.blocks == 1 && x.events == 100 && x.first == 0 && x.last == 492);
	OK(ty_scan_open(&c, s, 0, UINT64_MAX, err));
	while (ty_scan_next(c, &ev, &n, err) == 1)
		for (size_t i = 0; i < n; i++)
			CU_ASSERT_EQUAL(ev[i].rec, next[ev[i].thread]++);
	CU_ASSERT(next[0] == 50 && next[1] == 100);
	ty_scan_close(c);
	ty_store_close(s);
}

/* One drain that needs two blocks: the first of them is not complete. */
static void test_large_drain(void)
{
	fresh("large");
	struct ty_store *s = create();
	put_threads(s, 2);
	size_t n = TY_BLOCK_MAX + 1000;
	struct ty_ev *ev = malloc(n * sizeof *ev);
	for (size_t i = 0; i < n; i++)
		ev[i] = i < TY_BLOCK_MAX ? event(0, 10 * i + 10, 10 * i + 11) : event(1, i - TY_BLOCK_MAX, 5000);
	put_committed(s, ev, n, 10 * n);
	ty_store_close(s);
	free(ev);
	s = reopen();
	struct seen r = scan(s, 0, UINT64_MAX);
	CU_ASSERT_EQUAL(r.events, n);
	CU_ASSERT_EQUAL(r.unordered + r.stragglers, 0);
	ty_store_close(s);
}

/* A watermark that never moves must not keep everything in memory. */
static void test_no_watermark(void)
{
	fresh("nowatermark");
	struct ty_store *s = create();
	put_threads(s, 1);
	size_t n = 100000;
	struct ty_ev *ev = malloc(n * sizeof *ev);
	for (uint64_t round = 0; round < 5; round++) {
		for (uint64_t i = 0; i < n; i++)
			ev[i] = event(0, round * n + i, round * n + i + 1);
		OK(ty_store_put_block(s, ev, n, 0, err));
	}
	OK(ty_store_commit(s, false, err));
	ty_store_close(s);
	free(ev);
	s = reopen();
	struct ty_scan *c = NULL;
	const struct ty_ev *out;
	size_t got, first = 0, all = 0;
	OK(ty_scan_open(&c, s, 0, UINT64_MAX, err));
	while (ty_scan_next(c, &out, &got, err) == 1) {
		first = first ? first : got;
		all += got;
	}
	CU_ASSERT_EQUAL(all, 5 * n);
	CU_ASSERT_TRUE(first < 3 * n);
	CU_ASSERT_EQUAL(ty_scan_stragglers(c), 0);
	ty_scan_close(c);
	ty_store_close(s);
}

/* An event that refers to what the tables do not have is damage, not an index out of bounds. */
static void test_unknown_thread(void)
{
	for (int what = 0; what < 3; what++) {
		fresh("unknown");
		struct ty_store *s = create();
		put_threads(s, 2);
		struct ty_ev e = event(0, 5, 10);
		e.thread = what == 0 ? 2 : 0;
		e.path = what == 1 ? 16 : 0;
		e.op = what == 2 ? TY_OP_COUNT : 0;
		put_committed(s, &e, 1, 10);
		ty_store_close(s);
		s = reopen();
		struct ty_scan *c = NULL;
		const struct ty_ev *ev;
		size_t n;
		OK(ty_scan_open(&c, s, 0, UINT64_MAX, err));
		CU_ASSERT_EQUAL(ty_scan_next(c, &ev, &n, err), -EBADMSG);
		CU_ASSERT_PTR_NOT_NULL(strstr(err, "damaged: block 0"));
		ty_scan_close(c);
		ty_store_close(s);
	}
}

int main(void)
{
	CU_pSuite s = begin("scan");
	CU_ADD_TEST(s, test_watermark);
	CU_ADD_TEST(s, test_million);
	CU_ADD_TEST(s, test_drains_share_a_block);
	CU_ADD_TEST(s, test_large_drain);
	CU_ADD_TEST(s, test_no_watermark);
	CU_ADD_TEST(s, test_unknown_thread);
	return finish();
}

/* SPDX-License-Identifier: MIT
 *
 * Unit test of what exports are made of: varints and gzip, numbers for strings,
 * sums, and which wait a wake ended, against brute force. */
#include "analyze/export.h"
#include "analyze/pprof.h"
#include "tarry/event.h"
#include "tests/unit/store_help.h"

static void test_varints(void)
{
	static const struct { uint64_t x; size_t n; uint8_t bytes[10]; } cases[] = {
		{ 0, 1, { 0 } },
		{ 127, 1, { 0x7f } },
		{ 128, 2, { 0x80, 1 } },
		{ 300, 2, { 0xac, 2 } },
		{ UINT64_MAX, 10, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 } },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ty_pb b = { 0 };
		ty_pb_varint(&b, cases[i].x);
		CU_ASSERT_EQUAL(b.n, cases[i].n);
		CU_ASSERT(!memcmp(b.v, cases[i].bytes, cases[i].n));
		ty_pb_free(&b);
	}
}

static void test_messages(void)
{
	static const uint8_t want[] = { 0x12, 5, 'h', 'e', 'l', 'l', 'o', 0x18, 0x96, 1 };
	struct ty_pb b = { 0 };
	ty_pb_bytes(&b, 2, "hello", 5);
	ty_pb_int(&b, 3, 150);
	ty_pb_int(&b, 4, 0); /* the default is not written */
	CU_ASSERT_EQUAL(b.n, sizeof want);
	CU_ASSERT(!memcmp(b.v, want, sizeof want));
	ty_pb_free(&b);
}

/* Many messages through gzip come out as they went in. */
static void test_gzip(void)
{
	struct ty_pb_out o;
	struct ty_pb m = { 0 }, want = { 0 };
	fresh("gz");
	FILE *f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	OK(ty_pb_open(&o, f));
	rng_state = 3;
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t x = rng() >> rng() % 64;
		m.n = 0;
		ty_pb_int(&m, 1, x);
		ty_pb_message(&o, 4, &m);
		ty_pb_bytes(&want, 4, m.v, m.n);
	}
	ty_pb_field(&o, 9, 77);
	ty_pb_int(&want, 9, 77);
	OK(ty_pb_close(&o));
	fclose(f);
	gzFile z = gzopen(path, "r");
	uint8_t *got = malloc(want.n + 1);
	CU_ASSERT_EQUAL(gzread(z, got, (unsigned)want.n + 1), (int)want.n);
	CU_ASSERT(!memcmp(got, want.v, want.n));
	gzclose(z);
	free(got);
	ty_pb_free(&m);
	ty_pb_free(&want);
}

static void test_intern(void)
{
	struct ty_intern t = { 0 };
	char text[32];
	bool first;
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 5000; i++) {
			int n = snprintf(text, sizeof text, "string %d", i);
			CU_ASSERT_EQUAL(ty_intern(&t, text, (size_t)n, &first), i);
			CU_ASSERT_EQUAL(first, round == 0);
		}
	CU_ASSERT_EQUAL(t.n, 5000);
	CU_ASSERT_EQUAL(ty_intern(&t, "string 1\0x", 10, &first), 5000); /* longer, same start */
	CU_ASSERT(first);
	CU_ASSERT_EQUAL(ty_intern(&t, "", 0, &first), 5001);
	ty_intern_free(&t);
}

static void test_sums(void)
{
	struct ty_sums s = { 0 };
	struct ty_sum_key k = { .path = 1, .cls = TY_NONE };
	CU_ASSERT_PTR_NULL(ty_sums_find(&s, &k));
	for (uint32_t i = 0; i < 30000; i++) {
		k = (struct ty_sum_key){ .path = i % 100, .op = i % 7, .thread = i % 3, .cls = TY_NONE };
		OK(ty_sums_add(&s, &k, 1, i));
	}
	CU_ASSERT_EQUAL(s.n, 2100); /* 100 * 7 * 3 have no common factor */
	uint64_t waits = 0, ns = 0;
	for (size_t i = 0; i < s.n; i++) {
		waits += s.v[i].waits;
		ns += s.v[i].ns;
		CU_ASSERT_PTR_EQUAL(ty_sums_find(&s, &s.v[i].key), &s.v[i]);
	}
	CU_ASSERT_EQUAL(waits, 30000);
	CU_ASSERT_EQUAL(ns, 30000ull * 29999 / 2);
	k.inside = 1;
	CU_ASSERT_PTR_NULL(ty_sums_find(&s, &k));
	ty_sums_free(&s);
}

/* ---- arrows ---- */

static struct ty_ev wait_of(uint32_t thread, uint64_t object, uint64_t from, uint64_t to)
{
	return (struct ty_ev){ .thread = thread, .object = object, .begin = from, .end = to };
}

static void test_arrow_simple(void)
{
	struct ty_arrows *w = ty_arrows_new();
	struct ty_arrow k = { .when = 50, .object = 7, .space = 1, .thread = 9, .left = 1 }, got;
	struct ty_ev late = wait_of(1, 7, 60, 70), own = wait_of(9, 7, 40, 70), other = wait_of(1, 8, 40, 70),
		     before = wait_of(1, 7, 20, 49), right = wait_of(1, 7, 40, 50);
	OK(ty_arrows_add(w, &k));
	CU_ASSERT(!ty_arrows_match(w, &late, 1, false, &got));   /* began after it */
	CU_ASSERT(!ty_arrows_match(w, &own, 1, false, &got));    /* nobody wakes itself */
	CU_ASSERT(!ty_arrows_match(w, &other, 1, false, &got));  /* another object */
	CU_ASSERT(!ty_arrows_match(w, &right, 2, false, &got));  /* the same address in another process */
	CU_ASSERT(!ty_arrows_match(w, &before, 1, false, &got)); /* ended before it */
	CU_ASSERT(ty_arrows_match(w, &right, 1, false, &got));
	CU_ASSERT_EQUAL(got.thread, 9);
	CU_ASSERT(!ty_arrows_match(w, &right, 1, false, &got)); /* it ended one */
	ty_arrows_free(w);
}

static void test_arrow_many(void)
{
	struct ty_arrows *w = ty_arrows_new();
	struct ty_arrow all = { .when = 50, .object = 7, .thread = 9, .left = UINT32_MAX }, two = all, got;
	two.object = 8;
	two.left = 2;
	OK(ty_arrows_add(w, &all));
	OK(ty_arrows_add(w, &two));
	for (uint32_t i = 0; i < 5; i++) {
		struct ty_ev a = wait_of(i, 7, 40, 60 + i), b = wait_of(i, 8, 40, 60 + i);
		CU_ASSERT(ty_arrows_match(w, &a, 0, false, &got));
		CU_ASSERT_EQUAL(ty_arrows_match(w, &b, 0, false, &got), i < 2);
	}
	ty_arrows_free(w);
}

static void test_arrow_lock(void)
{
	/* released at 10 and 20; the waiter got it at 25: the second release let it in, the first is void */
	struct ty_arrows *w = ty_arrows_new();
	struct ty_arrow first = { .when = 10, .object = 7, .thread = 8, .left = 1 }, second = first, got;
	struct ty_ev a = wait_of(1, 7, 5, 25), b = wait_of(2, 7, 5, 30);
	second.when = 20;
	second.thread = 9;
	OK(ty_arrows_add(w, &first));
	OK(ty_arrows_add(w, &second));
	CU_ASSERT(ty_arrows_match(w, &a, 0, true, &got));
	CU_ASSERT_EQUAL(got.when, 20);
	CU_ASSERT(!ty_arrows_match(w, &b, 0, true, &got));
	ty_arrows_free(w);
}

/* The rule itself: each wake goes to the wait that ended first among those that
 * had begun and have no wake yet, over random waits and wakes in order of end. */
static void test_arrow_brute_force(void)
{
	enum { N = 400 };
	static struct ty_ev ev[N];
	static int of[N], want[N];
	rng_state = 11;
	for (int round = 0; round < 50; round++) {
		struct ty_arrows *w = ty_arrows_new();
		uint64_t now = 1000;
		for (int i = 0; i < N; i++) {
			now += rng() % 5;
			ev[i] = wait_of((uint32_t)(rng() % 6), rng() % 4, now - rng() % 60, now);
			ev[i].kind = rng() % 3 ? TY_EV_WAIT : TY_EV_WAKE;
			of[i] = want[i] = -1;
		}
		for (int i = 0; i < N; i++) {
			struct ty_arrow got, k = { ev[i].end, ev[i].object, 0, ev[i].thread, 1 };
			if (ev[i].kind == TY_EV_WAKE) {
				OK(ty_arrows_add(w, &k));
			} else if (ty_arrows_match(w, &ev[i], 0, false, &got)) {
				for (int j = 0; j < i; j++) /* found again by all that is known of it */
					if (ev[j].kind == TY_EV_WAKE && ev[j].end == got.when &&
					    ev[j].object == got.object && ev[j].thread == got.thread &&
					    of[j] < 0) {
						of[j] = i;
						break;
					}
			}
		}
		static bool taken[N];
		memset(taken, 0, sizeof taken);
		/* in order of the waits, each takes the first wake that fits */
		for (int i = 0; i < N; i++)
			for (int j = 0; ev[i].kind == TY_EV_WAIT && j < i; j++)
				if (ev[j].kind == TY_EV_WAKE && !taken[j] && ev[j].object == ev[i].object &&
				    ev[j].thread != ev[i].thread && ev[j].end >= ev[i].begin) {
					taken[j] = true;
					want[j] = i;
					break;
				}
		CU_ASSERT(!memcmp(of, want, sizeof of));
		ty_arrows_free(w);
	}
}

/* Wakes that nobody waited for do not pile up. */
static void test_arrow_bound(void)
{
	struct ty_arrows *w = ty_arrows_new();
	struct ty_arrow k = { .object = 7, .thread = 9, .left = 1 }, got;
	struct ty_ev old = wait_of(1, 7, 0, 200000), next = wait_of(1, 7, 99990, 200001);
	for (k.when = 1; k.when <= 100000; k.when++)
		OK(ty_arrows_add(w, &k));
	CU_ASSERT(ty_arrows_match(w, &old, 0, false, &got));
	CU_ASSERT(got.when > 99000);
	CU_ASSERT(ty_arrows_match(w, &next, 0, true, &got));
	CU_ASSERT_EQUAL(got.when, 100000);
	ty_arrows_free(w);
}

/* ---- text of a path ---- */

static void test_stack(void)
{
	fresh("store");
	struct ty_store *s = create();
	struct ty_frame f[3] = { { 0, false, 0x10 }, { 0, false, 0x20 }, { -1, false, 0x30 } };
	struct ty_symbol y[2] = { { "in;lined", "w.c", 12, true }, { "outer\n", "w.c", 15, false } };
	put_threads(s, 1);
	OK(ty_store_put_meta(s, "state", "\"complete\"", err));
	OK(ty_store_put_module(s, 0, &(struct ty_module_info){ .path = "/bin/x", .rows = "ready" }, err));
	OK(ty_store_put_path(s, 0, &(struct ty_path){ .count = 3, .frames = f }, err));
	OK(ty_store_put_path(s, 1, &(struct ty_path){ .flags = TY_F_CUT, .count = 1, .frames = f + 1 }, err));
	OK(ty_store_put_path(s, 2, &(struct ty_path){ .flags = TY_F_NO_PATH, .count = 1, .frames = f + 1 },
			     err));
	OK(ty_store_put_symbols(s, 0, 0x10, y, 2, err));
	OK(ty_store_commit(s, false, err));
	ty_store_close(s);
	struct run r = { .opt.store = path };
	OK(ty_pass_load(&r, err));
	static const struct { uint32_t path; const char *op, *text; } cases[] = {
		{ 0, "fsync", "0x30;x+0x20;outer?;in,lined;fsync" },
		{ 0, NULL, "0x30;x+0x20;outer?;in,lined" },
		{ 1, "read", "[path not complete];x+0x20;read" },
		{ 2, "read", "[path not taken];x+0x20;read" },
		{ TY_NONE, "read", "[path not taken];read" },
		{ TY_NONE, "[held up]", "[held up]" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *text = ty_export_stack(&r, cases[i].path, cases[i].op);
		CU_ASSERT_STRING_EQUAL(text, cases[i].text);
		free(text);
	}
	ty_run_free(&r);
}

int main(void)
{
	CU_pSuite s = begin("export");
	CU_add_test(s, "varints", test_varints);
	CU_add_test(s, "messages", test_messages);
	CU_add_test(s, "gzip", test_gzip);
	CU_add_test(s, "numbers for strings", test_intern);
	CU_add_test(s, "sums", test_sums);
	CU_add_test(s, "an arrow's ends", test_arrow_simple);
	CU_add_test(s, "a wake of many", test_arrow_many);
	CU_add_test(s, "a lock's last release", test_arrow_lock);
	CU_add_test(s, "arrows by brute force", test_arrow_brute_force);
	CU_add_test(s, "wakes do not pile up", test_arrow_bound);
	CU_add_test(s, "text of a path", test_stack);
	return finish();
}

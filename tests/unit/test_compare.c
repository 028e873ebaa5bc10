/* SPDX-License-Identifier: MIT
 *
 * Comparing two sides: the values and the tolerance rule against hand-made
 * numbers, false alarms over 200 pairs of recordings of the same thing, a
 * slowdown of 25 % found, and sites of two builds matched.  Seeds are fixed. */
#include <CUnit/Basic.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/compare.h"
#include "cli/cmd.h"
#include "tarry/event.h"
#include "tarry/ops.h"

enum { SITES = 5 }; /* 0: held up */

static uint64_t seed;
static double uniform(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}
static double exponential(double mean)
{
	return -mean * log(uniform());
}
static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* A recording: three sites of different kinds, load that drifts by `drift`, everything times `scale`. */
static void record(struct ty_side *s, size_t n, double drift, double scale, double scale_site2)
{
	struct ty_ledger rows = { 0 };
	uint64_t waits[SITES] = { 0 }, end = 1000;
	const uint32_t site[4] = { 1, 2, 3, 4 };
	double load = 0;
	for (size_t i = 0; i < n; i++) {
		load = 0.999 * load + drift * sqrt(1 - 0.999 * 0.999) * normal();
		double f = scale * exp(load);
		uint64_t ns[4] = {
			(uint64_t)(f * exponential(40000)),
			(uint64_t)(f * scale_site2 * (60000 + 20000 * uniform())),
			uniform() < 0.02 ? (uint64_t)(f * exponential(1500000)) : 0,
			(uint64_t)(f * 200 * uniform()),
		};
		uint64_t latency = (uint64_t)(f * (50000 + exponential(20000)));
		for (unsigned k = 0; k < 4; k++) {
			latency += ns[k];
			waits[site[k]] += ns[k] > 0;
		}
		end += latency;
		struct ty_row row = { .end = end, .latency = latency, .cls = UINT32_MAX, .n = 4 };
		CU_ASSERT_FATAL(ty_ledger_add(&rows, &row, site, ns) == 0);
	}
	CU_ASSERT_FATAL(ty_side_take(s, &rows, SITES, waits) == 0);
	ty_ledger_free(&rows);
}

/* ---- numbers ---- */

static void values(void)
{
	/* 400 requests, put in backwards; those of block b take 1000 + 10 b, half of it at site 1 */
	struct ty_ledger rows = { 0 };
	uint64_t waits[2] = { 0, 400 };
	struct ty_side s;
	for (unsigned i = 400; i-- > 0;) {
		uint64_t l = 1000 + 10 * (i / 20), half = l / 2;
		struct ty_row row = { .end = 100000 + 10 * i, .latency = l, .cls = UINT32_MAX, .n = 1 };
		uint32_t site = 1;
		CU_ASSERT_FATAL(ty_ledger_add(&rows, &row, &site, &half) == 0);
	}
	CU_ASSERT_FATAL(ty_side_take(&s, &rows, 2, waits) == 0);
	double dev = 10 * sqrt((20.0 * 20 - 1) / 12), sample = dev * sqrt(20.0 / 19); /* of 0..19, times 10 */
	CU_ASSERT_EQUAL(s.n, 400);
	CU_ASSERT_DOUBLE_EQUAL(s.latency[TY_M_MEAN].value, 1095, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(s.latency[TY_M_SD].value, dev, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(s.latency[TY_M_P50].value, 1090, 0);
	CU_ASSERT_DOUBLE_EQUAL(s.latency[TY_M_P95].value, 1180, 0);
	CU_ASSERT_DOUBLE_EQUAL(s.latency[TY_M_MAX].value, 1190, 0);
	CU_ASSERT_DOUBLE_EQUAL(s.latency[TY_M_RMS].value, sqrt(1095.0 * 1095 + dev * dev), 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(s.latency[TY_M_MEAN].block[3], 1030, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(s.latency[TY_M_MEAN].cv, sample / 1095, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(s.latency[TY_M_MEAN].se, 1.0679 * sample / sqrt(20), 1e-6);
	CU_ASSERT_EQUAL(s.latency[TY_M_MEAN].counts, 400);
	CU_ASSERT_EQUAL(s.latency[TY_M_P95].counts, 20);
	CU_ASSERT_EQUAL(s.latency[TY_M_MAX].counts, 1);
	CU_ASSERT_DOUBLE_EQUAL(s.site[1].value, 547.5, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(s.site[1].block[3], 515, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(s.site[2].value, 547.5, 1e-9); /* running */
	CU_ASSERT_DOUBLE_EQUAL(s.res.site[1].share, 0.5, 1e-9);
	ty_side_free(&s);
	ty_ledger_free(&rows);
}

static struct ty_measure constant(double value, double cv, uint64_t counts)
{
	return (struct ty_measure){
		.value = value, .cv = cv, .se = value * cv / sqrt(TY_SIDE_BLOCKS), .counts = counts
	};
}

static enum ty_verdict verdict(struct ty_measure base, struct ty_measure now, double floor)
{
	struct ty_measure at[2][2]; /* one site, and running */
	memset(at, 0, sizeof at);
	at[0][1] = base;
	at[1][1] = now;
	struct ty_side a = { .site = at[0] }, b = { .site = at[1] };
	struct ty_compared c;
	a.latency[TY_M_MEAN] = constant(1000, 0, 1000);
	CU_ASSERT_FATAL(ty_compare(&c, &a, &b, 1, floor) == 0);
	enum ty_verdict v = c.site[1].verdict;
	CU_ASSERT_EQUAL(c.judged, v <= TY_V_WORSE);
	CU_ASSERT_EQUAL(c.worse, v == TY_V_WORSE);
	ty_compared_free(&c);
	return v;
}

static void rule(void)
{
	/* the floor */
	CU_ASSERT_EQUAL(verdict(constant(100, 0.001, 500), constant(104.9, 0.001, 500), 0.05), TY_V_SAME);
	CU_ASSERT_EQUAL(verdict(constant(100, 0.001, 500), constant(105.1, 0.001, 500), 0.05), TY_V_WORSE);
	CU_ASSERT_EQUAL(verdict(constant(100, 0.001, 500), constant(94.9, 0.001, 500), 0.05), TY_V_BETTER);
	CU_ASSERT_EQUAL(verdict(constant(100, 0.001, 500), constant(105.1, 0.001, 500), 0.10), TY_V_SAME);
	/* three times the base's variation */
	CU_ASSERT_EQUAL(verdict(constant(100, 0.04, 500), constant(111.9, 0.001, 500), 0.05), TY_V_SAME);
	CU_ASSERT_EQUAL(verdict(constant(100, 0.04, 500), constant(112.1, 0.001, 500), 0.05), TY_V_WORSE);
	/* three standard errors, here the new one's: 0.2 / sqrt(20) * 1.125 = 5 % */
	CU_ASSERT_EQUAL(verdict(constant(100, 0.001, 500), constant(112.5, 0.2, 500), 0.05), TY_V_SAME);
	CU_ASSERT_EQUAL(verdict(constant(100, 0.001, 500), constant(125, 0.2, 500), 0.05), TY_V_WORSE);
	/* not judged */
	CU_ASSERT_EQUAL(verdict(constant(100, 0.11, 500), constant(165, 0.01, 500), 0.05), TY_V_VARIES);
	CU_ASSERT_EQUAL(verdict(constant(100, 0.01, 99), constant(300, 0.01, 500), 0.05), TY_V_FEW);
	CU_ASSERT_EQUAL(verdict(constant(100, 0.01, 500), constant(300, 0.01, 99), 0.05), TY_V_FEW);
	CU_ASSERT_EQUAL(verdict(constant(100, NAN, 500), constant(300, 0.01, 500), 0.05), TY_V_FEW);
	CU_ASSERT_EQUAL(verdict(constant(9, 0.01, 500), constant(9.9, 0.01, 500), 0.05), TY_V_SMALL);
	CU_ASSERT_EQUAL(verdict(constant(9, 0.01, 500), constant(90, 0.01, 500), 0.05), TY_V_WORSE);
	CU_ASSERT_EQUAL(verdict((struct ty_measure){ 0 }, constant(300, 0.01, 500), 0.05), TY_V_ONE_SIDE);
	/* more than the variation explains: six times the larger one, and three standard errors; up as down */
	CU_ASSERT_EQUAL(verdict(constant(100, 0.11, 500), constant(167, 0.01, 500), 0.05), TY_V_WORSE);
	CU_ASSERT_EQUAL(verdict(constant(100, 0.11, 500), constant(167, 0.12, 500), 0.05), TY_V_VARIES);
	CU_ASSERT_EQUAL(verdict(constant(100, 0.11, 500), constant(59, 0.01, 500), 0.05), TY_V_BETTER);
	CU_ASSERT_EQUAL(verdict(constant(100, 0.11, 500), constant(61, 0.01, 500), 0.05), TY_V_VARIES);
	CU_ASSERT_EQUAL(verdict(constant(100, 0.5, 500), constant(700, 0.5, 500), 0.05), TY_V_WORSE);
	CU_ASSERT_EQUAL(verdict(constant(700, 0.5, 500), constant(100, 0.5, 500), 0.05), TY_V_BETTER);
}

/* All requests took the same time on both sides: their sd is 0 as it was. */
static void no_variance(void)
{
	struct ty_measure at[2][1];
	memset(at, 0, sizeof at);
	struct ty_side a = { .site = at[0] }, b = { .site = at[1] };
	struct ty_compared c;
	a.latency[TY_M_SD].counts = b.latency[TY_M_SD].counts = 500;
	a.latency[TY_M_MEAN] = b.latency[TY_M_MEAN] = constant(1000, 0, 500);
	CU_ASSERT_FATAL(ty_compare(&c, &a, &b, 0, 0.05) == 0);
	CU_ASSERT_EQUAL(c.latency[TY_M_SD].verdict, TY_V_SAME);
	CU_ASSERT_EQUAL(c.latency[TY_M_SD].change, 0);
	CU_ASSERT_EQUAL(c.judged, 2);
	ty_compared_free(&c);
	b.latency[TY_M_SD].value = 5;
	CU_ASSERT_FATAL(ty_compare(&c, &a, &b, 0, 0.05) == 0);
	CU_ASSERT_EQUAL(c.latency[TY_M_SD].verdict, TY_V_ONE_SIDE);
	ty_compared_free(&c);
}

/* ---- alarms ---- */

static void false_alarms(void)
{
	unsigned alarms = 0, judged = 0;
	seed = 20240229;
	for (unsigned i = 0; i < 200; i++) {
		struct ty_side a, b;
		struct ty_compared c;
		double drift = 0.02 * (i % 4); /* steady, and ever less so */
		record(&a, 2000, drift, 1, 1);
		record(&b, 2000, drift, 1, 1);
		CU_ASSERT_FATAL(ty_compare(&c, &a, &b, SITES, TY_SIDE_FLOOR) == 0);
		alarms += c.worse > 0;
		judged += c.judged;
		ty_compared_free(&c);
		ty_side_free(&a);
		ty_side_free(&b);
	}
	printf(" %u of 200 pairs, %u metrics judged ", alarms, judged);
	CU_ASSERT(alarms <= 10);
	CU_ASSERT(judged >= 200 * 2); /* silence is not accuracy */
}

/* Load that drifts slowly by a third and by half: what the base does not hold steady is judged only if the change
 * is far beyond that.  Then hardly anything of the same thing alarms, and what is seven times as slow is found. */
static void varying(void)
{
	unsigned alarms = 0, found = 0, varies = 0;
	seed = 41;
	for (unsigned i = 0; i < 200; i++) {
		struct ty_side a, b, slow;
		struct ty_compared c;
		double drift = i % 2 ? 0.3 : 0.5;
		record(&a, 2000, drift, 1, 1);
		record(&b, 2000, drift, 1, 1);
		record(&slow, 2000, drift, 7, 1);
		CU_ASSERT_FATAL(ty_compare(&c, &a, &b, SITES, TY_SIDE_FLOOR) == 0);
		alarms += c.worse > 0;
		varies += c.latency[TY_M_MEAN].base.cv > TY_SIDE_CV;
		ty_compared_free(&c);
		CU_ASSERT_FATAL(ty_compare(&c, &a, &slow, SITES, TY_SIDE_FLOOR) == 0);
		found += c.latency[TY_M_MEAN].verdict == TY_V_WORSE;
		ty_compared_free(&c);
		ty_side_free(&a);
		ty_side_free(&b);
		ty_side_free(&slow);
	}
	printf(" %u of 200 pairs alarm, %u of 200 slow ones found, %u bases vary ", alarms, found, varies);
	CU_ASSERT(alarms <= 10);
	CU_ASSERT(found >= 180);
	CU_ASSERT(varies >= 190);
}

static void slowdown(void)
{
	unsigned found = 0, better = 0;
	seed = 7;
	for (unsigned i = 0; i < 20; i++) {
		struct ty_side a, b;
		struct ty_compared c;
		record(&a, 20000, 0.01, 1, 1);
		record(&b, 20000, 0.01, 1.25, 1);
		CU_ASSERT_FATAL(ty_compare(&c, &a, &b, SITES, TY_SIDE_FLOOR) == 0);
		found += c.latency[TY_M_MEAN].verdict == TY_V_WORSE && c.site[2].verdict == TY_V_WORSE;
		CU_ASSERT_DOUBLE_EQUAL(c.site[2].change, 0.25, 5 * c.site[2].change_se + 1e-3);
		ty_compared_free(&c);
		CU_ASSERT_FATAL(ty_compare(&c, &b, &a, SITES, TY_SIDE_FLOOR) == 0);
		better += c.worse == 0 && c.better > 0;
		ty_compared_free(&c);
		ty_side_free(&a);
		ty_side_free(&b);
	}
	CU_ASSERT_EQUAL(found, 20);
	CU_ASSERT_EQUAL(better, 20);
}

/* One site is slower: that one is named, and no other. */
static void one_site(void)
{
	struct ty_side a, b;
	struct ty_compared c;
	seed = 99;
	record(&a, 20000, 0, 1, 1);
	record(&b, 20000, 0, 1, 1.25);
	CU_ASSERT_FATAL(ty_compare(&c, &a, &b, SITES, TY_SIDE_FLOOR) == 0);
	CU_ASSERT_EQUAL(c.site[2].verdict, TY_V_WORSE);
	CU_ASSERT_EQUAL(c.site[1].verdict, TY_V_SAME);
	CU_ASSERT_EQUAL(c.site[4].verdict, TY_V_SMALL);
	CU_ASSERT_EQUAL(c.site[SITES].verdict, TY_V_SAME);
	CU_ASSERT_EQUAL(c.rank[0], 2);
	ty_compared_free(&c);
	ty_side_free(&a);
	ty_side_free(&b);
}

static void nothing(void)
{
	struct ty_ledger rows = { 0 };
	struct ty_side a, b;
	struct ty_compared c;
	uint64_t waits[SITES] = { 0 };
	seed = 3;
	CU_ASSERT_FATAL(ty_side_take(&a, &rows, SITES, waits) == 0);
	record(&b, 39, 0, 1, 1); /* too few for blocks */
	CU_ASSERT_FALSE(b.blocks);
	CU_ASSERT_FATAL(ty_compare(&c, &a, &b, SITES, TY_SIDE_FLOOR) == 0);
	CU_ASSERT_EQUAL(c.judged, 0);
	ty_compared_free(&c);
	CU_ASSERT_FATAL(ty_compare(&c, &b, &b, SITES, TY_SIDE_FLOOR) == 0);
	CU_ASSERT_EQUAL(c.judged, 0);
	ty_compared_free(&c);
	ty_side_free(&a);
	ty_side_free(&b);
}

/* ---- sites of two recordings ---- */

static const struct ty_op_info ops[2][2] = {
	{ { "fsync", "sync", TY_CLASS_SYNC }, { "read", "read", TY_CLASS_READ } },
	{ { "read", "read", TY_CLASS_READ }, { "fsync", "sync", TY_CLASS_SYNC } }, /* other numbers */
};
static const struct ty_module_info modules[2][2] = {
	{ { .path = "/bin/a", .build_id = "aa" }, { .path = "/lib/b.so", .build_id = "bb" } },
	{ { .path = "/lib/b.so", .build_id = "bb" }, { .path = "/opt/a", .build_id = "aa" } },
};
static const struct ty_frame frames[2][3] = {
	{ { .module = 1, .offset = 0x10 }, { .module = 0, .offset = 0x20 }, { .module = 0, .offset = 0x30 } },
	{ { .module = 0, .offset = 0x10 }, { .module = 1, .offset = 0x20 }, { .module = 1, .offset = 0x40 } },
};
static const struct ty_path paths[2][2] = {
	{ { .count = 2, .frames = &frames[0][0] }, { .count = 2, .frames = &frames[0][1] } },
	{ { .count = 2, .frames = &frames[1][0] }, { .count = 2, .frames = &frames[1][1] } },
};

static void sites(void)
{
	static uint32_t group[2] = { 0, 1 };
	static uint8_t kind[2];
	static struct run r[2];
	struct ty_match m;
	for (unsigned i = 0; i < 2; i++) {
		r[i].t.ops = ops[i];
		r[i].t.nops = 2;
		r[i].t.modules = modules[i];
		r[i].t.nmodules = 2;
		r[i].t.paths = paths[i];
		r[i].t.npaths = 2;
		r[i].names.group = group;
		r[i].names.kind = kind;
		r[i].names.ngroups = 2;
		CU_ASSERT_FATAL(ty_sites_init(&r[i].sites, TY_BY_SITE, group, 2, 2, 2) == 0);
		for (uint32_t path = 0; path < 2; path++) {
			struct ty_ev ev = { .op = (uint16_t)i,
					    .path = path,
					    .cls = TY_CLASS_SYNC }; /* fsync */
			int64_t k = ty_sites_key(&r[i].sites, &ev);
			r[i].sites.v[k].waits = 10 * (path + 1);
		}
		struct ty_ev other = { .op = (uint16_t)!i, .path = 0, .cls = TY_CLASS_READ };
		CU_ASSERT(ty_sites_key(&r[i].sites, &other) > 0);
	}
	CU_ASSERT_FATAL(ty_match_sides(&m, &r[0], &r[1]) == 0);
	CU_ASSERT_EQUAL(m.n, 5); /* held up, fsync and read of the first path, fsync of two others */
	CU_ASSERT_EQUAL(m.of[0][0], m.of[1][0]);
	CU_ASSERT_EQUAL(m.of[0][1], m.of[1][1]);
	CU_ASSERT_NOT_EQUAL(m.of[0][2], m.of[1][2]);
	CU_ASSERT_EQUAL(m.of[0][3], m.of[1][3]);
	CU_ASSERT_EQUAL(m.waits[0][m.of[0][1]], 10);
	CU_ASSERT_EQUAL(m.waits[1][m.of[1][2]], 20);
	CU_ASSERT_EQUAL(m.key[0][m.of[1][2]], TY_NONE);
	ty_match_free(&m);
	ty_sites_free(&r[0].sites);
	ty_sites_free(&r[1].sites);
}

/* ---- the command, from two stores to its exit status ---- */

static char dir[] = "/tmp/tarry-test-compare-XXXXXX";
static char err[TY_ERR_MAX], text[1 << 16];

void ty_say(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

/* Requests by marker; each waits for a lock at two places, the second one `slower` times as long. */
static void make_store(const char *name, double slower, const char *kernel)
{
	enum { N = 4000 };
	static struct ty_ev ev[N * 4];
	static const struct ty_frame at[2] = { { .module = 0, .offset = 0x10 },
					       { .module = 0, .offset = 0x20 } };
	struct ty_store *s = NULL;
	char path[96];
	uint64_t now = 1000000, n = 0;
	snprintf(path, sizeof path, "%s/%s", dir, name);
	CU_ASSERT_FATAL(ty_store_create(&s, path, err) == 0);
	CU_ASSERT(ty_store_put_ops(s, err) == 0);
	CU_ASSERT(ty_store_put_meta(s, "kernel", kernel, err) == 0);
	CU_ASSERT(ty_store_put_meta(s, "state", "\"complete\"", err) == 0);
	char config[400];
	snprintf(config, sizeof config, "\"arena: %s\\nrequests: marker\\n# %0200d the end\"", kernel[3] == '1' ? "64" : "32", 0);
	CU_ASSERT(ty_store_put_meta(s, "config", kernel[3] == '1' ? "\"arena: 64\\nrequests: marker\"" : config, err) == 0);
	CU_ASSERT(ty_store_put_module(
			  s, 0,
			  &(struct ty_module_info){ .path = "/bin/x", .build_id = "aa", .rows = "ready" },
			  err) == 0);
	CU_ASSERT(ty_store_put_process(s, 0, &(struct ty_process){ .pid = 7, .parent = -1, .exe = "/bin/x" },
				       err) == 0);
	CU_ASSERT(ty_store_put_thread(s, 0, &(struct ty_thread_info){ .tid = 7, .name = "x" }, err) == 0);
	CU_ASSERT(ty_store_put_symbols(s, 0, 0x10, &(struct ty_symbol){ .function = "first" }, 1, err) == 0);
	CU_ASSERT(ty_store_put_symbols(s, 0, 0x20, &(struct ty_symbol){ .function = "second" }, 1, err) == 0);
	for (uint32_t i = 0; i < 2; i++)
		CU_ASSERT(ty_store_put_path(s, i, &(struct ty_path){ .count = 1, .frames = &at[i] }, err) ==
			  0);
	for (uint64_t i = 0; i < N; i++) {
		struct ty_ev mark = {
			.begin = now, .end = now, .object = i, .kind = TY_EV_MARK, .op = TY_MARK_BEGIN
		};
		ev[n++] = mark;
		for (uint32_t k = 0; k < 2; k++) {
			uint64_t ns = (uint64_t)((k ? slower : 1) * (20000 + 10000 * uniform()));
			ev[n++] = (struct ty_ev){ .begin = now + 100,
						  .end = now + 100 + ns,
						  .path = k,
						  .kind = TY_EV_WAIT,
						  .op = TY_OP_pthread_mutex_lock,
						  .cls = TY_CLASS_MUTEX,
						  .object = 0x1000 };
			now += 100 + ns;
		}
		mark.begin = mark.end = now += 5000;
		mark.op = TY_MARK_END;
		ev[n++] = mark;
	}
	for (uint64_t i = 0; i < n; i += 1000)
		CU_ASSERT(ty_store_put_block(s, ev + i, 1000, ev[i + 999].end, err) == 0);
	CU_ASSERT(ty_store_commit(s, false, err) == 0);
	ty_store_close(s);
}

/* In a child, because argp ends the process on a usage error. */
static int compare(const char *first, const char *second, const char *option, const char *value)
{
	char a[96], b[96], out[96];
	const char *argv[] = { "compare", a, b, option, value, NULL };
	int status = -1;
	snprintf(a, sizeof a, "%s/%s", dir, first);
	snprintf(b, sizeof b, "%s/%s", dir, second);
	snprintf(out, sizeof out, "%s/out", dir);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		if (!freopen(out, "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(99);
		exit(cmd_compare(option ? value ? 5 : 4 : 3, (char **)(uintptr_t)argv));
	}
	waitpid(pid, &status, 0);
	FILE *f = fopen(out, "r");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	text[n] = 0;
	if (f)
		fclose(f);
	unlink(out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256;
}

static void command(void)
{
	const char *const names[] = { "base", "again", "slow" };
	seed = 5;
	CU_ASSERT_FATAL(mkdtemp(dir) != NULL);
	make_store("base", 1, "\"6.1\"");
	make_store("again", 1, "\"6.1\"");
	make_store("slow", 1.25, "\"6.2\"");
	CU_ASSERT_EQUAL(compare("base", "again", NULL, NULL), 0);
	CU_ASSERT_PTR_NULL(strstr(text, "warning"));
	CU_ASSERT_EQUAL(compare("slow", "base", NULL, NULL), 0); /* better is no failure */
	CU_ASSERT_EQUAL(compare("base", "slow", "--tolerance", "30"), 0);
	CU_ASSERT_EQUAL(compare("base", "slow", "--tolerance", "-1"), 2);
	CU_ASSERT_EQUAL(compare("base", "slow", "--requests", "nonsense"), 2);
	CU_ASSERT_EQUAL(compare("base", "nothing", NULL, NULL), 1);
	CU_ASSERT_EQUAL(compare("base", "slow", NULL, NULL), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "warning: kernel differs: 6.1  |  6.2"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "WORSE"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "more, by more than the tolerance")); /* what that word means */
	/* the lines of a long value that differ, whole */
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "warning: config differs:\n    base: arena: 64\n    new:  arena: 32\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "000 the end\n"));
	CU_ASSERT_PTR_NULL(strstr(text, "requests: marker"));
	for (char *p = text, *end; (end = strchr(p, '\n')); p = end + 1)
		CU_ASSERT(end - p <= 132);
	CU_ASSERT_EQUAL(compare("base", "slow", "--json", NULL), 1);
	json_t *j = json_loads(text, 0, NULL), *site = json_array_get(json_object_get(j, "sites"), 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(j);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(site, "function")), "second");
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(site, "verdict")), "worse");
	CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(site, "change")), 0.25, 0.02);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_object_get(j, "new"), "requests")), 4000);
	json_decref(j);
	for (unsigned i = 0; i < 3; i++) {
		char path[96];
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		unlink(path);
		strcat(path, "-lock");
		unlink(path);
	}
	CU_ASSERT_EQUAL(rmdir(dir), 0);
}

int main(void)
{
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("compare", NULL, NULL);
	CU_add_test(s, "values and blocks", values);
	CU_add_test(s, "tolerance rule", rule);
	CU_add_test(s, "false alarms in 200 pairs of the same", false_alarms);
	CU_add_test(s, "false alarms and sevenfold changes of what varies", varying);
	CU_add_test(s, "no variance on either side", no_variance);
	CU_add_test(s, "25 % slower", slowdown);
	CU_add_test(s, "one site slower", one_site);
	CU_add_test(s, "nothing to judge", nothing);
	CU_add_test(s, "sites of two recordings", sites);
	CU_add_test(s, "the command", command);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed != 0;
}

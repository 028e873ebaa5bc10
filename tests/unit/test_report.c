/* SPDX-License-Identifier: MIT
 *
 * `tarry report` from a store to its output: the fields that docs/JSON.md
 * promises, names, grouping, filters, and one clear line for what cannot be. */
#include <CUnit/Basic.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "common/store.h"
#include "tarry/event.h"
#include "tarry/ops.h"

static char dir[] = "/tmp/tarry-test-report-XXXXXX";
static char store[64], out[64], errors[64], err[TY_ERR_MAX];
static char text[1 << 20]; /* what the last report printed */
static char trouble[4096];

void ty_say(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

static void slurp(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(buf, 1, size - 1, f) : 0;
	buf[n] = 0;
	if (f)
		fclose(f);
}

/* In a child, because argp ends the process on a usage error.  Arguments end with NULL. */
static int report(const char *first, ...)
{
	const char *argv[16] = { "report", first };
	int argc = 2, status = -1;
	va_list ap;
	va_start(ap, first);
	while (argc < 15 && (argv[argc] = va_arg(ap, const char *)))
		argc++;
	va_end(ap);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		if (!freopen(out, "w", stdout) || !freopen(errors, "w", stderr))
			_exit(99);
		exit(cmd_report(argc, (char **)(uintptr_t)argv));
	}
	waitpid(pid, &status, 0);
	slurp(out, text, sizeof text);
	slurp(errors, trouble, sizeof trouble);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static json_t *report_json(const char *option, const char *value)
{
	int rc = option ? report("--json", store, option, value, NULL) : report("--json", store, NULL);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
	json_t *j = json_loads(text, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(j);
	return j;
}

static double number(json_t *root, const char *where, const char *key)
{
	json_t *v = json_object_get(json_object_get(root, where), key);
	CU_ASSERT_TRUE(json_is_number(v));
	return json_number_value(v);
}

static json_t *site(json_t *root, const char *operation, const char *function)
{
	size_t i;
	json_t *s;
	json_array_foreach(json_object_get(root, "sites"), i, s) {
		const char *o = json_string_value(json_object_get(s, "operation"));
		const char *f = json_string_value(json_object_get(s, "function"));
		if ((!operation || (o && !strcmp(o, operation))) && (!function || (f && !strcmp(f, function))))
			return s;
	}
	return NULL;
}

/* ---- the store ---- */

enum { SERVER, LIBC, TARRY, STDCXX };

static void put_names(struct ty_store *s)
{
	static const char *const modules[] = { "/usr/sbin/server", "/lib/libc.so.6", "/opt/libtarry.so", "/lib/libstdc++.so.6" };
	for (uint32_t i = 0; i < 4; i++)
		ty_store_put_module(s, i, &(struct ty_module_info){ .path = modules[i], .build_id = i ? "aa" : "bb",
			.rows = "ready" }, err);
	static const struct ty_symbol commit[2] = {
		{ "flush_inlined", "log.c", 10, true }, { "commit", "log.c", 99, false } };
	static const struct ty_symbol one[] = { { "lock_row", "row.c", 5, false }, { "handle", "main.c", 7, false },
		{ "std::condition_variable::wait", NULL, 0, false }, { "caf\xe9", "bad\xff.c", 1, false } };
	ty_store_put_symbols(s, SERVER, 0x100, commit, 2, err);
	ty_store_put_symbols(s, SERVER, 0x200, &one[0], 1, err);
	ty_store_put_symbols(s, SERVER, 0x300, &one[1], 1, err);
	ty_store_put_symbols(s, STDCXX, 0x400, &one[2], 1, err);
	ty_store_put_symbols(s, SERVER, 0x500, &one[3], 1, err);
}

enum { P_SHORT, P_COMMIT, P_ROW, P_ROW_AGAIN, P_CXX, P_BYTES };

static void put_paths(struct ty_store *s)
{
	static const struct ty_frame start = { .module = TARRY, .offset = 0x900 };
	const struct ty_frame commit[] = { { SERVER, 0, 0x100 }, { SERVER, 0, 0x300 }, start };
	const struct ty_frame row[] = { { SERVER, 0, 0x200 }, { SERVER, 0, 0x300 }, start };
	const struct ty_frame cxx[] = { { STDCXX, 0, 0x400 }, { SERVER, 0, 0x300 }, { -1, 0, 0xdead } };
	const struct ty_frame bytes[] = { { SERVER, 0, 0x500 }, { LIBC, 0, 0x777 } };
	ty_store_put_path(s, P_SHORT, &(struct ty_path){ TY_F_NO_PATH, 1, row }, err);
	ty_store_put_path(s, P_COMMIT, &(struct ty_path){ 0, 3, commit }, err);
	ty_store_put_path(s, P_ROW, &(struct ty_path){ 0, 3, row }, err);
	ty_store_put_path(s, P_ROW_AGAIN, &(struct ty_path){ 0, 2, row }, err); /* the same but for the trampoline */
	ty_store_put_path(s, P_CXX, &(struct ty_path){ TY_F_CUT, 3, cxx }, err);
	ty_store_put_path(s, P_BYTES, &(struct ty_path){ 0, 2, bytes }, err);
}

static uint64_t at;
static struct ty_ev next_ev(uint16_t op, uint8_t cls, uint32_t path, uint64_t object, uint64_t ns)
{
	struct ty_ev e = { .begin = at + 1000, .end = at + 1000 + ns, .op = op, .cls = cls, .path = path,
		.object = object, .aux = 20, .kind = TY_EV_WAIT };
	at = e.end;
	return e;
}

#define REQUESTS 600
static uint64_t lock_total, begun[REQUESTS], ended[REQUESTS];

static void make_store(void)
{
	static struct ty_ev ev[REQUESTS * 8 + 8];
	struct ty_store *s = NULL;
	size_t n = 0;
	uint64_t fast[TY_OP_COUNT] = { [TY_OP_pthread_mutex_lock] = 77 };
	unlink(store);
	CU_ASSERT_EQUAL_FATAL(ty_store_create(&s, store, err), 0);
	ty_store_put_ops(s, err);
	ty_store_put_meta(s, "start", "1000000000", err);
	ty_store_put_meta(s, "end", "5000000000", err);
	ty_store_put_meta(s, "state", "\"complete\"", err);
	ty_store_put_process(s, 0, &(struct ty_process){ .pid = 321, .parent = -1, .start = 1000000000,
		.exe = "/usr/sbin/server", .cmdline = "server -x" }, err);
	ty_store_put_thread(s, 0, &(struct ty_thread_info){ .tid = 322, .name = "w", .start = 1000000000, .fast = fast,
		.sampled_ns = 1000, .cpu_ns = 100, .runq_ns = 50, .waits_ns = 600 }, err);
	ty_store_put_descriptor(s, &(struct ty_descriptor){ .fd = 5, .from = 1, .kind = "file", .name = "/var/log/wal" }, err);
	put_names(s);
	put_paths(s);
	at = 2000000000;
	ev[n++] = next_ev(TY_OP_accept4, TY_CLASS_ACCEPT, P_SHORT, 3, 1);
	for (unsigned i = 0; i < REQUESTS; i++) {
		uint64_t lock = 1000 * (i * 37 % 101);
		ev[n++] = next_ev(TY_OP_recv, TY_CLASS_RECV, P_SHORT, 20, 100);
		begun[i] = at;
		lock_total += lock;
		ev[n++] = next_ev(TY_OP_pthread_mutex_lock, TY_CLASS_MUTEX, i % 2 ? P_ROW : P_ROW_AGAIN, 0x1000, lock);
		ev[n++] = next_ev(TY_OP_fdatasync, TY_CLASS_SYNC, P_COMMIT, 5, 20000);
		ev[n++] = next_ev(TY_OP_pthread_cond_wait, TY_CLASS_COND, P_CXX, 0x2000 + i, i % 7 * 900);
		ev[n++] = next_ev(TY_OP_write, TY_CLASS_WRITE, P_BYTES, 6, 10);
		ev[n++] = next_ev(TY_OP_send, TY_CLASS_SEND, P_SHORT, 20, 50);
		ended[i] = at;
	}
	CU_ASSERT_EQUAL_FATAL(ty_store_put_block(s, ev, n, at, err), 0);
	CU_ASSERT_EQUAL_FATAL(ty_store_commit(s, true, err), 0);
	ty_store_close(s);
}

/* ---- tests ---- */

static void test_fields(void)
{
	static const char *const requests[] = { "count", "mean_ns", "var_ns2", "sd_ns", "p50_ns", "p95_ns", "p99_ns", "p999_ns",
		"max_ns", "l2_ns", "rms_ns", "unfinished", "overlap", "share_sum", NULL };
	static const char *const sites[] = { "share", "share_se", "tail_share", "waits", "waits_per_request", "total_ns", "mean_ns",
		"sd_ns", "p99_ns", "max_ns", "waits_all", "total_all_ns", "per_request_ns", NULL };
	static const char *const frames[] = { "function", "module", "offset", "file", "line", "inlined", NULL };
	static const char *const tops[] = { "losses", "coverage", "operations", "processes", "held_up", NULL };
	json_t *j = report_json(NULL, NULL), *s, *v;
	size_t i;
	double sum = number(j, "running", "share") + number(j, "held_up", "share");
	CU_ASSERT_EQUAL(number(j, "tarry", "format"), 1);
	for (i = 0; requests[i]; i++)
		number(j, "requests", requests[i]);
	for (i = 0; tops[i]; i++)
		CU_ASSERT_PTR_NOT_NULL(json_object_get(j, tops[i]));
	number(j, "running", "share_se");
	number(j, "running", "mean_ns");
	json_array_foreach(json_object_get(j, "sites"), i, s) {
		for (size_t k = 0; sites[k]; k++)
			CU_ASSERT_TRUE(json_is_number(json_object_get(s, sites[k])));
		CU_ASSERT_TRUE(json_is_string(json_object_get(s, "id")));
		CU_ASSERT_TRUE(json_is_string(json_object_get(s, "operation")));
		size_t l;
		json_array_foreach(json_object_get(s, "path"), l, v)
			for (size_t k = 0; frames[k]; k++)
				CU_ASSERT_PTR_NOT_NULL(json_object_get(v, frames[k]));
		sum += json_number_value(json_object_get(s, "share"));
	}
	CU_ASSERT_DOUBLE_EQUAL(sum, 1, 1e-9);
	CU_ASSERT_EQUAL(number(j, "requests", "count"), REQUESTS);
	CU_ASSERT_EQUAL(number(j, "requests", "overlap"), 0);
	long double mean = 0;
	for (unsigned k = 0; k < REQUESTS; k++)
		mean += (long double)(ended[k] - begun[k]) / REQUESTS;
	CU_ASSERT_DOUBLE_EQUAL(number(j, "requests", "mean_ns"), (double)mean, 1e-6);
	json_decref(j);
}

static void test_names(void)
{
	json_t *j = report_json(NULL, NULL), *s = site(j, "pthread_mutex_lock", NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	/* both paths are one site, and libtarry's frame is not in it */
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(s, "waits")), REQUESTS);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(s, "total_ns")), (json_int_t)lock_total);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(s, "path")), 2);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(s, "function")), "lock_row");
	s = site(j, "fdatasync", "flush_inlined");
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(s, "path")), 3);
	CU_ASSERT_TRUE(json_is_true(json_object_get(json_array_get(json_object_get(s, "path"), 0), "inlined")));
	CU_ASSERT_FALSE(json_is_true(json_object_get(json_array_get(json_object_get(s, "path"), 1), "inlined")));
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(s, "object")), "/var/log/wal");
	CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(s, "share")), 0, 1e-9); /* constant */
	/* who asked is behind the C++ library */
	s = site(j, "pthread_cond_wait", "handle");
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(s, "path_kind")), "cut");
	CU_ASSERT_TRUE(json_is_null(json_object_get(s, "object")));
	/* never mixed with sites that have a path */
	s = site(j, "recv", "[path not taken]");
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(s, "path")), 0);
	CU_ASSERT_PTR_NOT_NULL(site(j, "write", "caf\\xe9")); /* bytes that are not UTF-8 */
	json_decref(j);
	CU_ASSERT_EQUAL(report(store, NULL), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "lock_row"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "600 requests"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "(inlined)"));
	/* as tarry info and the page: to the recorder's end, not to the last event */
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "  4.00 s, 1 process, 1 thread, 3 601 events"));
	CU_ASSERT_PTR_NULL(strstr(text, "\033")); /* no colours in a file */
	CU_ASSERT_PTR_NULL(strstr(text, "libtarry"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "tarry tree's is the variance"));
	/* the accept and the receives that requests begin with */
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "not listed: 2 sites outside of requests, with 601 waits, 60.0 us"));
	CU_ASSERT_PTR_NULL(strstr(text, "accept4"));
}

static void test_by(void)
{
	json_t *j = report_json("--by", "function");
	CU_ASSERT_PTR_NOT_NULL(site(j, NULL, "lock_row"));
	CU_ASSERT_PTR_NOT_NULL(site(j, NULL, "handle"));
	CU_ASSERT_DOUBLE_EQUAL(number(j, "requests", "share_sum"), 1, 1e-9);
	json_decref(j);
	j = report_json("--by", "operation");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(j, "sites")), 7);
	CU_ASSERT_DOUBLE_EQUAL(number(j, "requests", "share_sum"), 1, 1e-9);
	json_decref(j);
	j = report_json("--by", "object");
	CU_ASSERT_TRUE(json_array_size(json_object_get(j, "sites")) > REQUESTS);
	CU_ASSERT_DOUBLE_EQUAL(number(j, "requests", "share_sum"), 1, 1e-9);
	json_decref(j);
}

/* Two connections of one thread: while it flushes for the second one, the first one is held up. */
static void test_held_by_object(void)
{
	static struct ty_ev ev[4096];
	struct ty_store *s = NULL;
	char held[80];
	size_t n = 0;
	snprintf(held, sizeof held, "%s/h", dir);
	CU_ASSERT_EQUAL_FATAL(ty_store_create(&s, held, err), 0);
	ty_store_put_ops(s, err);
	ty_store_put_meta(s, "start", "1000000000", err);
	ty_store_put_meta(s, "state", "\"complete\"", err);
	ty_store_put_process(s, 0, &(struct ty_process){ .pid = 321, .parent = -1, .start = 1000000000, .exe = "/x" }, err);
	ty_store_put_thread(s, 0, &(struct ty_thread_info){ .tid = 322, .name = "w", .start = 1000000000 }, err);
	ty_store_put_descriptor(s, &(struct ty_descriptor){ .fd = 5, .from = 1, .kind = "file", .name = "/var/log/wal" }, err);
	put_names(s);
	put_paths(s);
	at = 2000000000;
	for (unsigned i = 0; i < 2; i++) {
		ev[n] = next_ev(TY_OP_accept4, TY_CLASS_ACCEPT, P_SHORT, 3, 1);
		ev[n++].aux = 21 + i;
	}
	for (unsigned i = 0; i < 300; i++) {
		bool first = i == 0;
		ev[n++] = next_ev(TY_OP_recv, TY_CLASS_RECV, P_SHORT, 21, 100);
		ev[n++] = next_ev(TY_OP_recv, TY_CLASS_RECV, P_SHORT, 22, 100);
		ev[n++] = next_ev(first ? TY_OP_fsync : TY_OP_fdatasync, TY_CLASS_SYNC, P_COMMIT, 5, 1000 + i % 17 * 5000);
		ev[n++] = next_ev(TY_OP_send, TY_CLASS_SEND, P_SHORT, 22, 50);
		ev[n++] = next_ev(TY_OP_send, TY_CLASS_SEND, P_SHORT, 21, 50);
	}
	CU_ASSERT_EQUAL_FATAL(ty_store_put_block(s, ev, n, at, err), 0);
	CU_ASSERT_EQUAL_FATAL(ty_store_commit(s, true, err), 0);
	ty_store_close(s);
	CU_ASSERT_EQUAL(report(held, "--by", "object", NULL), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "sync  on /var/log/wal\n")); /* neither of the two */
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "behind its sync  on /var/log/wal; "));
	CU_ASSERT_PTR_NULL(strstr(text, "fsync"));
	CU_ASSERT_EQUAL(report(held, "--by", "object", "--json", NULL), 0);
	json_t *j = json_loads(text, 0, NULL);
	json_t *behind = json_array_get(json_object_get(json_object_get(j, "held_up"), "behind"), 0);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(behind, "object")), "/var/log/wal");
	json_decref(j);
	CU_ASSERT_EQUAL(report(held, NULL), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "behind its fdatasync  flush_inlined; "));
	unlink(held);
	strcat(held, "-lock");
	unlink(held);
}

static void test_window(void)
{
	char from[32], to[32];
	snprintf(from, sizeof from, "%llu", (unsigned long long)begun[100]);
	snprintf(to, sizeof to, "%llu", (unsigned long long)ended[299]);
	CU_ASSERT_EQUAL_FATAL(report("--json", store, "--from", from, "--to", to, NULL), 0);
	json_t *j = json_loads(text, 0, NULL);
	CU_ASSERT_EQUAL(number(j, "requests", "count"), 200);
	json_decref(j);
	snprintf(from, sizeof from, "%.9fs", (double)(begun[100] - 1000000000) / 1e9);
	j = report_json("--from", from);
	CU_ASSERT_EQUAL(number(j, "requests", "count"), 500);
	json_decref(j);
}

static void test_none(void)
{
	json_t *j = report_json("--requests", "none");
	CU_ASSERT_EQUAL(number(j, "requests", "count"), 0);
	json_t *s = json_array_get(json_object_get(j, "sites"), 0);
	CU_ASSERT_TRUE(json_is_null(json_object_get(s, "share")));
	s = site(j, "pthread_mutex_lock", NULL);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(s, "total_ns")), (json_int_t)lock_total);
	size_t i;
	json_t *o;
	json_array_foreach(json_object_get(j, "operations"), i, o)
		if (!strcmp(json_string_value(json_object_get(o, "operation")), "pthread_mutex_lock")) {
			CU_ASSERT_EQUAL(json_integer_value(json_object_get(o, "waits")), REQUESTS);
			CU_ASSERT_EQUAL(json_integer_value(json_object_get(o, "fast_calls")), 77);
		}
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_object_get(json_object_get(j, "coverage"), "unseen"),
							  "unseen_ns")), 250);
	json_decref(j);
	CU_ASSERT_EQUAL(report("--requests", "marker", store, NULL), 0);
}

static void test_site_rule(void)
{
	json_t *j = report_json("--requests", "site:commit");
	CU_ASSERT_EQUAL(number(j, "requests", "count"), REQUESTS - 1);
	CU_ASSERT_DOUBLE_EQUAL(number(j, "requests", "share_sum"), 1, 1e-9);
	json_decref(j);
}

static void test_filters(void)
{
	json_t *j = report_json("--path", "row.c");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(j, "sites")), 1);
	json_decref(j);
	j = report_json("--top", "2");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(j, "sites")), 2);
	json_decref(j);
	j = report_json("--process", "321");
	CU_ASSERT_EQUAL(number(j, "requests", "count"), REQUESTS);
	json_decref(j);
}

/* ---- classes and transactions ---- */

#define CLASSED 1200u
static const char *const class_names[] = { "SELECT", "UPDATE", "COMMIT", "BEGIN" };
static uint64_t latency[CLASSED];
static char classes_store[72];

static struct ty_ev said(enum ty_mark what, uint64_t aux)
{
	return (struct ty_ev){ .begin = at, .end = at, .object = 20, .aux = aux, .op = (uint16_t)what, .kind = TY_EV_MARK,
		.cls = TY_CLASS_COUNT, .path = P_SHORT };
}

/* Class of request i: 0 none, else label.  In sixes: BEGIN, SELECT, none, UPDATE, COMMIT, and a SELECT alone. */
static unsigned class_of(unsigned i)
{
	static const unsigned kinds[] = { 4, 1, 0, 2, 3, 1 };
	return kinds[i % 6];
}

static void make_classes(void)
{
	static struct ty_ev ev[CLASSED * 5 + 8];
	struct ty_store *s = NULL;
	size_t n = 0;
	snprintf(classes_store, sizeof classes_store, "%s/c", dir);
	CU_ASSERT_EQUAL_FATAL(ty_store_create(&s, classes_store, err), 0);
	ty_store_put_ops(s, err);
	ty_store_put_meta(s, "start", "1000000000", err);
	ty_store_put_meta(s, "state", "\"complete\"", err);
	ty_store_put_process(s, 0, &(struct ty_process){ .pid = 321, .parent = -1, .start = 1000000000, .exe = "/x",
		.cmdline = "x" }, err);
	ty_store_put_thread(s, 0, &(struct ty_thread_info){ .tid = 322, .name = "w", .start = 1000000000 }, err);
	for (uint32_t i = 0; i < 4; i++)
		ty_store_put_label(s, i + 1, class_names[i], err);
	put_names(s);
	put_paths(s);
	at = 2000000000;
	ev[n++] = next_ev(TY_OP_accept4, TY_CLASS_ACCEPT, P_SHORT, 3, 1);
	for (unsigned i = 0; i < CLASSED; i++) {
		uint64_t t = 40000 * class_of(i) + 977 * (i * 37 % 113);
		ev[n++] = next_ev(TY_OP_recv, TY_CLASS_RECV, P_SHORT, 20, 100);
		uint64_t from = at;
		if (class_of(i))
			ev[n++] = said(TY_MARK_CLASS, class_of(i));
		ev[n++] = next_ev(TY_OP_pthread_mutex_lock, TY_CLASS_MUTEX, P_ROW, 0x1000, t);
		ev[n++] = next_ev(TY_OP_send, TY_CLASS_SEND, P_SHORT, 20, 50);
		latency[i] = at - from;
		if (i % 6 == 0 || i % 6 == 4)
			ev[n++] = said(TY_MARK_STATE, i % 6 == 0 ? TY_SESSION_IN_TRANSACTION : TY_SESSION_IDLE);
		at += 5000; /* the client thinks */
	}
	CU_ASSERT_EQUAL_FATAL(ty_store_put_block(s, ev, n, at, err), 0);
	CU_ASSERT_EQUAL_FATAL(ty_store_commit(s, true, err), 0);
	ty_store_close(s);
}

static json_t *classes_json(const char *option, const char *value)
{
	CU_ASSERT_EQUAL_FATAL(report("--json", classes_store, option, value, NULL), 0);
	json_t *j = json_loads(text, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(j);
	return j;
}

/* All requests of one class, worked out here from what was planted. */
static void check_class(json_t *k, unsigned label, long double *between, long double *within, long double all_mean)
{
	long double sum = 0, ss = 0, all = 0;
	uint64_t n = 0, sorted[CLASSED];
	for (unsigned i = 0; i < CLASSED; i++) {
		all += (long double)latency[i];
		if (class_of(i) != label)
			continue;
		size_t j = n++;
		for (; j && sorted[j - 1] > latency[i]; j--)
			sorted[j] = sorted[j - 1];
		sorted[j] = latency[i];
		sum += (long double)latency[i];
	}
	long double mean = sum / (long double)n;
	for (uint64_t i = 0; i < n; i++)
		ss += ((long double)sorted[i] - mean) * ((long double)sorted[i] - mean);
	*between += (long double)n / CLASSED * (mean - all_mean) * (mean - all_mean);
	*within += ss / CLASSED;
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(k, "count")), (json_int_t)n);
	CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(k, "mean_ns")), (double)mean, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(k, "var_ns2")) / (double)(ss / (long double)n), 1, 1e-9);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(k, "p99_ns")), (json_int_t)sorted[(n * 99 + 99) / 100 - 1]);
	CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(k, "time_share")), (double)(sum / all), 1e-12);
}

static void test_classes(void)
{
	make_classes();
	json_t *j = classes_json("--requests", "auto"), *k, *q = json_object_get(j, "requests");
	long double between = 0, within = 0, mean = 0;
	size_t i, found = 0;
	for (unsigned r = 0; r < CLASSED; r++)
		mean += (long double)latency[r] / CLASSED;
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(q, "rule")), "socket");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(q, "classes")), 5);
	json_array_foreach(json_object_get(q, "classes"), i, k) {
		const char *name = json_string_value(json_object_get(k, "class"));
		unsigned label = 0;
		while (name && label < 4 && strcmp(name, class_names[label]) != 0)
			label++;
		check_class(k, name ? label + 1 : 0, &between, &within, mean);
		found |= 1u << (name ? label + 1 : 0);
	}
	CU_ASSERT_EQUAL(found, 31);
	json_t *split = json_object_get(q, "variance_split");
	double got_between = json_number_value(json_object_get(split, "between_ns2"));
	double got_within = json_number_value(json_object_get(split, "within_ns2"));
	CU_ASSERT_DOUBLE_EQUAL(got_between / (double)between, 1, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(got_within / (double)within, 1, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL((got_between + got_within) / number(j, "requests", "var_ns2"), 1, 1e-9);
	json_decref(j);
	j = classes_json("--where", "class=SELECT");
	CU_ASSERT_EQUAL(number(j, "requests", "count"), CLASSED / 3);
	json_decref(j);
	j = classes_json("--where", "class=\"\""); /* those without one */
	CU_ASSERT_EQUAL(number(j, "requests", "count"), CLASSED / 6);
	json_decref(j);
	CU_ASSERT_EQUAL(report(classes_store, NULL), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "(no class)"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "is between classes"));
	CU_ASSERT_EQUAL(report(store, NULL), 0); /* no classes, no table */
	CU_ASSERT_PTR_NULL(strstr(text, "between classes"));
}

static void test_transactions(void)
{
	json_t *j = classes_json("--requests", "transaction"), *k, *q = json_object_get(j, "requests");
	long double sum = 0;
	size_t i;
	for (unsigned r = 0; r < CLASSED; r++)
		sum += (long double)latency[r];
	/* five statements in one, and one alone */
	CU_ASSERT_EQUAL(number(j, "requests", "count"), CLASSED / 3);
	CU_ASSERT_EQUAL(number(j, "requests", "statements"), CLASSED);
	CU_ASSERT_DOUBLE_EQUAL(number(j, "requests", "mean_ns") * (CLASSED / 3) / (double)sum, 1, 1e-12);
	/* think time and the receive that ends it, four times in each sequence */
	CU_ASSERT_EQUAL(number(j, "requests", "think_ns"), CLASSED / 6 * 4 * (5000 + 1000 + 100));
	CU_ASSERT_DOUBLE_EQUAL(number(j, "requests", "share_sum"), 1, 1e-9);
	json_array_foreach(json_object_get(q, "classes"), i, k) /* BEGIN is not what it is about */
		CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(k, "class")), "SELECT");
	json_decref(j);
	CU_ASSERT_EQUAL(report("--requests", "transaction", classes_store, NULL), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "3.00 statements each"));
	char lock[90];
	snprintf(lock, sizeof lock, "%s-lock", classes_store);
	unlink(lock);
	unlink(classes_store);
}

static void test_trouble(void)
{
	static const char *const usage[][2] = { { "--by", "color" }, { "--top", "0" }, { "--top", "-1" }, { "--tail", "100" },
		{ "--from", "yesterday" }, { "--requests", "session" }, { "--requests", "site:" }, { "--nonsense", "1" },
		{ "--process", "0" } };
	for (size_t i = 0; i < sizeof usage / sizeof *usage; i++) {
		CU_ASSERT_EQUAL(report(store, usage[i][0], usage[i][1], NULL), 2);
		CU_ASSERT_PTR_NOT_NULL(strstr(trouble, i == 5 || i == 6 ? "site:TEXT" : usage[i][0])); /* which, or what there is */
		CU_ASSERT_STRING_EQUAL(text, "");
	}
	CU_ASSERT_EQUAL(report(store, "--from", "5s", "--to", "2s", NULL), 2);
	CU_ASSERT_EQUAL(report("--json", NULL), 2); /* no store */
	CU_ASSERT_EQUAL(report(store, "--process", "4", NULL), 2);
	CU_ASSERT_STRING_EQUAL(trouble, "--process: no process '4' in this recording; nearest: 321\n");
	CU_ASSERT_EQUAL(report(store, "--thread", "323", NULL), 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(trouble, "no thread '323' in this recording; nearest: 322"));
	CU_ASSERT_EQUAL(report(store, "--path", "lock_rwo", NULL), 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(trouble, "--path: no call path that waited has 'lock_rwo' in this recording; nearest: lock"));
	CU_ASSERT_EQUAL(report(store, "--requests", "site:kommit", NULL), 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(trouble, "nearest: commit"));
	CU_ASSERT_EQUAL(report("/etc/passwd", NULL), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(trouble, "/etc/passwd"));
	CU_ASSERT_EQUAL(report("/nowhere/x", NULL), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(trouble, "/nowhere/x"));
}

/* What leaves no request is said, with what there would be; no table of nothing. */
static void test_none_left(void)
{
	CU_ASSERT_EQUAL(report(store, "--from", "3s", NULL), 1);
	CU_ASSERT_STRING_EQUAL(text, "");
	CU_ASSERT_PTR_NOT_NULL(strstr(trouble, "is left by --from: the 600 there are from 1.00 s to 1.05 s after the start"));
	CU_ASSERT_EQUAL(report(store, "--where", "latency>50s", "--json", NULL), 1);
	CU_ASSERT_STRING_EQUAL(text, "");
	CU_ASSERT_PTR_NOT_NULL(strstr(trouble, "is left by --where: the 600 there are"));
	CU_ASSERT_EQUAL(report(store, "--from", "3s", "--requests", "none", NULL), 0); /* no waits is an answer */
	CU_ASSERT_EQUAL(report(store, "--requests", "marker", NULL), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "none was finished"));
}

int main(void)
{
	static const struct { const char *name; void (*run)(void); } tests[] = {
		{ "a store to report on", make_store }, { "JSON has what is promised", test_fields },
		{ "names and paths", test_names }, { "by function, operation, object", test_by }, { "window", test_window },
		{ "held up, by object", test_held_by_object },
		{ "without requests", test_none }, { "rule site:", test_site_rule }, { "filters", test_filters },
		{ "classes", test_classes }, { "transactions", test_transactions },
		{ "trouble is one line", test_trouble }, { "no request is left", test_none_left },
	};
	if (!mkdtemp(dir) || CU_initialize_registry())
		return 1;
	snprintf(store, sizeof store, "%s/s", dir);
	snprintf(out, sizeof out, "%s/out", dir);
	snprintf(errors, sizeof errors, "%s/err", dir);
	CU_pSuite s = CU_add_suite("report", NULL, NULL);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		CU_add_test(s, tests[i].name, tests[i].run);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures() + (CU_get_error() != CUE_SUCCESS);
	CU_cleanup_registry();
	char lock[80];
	snprintf(lock, sizeof lock, "%s-lock", store);
	unlink(lock);
	unlink(store);
	unlink(out);
	unlink(errors);
	rmdir(dir);
	return failed != 0;
}

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
	CU_ASSERT_PTR_NULL(strstr(text, "\033")); /* no colours in a file */
	CU_ASSERT_PTR_NULL(strstr(text, "libtarry"));
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

static void test_trouble(void)
{
	static const char *const usage[][2] = { { "--by", "color" }, { "--top", "0" }, { "--top", "-1" }, { "--tail", "100" },
		{ "--from", "yesterday" }, { "--requests", "transaction" }, { "--requests", "site:" }, { "--nonsense", "1" },
		{ "--process", "0" } };
	for (size_t i = 0; i < sizeof usage / sizeof *usage; i++) {
		CU_ASSERT_EQUAL(report(store, usage[i][0], usage[i][1], NULL), 2);
		CU_ASSERT_TRUE(*trouble);
		CU_ASSERT_STRING_EQUAL(text, "");
	}
	CU_ASSERT_EQUAL(report(store, "--from", "5s", "--to", "2s", NULL), 2);
	CU_ASSERT_EQUAL(report("--json", NULL), 2); /* no store */
	CU_ASSERT_EQUAL(report(store, "--process", "4", NULL), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(trouble, "no process 4"));
	CU_ASSERT_EQUAL(report("/etc/passwd", NULL), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(trouble, "/etc/passwd"));
	CU_ASSERT_EQUAL(report("/nowhere/x", NULL), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(trouble, "/nowhere/x"));
}

int main(void)
{
	static const struct { const char *name; void (*run)(void); } tests[] = {
		{ "a store to report on", make_store }, { "JSON has what is promised", test_fields },
		{ "names and paths", test_names }, { "by function, operation, object", test_by }, { "window", test_window },
		{ "without requests", test_none }, { "rule site:", test_site_rule }, { "filters", test_filters },
		{ "trouble is one line", test_trouble },
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

/* SPDX-License-Identifier: MIT
 *
 * Unit test of the store's writer and tables: rows come back; a store that
 * exists is never touched; the map grows; the oldest blocks can be dropped; a
 * full disk costs events and nothing else. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/store_help.h"

/* ---- tables ---- */

static void put_tables(struct ty_store *s)
{
	static uint64_t fast[TY_OP_COUNT], recorded[TY_OP_COUNT], loss[TY_LOSS_COUNT];
	fast[TY_OP_pthread_mutex_lock] = 123456789;
	recorded[TY_OP_fsync] = 7;
	recorded[TY_OP_COUNT - 1] = 1ull << 40;
	loss[TY_LOSS_CUT] = 3;
	OK(ty_store_put_meta(s, "host", "\"box\"", err));
	OK(ty_store_put_meta(s, "state", "\"recording\"", err));
	OK(ty_store_put_process(s, 0, &(struct ty_process){ .pid = 10, .ppid = 1, .parent = -1, .ended_waiting = true,
		.ended = true, .image = UINT64_MAX, .start = 5, .end = 6, .exe = "/usr/bin/\xc3\xa4\xff",
		.cmdline = "x \"quoted\"\n" }, err));
	OK(ty_store_put_process(s, 1, &(struct ty_process){ .pid = 11, .ppid = 10, .forked = true, .exe = "y" }, err));
	OK(ty_store_put_thread(s, 1, &(struct ty_thread_info){ .process = 1, .tid = 12, .name = "worker",
		.start = 1, .end = 2, .sampled_ns = 3, .cpu_ns = 4, .runq_ns = 5, .waits_ns = 6,
		.fast = fast, .recorded = recorded, .loss = loss }, err));
	OK(ty_store_put_module(s, 0, &(struct ty_module_info){ .path = "/lib/c", .build_id = "ab12",
		.rows = "ready", .row_count = 100, .rows_skipped = 2 }, err));
	struct ty_frame f[3] = { { 0, false, 0x1234 }, { -1, false, UINT64_MAX }, { 0, true, 0 } };
	OK(ty_store_put_path(s, 0, &(struct ty_path){ .flags = TY_F_CUT, .count = 3, .frames = f }, err));
	OK(ty_store_put_path(s, 2, &(struct ty_path){ .count = 1, .frames = f }, err));
	OK(ty_store_put_descriptor(s, &(struct ty_descriptor){ 1, 5, 100, "socket", "tcp a" }, err));
	OK(ty_store_put_descriptor(s, &(struct ty_descriptor){ 0, 9, 1, "file", "/x" }, err));
	OK(ty_store_put_descriptor(s, &(struct ty_descriptor){ 1, 5, 50, "file", "/y" }, err));
	OK(ty_store_put_label(s, 3, "checkout", err));
	struct ty_symbol y[2] = { { "inner(int)", "a.cc", 7, true }, { "outer", NULL, 0, false } };
	OK(ty_store_put_symbols(s, 0, 0x1234, y, 2, err));
	OK(ty_store_put_symbols(s, 0, 0x99, y, 0, err));
}

static void check_processes(struct ty_store *s)
{
	size_t n;
	const struct ty_process *p = ty_store_processes(s, &n);
	CU_ASSERT_EQUAL_FATAL(n, 2);
	CU_ASSERT(p[0].pid == 10 && p[0].ppid == 1 && p[0].parent == -1 && p[0].ended_waiting && p[0].ended && !p[0].forked);
	CU_ASSERT(p[0].image == UINT64_MAX && p[0].start == 5 && p[0].end == 6);
	CU_ASSERT_STRING_EQUAL(p[0].exe, "/usr/bin/\xc3\xa4\\xff");
	CU_ASSERT_STRING_EQUAL(p[0].cmdline, "x \"quoted\"\n");
	CU_ASSERT(p[1].parent == 0 && p[1].forked && !p[1].ended_waiting);
	CU_ASSERT_STRING_EQUAL(p[1].cmdline, "");
	const struct ty_thread_info *t = ty_store_threads(s, &n);
	CU_ASSERT_EQUAL_FATAL(n, 2); /* row 0 was never put: zeros */
	CU_ASSERT_STRING_EQUAL(t[0].name, "");
	CU_ASSERT_EQUAL(t[0].fast[TY_OP_fsync], 0);
	CU_ASSERT(t[1].process == 1 && t[1].tid == 12 && t[1].start == 1 && t[1].end == 2);
	CU_ASSERT(t[1].sampled_ns == 3 && t[1].cpu_ns == 4 && t[1].runq_ns == 5 && t[1].waits_ns == 6);
	CU_ASSERT_STRING_EQUAL(t[1].name, "worker");
	CU_ASSERT_EQUAL(t[1].fast[TY_OP_pthread_mutex_lock], 123456789);
	CU_ASSERT(t[1].recorded[TY_OP_fsync] == 7 && t[1].recorded[TY_OP_COUNT - 1] == 1ull << 40);
	CU_ASSERT(t[1].loss[TY_LOSS_CUT] == 3 && t[1].loss[TY_LOSS_MISS] == 0);
}

static void check_code(struct ty_store *s)
{
	size_t n;
	const struct ty_module_info *m = ty_store_modules(s, &n);
	CU_ASSERT_EQUAL_FATAL(n, 1);
	CU_ASSERT(!strcmp(m->path, "/lib/c") && !strcmp(m->build_id, "ab12") && !strcmp(m->rows, "ready"));
	CU_ASSERT(m->row_count == 100 && m->rows_skipped == 2);
	const struct ty_path *p = ty_store_paths(s, &n);
	CU_ASSERT_EQUAL_FATAL(n, 3);
	CU_ASSERT(p[0].flags == TY_F_CUT && p[0].count == 3);
	CU_ASSERT(p[0].frames[0].module == 0 && p[0].frames[0].offset == 0x1234 && !p[0].frames[0].exact);
	CU_ASSERT(p[0].frames[1].module == -1 && p[0].frames[1].offset == UINT64_MAX);
	CU_ASSERT(p[0].frames[2].exact && p[0].frames[2].offset == 0);
	CU_ASSERT(p[1].count == 1 && p[1].frames[0].module == -1); /* never put */
	CU_ASSERT(p[2].flags == 0 && p[2].count == 1);
	const struct ty_symbol *y = ty_store_symbols(s, 0, 0x1234, &n);
	CU_ASSERT_EQUAL_FATAL(n, 2);
	CU_ASSERT(!strcmp(y[0].function, "inner(int)") && !strcmp(y[0].file, "a.cc") && y[0].line == 7 && y[0].inlined);
	CU_ASSERT(!strcmp(y[1].function, "outer") && !y[1].file && !y[1].inlined);
	CU_ASSERT_PTR_EQUAL(ty_store_symbols(s, 0, 0x1234, &n), y);
	for (uint64_t i = 0; i < 5000; i++) { /* the cache grows */
		CU_ASSERT_PTR_NULL(ty_store_symbols(s, i % 2 ? 0 : -1, 0x100000 + i, &n));
		CU_ASSERT_EQUAL(n, 0);
	}
	CU_ASSERT_PTR_NULL(ty_store_symbols(s, 0, 0x99, &n));
	CU_ASSERT_PTR_EQUAL(ty_store_symbols(s, 0, 0x1234, &n), y);
}

static int count_meta(void *arg, const char *key, const char *value)
{
	++*(int *)arg;
	return strcmp(key, "host") == 0 ? 42 : 0;
}

static void test_tables(void)
{
	fresh("tables");
	struct ty_store *s = create();
	CU_ASSERT_TRUE(ty_store_recording(s));
	put_tables(s);
	OK(ty_store_commit(s, true, err));
	OK(ty_store_put_meta(s, "state", "\"complete\"", err));
	OK(ty_store_commit(s, false, err));
	ty_store_close(s);

	s = reopen();
	size_t n;
	int metas = 0;
	char lock[160];
	snprintf(lock, sizeof lock, "%s-lock", path);
	CU_ASSERT_EQUAL(access(lock, F_OK), -1); /* a complete store is read without leaving anything */
	CU_ASSERT_FALSE(ty_store_recording(s));
	CU_ASSERT_STRING_EQUAL(ty_store_meta(s, "state"), "\"complete\"");
	CU_ASSERT_STRING_EQUAL(ty_store_meta(s, "format"), "2");
	CU_ASSERT_PTR_NULL(ty_store_meta(s, "none"));
	CU_ASSERT_EQUAL(ty_store_meta_each(s, count_meta, &metas), 42);
	CU_ASSERT_EQUAL(metas, 2);
	const struct ty_op_info *o = ty_store_ops(s, &n);
	CU_ASSERT_EQUAL_FATAL(n, TY_OP_COUNT);
	CU_ASSERT_STRING_EQUAL(o[TY_OP_fsync].name, "fsync");
	CU_ASSERT_STRING_EQUAL(o[TY_OP_fsync].class_name, "sync");
	CU_ASSERT_EQUAL(o[TY_OP_fsync].cls, TY_CLASS_SYNC);
	CU_ASSERT_STRING_EQUAL(o[TY_OP_sys_fsync].name, "syscall:fsync");
	const char *const *l = ty_store_losses(s, &n);
	CU_ASSERT_EQUAL_FATAL(n, TY_LOSS_COUNT);
	CU_ASSERT_STRING_EQUAL(l[TY_LOSS_CUT], "cut");
	CU_ASSERT_TRUE(strlen(ty_store_loss_what(s, TY_LOSS_CUT)) > 10);
	check_processes(s);
	check_code(s);
	const struct ty_descriptor *d = ty_store_descriptors(s, &n);
	CU_ASSERT_EQUAL_FATAL(n, 3);
	CU_ASSERT(d[0].process == 0 && d[0].fd == 9 && !strcmp(d[0].kind, "file") && !strcmp(d[0].name, "/x"));
	CU_ASSERT(d[1].process == 1 && d[1].from == 50 && d[2].from == 100);
	CU_ASSERT_STRING_EQUAL(ty_store_label(s, 3), "checkout");
	CU_ASSERT_STRING_EQUAL(ty_store_label(s, 1), "");
	CU_ASSERT_STRING_EQUAL(ty_store_label(s, 99), "");
	CU_ASSERT_EQUAL(scan(s, 0, UINT64_MAX).events, 0);
	OK(ty_store_refresh(s, err));
	check_code(s);
	ty_store_close(s);
}

/* ---- the file ---- */

static void test_exists(void)
{
	fresh("exists");
	struct ty_store *s = (void *)1;
	struct stat before, after;
	int fd = open(path, O_CREAT | O_WRONLY, 0644);
	CU_ASSERT_EQUAL(write(fd, "precious", 8), 8);
	close(fd);
	stat(path, &before);
	CU_ASSERT_EQUAL(ty_store_create(&s, path, err), -EEXIST);
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "exists"));
	CU_ASSERT_PTR_EQUAL(s, (void *)1);
	stat(path, &after);
	CU_ASSERT(before.st_size == after.st_size && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);

	fresh("two");
	s = create();
	put_tables(s);
	struct ty_store *t = NULL;
	pid_t child = fork(); /* another recorder */
	if (child == 0)
		_exit(ty_store_create(&t, path, err) == -EEXIST ? 0 : 1);
	int status = -1;
	waitpid(child, &status, 0);
	CU_ASSERT_EQUAL(status, 0);
	OK(ty_store_commit(s, false, err));
	ty_store_close(s);
	s = reopen();
	check_code(s);
	ty_store_close(s);
	snprintf(path, sizeof path, "%s/none/x", dir);
	CU_ASSERT_EQUAL(ty_store_create(&s, path, err), -ENOENT);
}

/* The first map is 64 MiB: events and rows of more than that, in one commit and in many. */
static void test_growth(void)
{
	fresh("growth");
	struct ty_store *s = create();
	char *big = malloc(1000001);
	memset(big, 'x', 1000000);
	big[1000000] = 0;
	for (uint32_t i = 0; i < 70; i++)
		OK(ty_store_put_label(s, i, big, err));
	OK(ty_store_commit(s, false, err));
	for (uint32_t i = 70; i < 150; i++) {
		OK(ty_store_put_label(s, i, big, err));
		OK(ty_store_commit(s, false, err));
	}
	CU_ASSERT_TRUE(ty_store_size(s) > 150000000);
	CU_ASSERT_TRUE(ty_store_size(s) < 152000000);
	ty_store_close(s);
	s = reopen();
	CU_ASSERT_STRING_EQUAL(ty_store_label(s, 149), big);
	CU_ASSERT_STRING_EQUAL(ty_store_label(s, 0), big);
	ty_store_close(s);
	free(big);
	unlink(path);
}

static void test_trim(void)
{
	fresh("trim");
	struct ty_store *s = create();
	put_threads(s, THREADS);
	struct ty_ev *ev = malloc(THREADS * 200 * sizeof *ev);
	uint64_t now = 1000000, put = 0, dropped = 0, most = 0;
	seed(12);
	for (int i = 0; i < 300; i++) {
		size_t n = drain(ev, 199, now, 1000000);
		put += n;
		OK(ty_store_put_block(s, ev, n, now, err));
		now += 1000000;
		OK(ty_store_commit(s, false, err));
		dropped += ty_store_trim(s, 2 << 20, 0, err);
		CU_ASSERT_STRING_EQUAL(err, "");
		most = ty_store_size(s) > most ? ty_store_size(s) : most;
	}
	CU_ASSERT_TRUE(most < 3 << 20);
	CU_ASSERT_TRUE(dropped > put / 2);
	struct stat st;
	stat(path, &st);
	CU_ASSERT_TRUE(st.st_size < 6 << 20); /* freed pages are used again */
	uint64_t old = ty_store_trim(s, 0, now - 20000000, err); /* keep about twenty drains */
	CU_ASSERT_TRUE(old > 0);
	dropped += old;
	CU_ASSERT_EQUAL(ty_store_trim(s, 0, now - 20000000, err), 0);
	ty_store_close(s);
	free(ev);
	s = reopen();
	char text[32];
	struct seen r = scan(s, 0, UINT64_MAX);
	CU_ASSERT_EQUAL(r.events + dropped, put);
	CU_ASSERT_EQUAL(r.unordered + r.stragglers, 0);
	snprintf(text, sizeof text, "\"events\":%llu,", (unsigned long long)dropped);
	CU_ASSERT_PTR_NOT_NULL_FATAL(ty_store_meta(s, "trimmed"));
	CU_ASSERT_PTR_NOT_NULL(strstr(ty_store_meta(s, "trimmed"), text));
	ty_store_close(s);
}

/* RLIMIT_FSIZE stands in for a full disk: the writes fail in the same place. */
static void test_full(void)
{
	fresh("full");
	struct rlimit old, small = { 256 << 10, RLIM_INFINITY };
	struct ty_store *s = create();
	struct ty_ev *ev = malloc(THREADS * 200 * sizeof *ev);
	uint64_t now = 1000000, kept = 0, failed = 0;
	seed(13);
	put_threads(s, THREADS - 1);
	OK(ty_store_commit(s, false, err));
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	for (int i = 0; i < 40; i++) {
		small.rlim_cur = i >= 10 && i < 30 ? 256 << 10 : old.rlim_cur;
		setrlimit(RLIMIT_FSIZE, &small);
		if (i == 28) /* a row put while the disk is full is needed by events stored later */
			OK(ty_store_put_thread(s, THREADS - 1, &(struct ty_thread_info){ .tid = 77, .name = "late" }, err));
		size_t n = drain(ev, i < 20 ? 0 : 199, now, 1000000);
		if (i < 20)
			for (n = 0; n < 4000; n++)
				ev[n] = event(n / 1000, now + n % 1000, now + n % 1000 + rng() % 2);
		OK(ty_store_put_block(s, ev, n, now, err));
		now += 10000000;
		int r = ty_store_commit(s, false, err);
		CU_ASSERT_TRUE(r == 0 || r == -EFBIG || r == -EIO || r == -ENOSPC);
		if (r)
			CU_ASSERT_PTR_NOT_NULL(strstr(err, "cannot write"));
		failed += r != 0;
		kept += r == 0 ? n : 0;
	}
	setrlimit(RLIMIT_FSIZE, &old);
	CU_ASSERT_TRUE(failed > 5 && failed <= 20);
	ty_store_close(s);
	free(ev);
	s = reopen();
	size_t n;
	const struct ty_thread_info *t = ty_store_threads(s, &n);
	CU_ASSERT_EQUAL_FATAL(n, THREADS);
	CU_ASSERT_STRING_EQUAL(t[THREADS - 1].name, "late");
	CU_ASSERT_EQUAL(scan(s, 0, UINT64_MAX).events, kept);
	ty_store_close(s);
}

int main(void)
{
	CU_pSuite s = begin("store");
	CU_ADD_TEST(s, test_tables);
	CU_ADD_TEST(s, test_exists);
	CU_ADD_TEST(s, test_growth);
	CU_ADD_TEST(s, test_trim);
	CU_ADD_TEST(s, test_full);
	return finish();
}

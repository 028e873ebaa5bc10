/* SPDX-License-Identifier: MIT
 *
 * Unit test of the store as a file that others write, kill, cut, damage or
 * protect: reading beside a writer, after kill -9 of one, truncated and changed
 * files, other formats, folders that cannot be written. */
#include <fcntl.h>
#include <lmdb.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/store_help.h"

static void write_file(const void *data, size_t len)
{
	unlink(path);
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
	CU_ASSERT_EQUAL_FATAL(write(fd, data, len), (ssize_t)len);
	close(fd);
}

static char *read_file(size_t *len)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	CU_ASSERT_TRUE_FATAL(fd >= 0 && fstat(fd, &st) == 0);
	char *b = malloc((size_t)st.st_size + 1);
	CU_ASSERT_EQUAL_FATAL(read(fd, b, (size_t)st.st_size), st.st_size);
	close(fd);
	*len = (size_t)st.st_size;
	return b;
}

/* A writer of its own process: commits drains and says so by a byte in the
 * pipe, each time waiting for one back, until it is killed or told to end. */
static void writer(int out, int in)
{
	struct ty_store *s = NULL;
	struct ty_ev *ev = malloc(THREADS * 200 * sizeof *ev);
	uint64_t now = 1000000;
	char c = 'c';
	if (ty_store_create(&s, path, err) || ty_store_put_ops(s, err))
		_exit(1);
	static const struct ty_frame frame = { .module = -1, .offset = 4096 };
	int r = ty_store_put_process(s, 0, &(struct ty_process){ .pid = 1, .parent = -1, .exe = "x" }, err);
	for (uint32_t i = 0; i < 16; i++)
		r |= ty_store_put_path(s, i, &(struct ty_path){ .count = 1, .frames = &frame }, err);
	for (uint32_t round = 0; r == 0; round++) {
		for (uint32_t i = 0; i < THREADS; i++)
			r |= ty_store_put_thread(s, i, &(struct ty_thread_info){ .tid = i, .sampled_ns = round }, err);
		size_t n = drain(ev, 199, now, 1000000);
		now += 1000000;
		r |= ty_store_put_block(s, ev, n, now - 1000000, err);
		char count[24];
		snprintf(count, sizeof count, "%u", round + 1);
		r |= ty_store_put_meta(s, "commits", count, err);
		r |= ty_store_commit(s, false, err);
		if (r || write(out, &c, 1) != 1 || (in >= 0 && read(in, &c, 1) != 1))
			break;
	}
	ty_store_close(s);
	_exit(r != 0);
}

static pid_t start_writer(int *from, int *to)
{
	int a[2], b[2] = { -1, -1 };
	CU_ASSERT_EQUAL_FATAL(pipe2(a, O_CLOEXEC), 0);
	if (to)
		CU_ASSERT_EQUAL_FATAL(pipe2(b, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(a[0]);
		if (to)
			close(b[1]);
		writer(a[1], b[0]);
	}
	close(a[1]);
	*from = a[0];
	if (to) {
		close(b[0]);
		*to = b[1];
	}
	return pid;
}

static int end_of(pid_t pid)
{
	int status = -1;
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
	return status;
}

/* In steps: what a commit wrote is there, the next is not; a scan keeps to its snapshot. */
static void test_read_beside_writer(void)
{
	int from, to;
	char c = 0;
	fresh("beside");
	seed(21);
	pid_t pid = start_writer(&from, &to);
	CU_ASSERT_EQUAL_FATAL(read(from, &c, 1), 1);
	struct ty_store *s = reopen();
	uint64_t last = 0;
	CU_ASSERT_TRUE(ty_store_recording(s));
	for (int i = 1; i < 60; i++) { /* the file grows by about 2 MB */
		char want[24];
		size_t n;
		snprintf(want, sizeof want, "%d", i);
		CU_ASSERT_STRING_EQUAL(ty_store_meta(s, "commits"), want);
		struct seen r = scan(s, 0, UINT64_MAX);
		CU_ASSERT_TRUE(r.events > last);
		CU_ASSERT_EQUAL(r.unordered, 0);
		CU_ASSERT_EQUAL(ty_store_threads(s, &n)[0].sampled_ns, (uint64_t)i - 1);
		last = r.events;
		CU_ASSERT_EQUAL_FATAL(write(to, &c, 1), 1);
		CU_ASSERT_EQUAL_FATAL(read(from, &c, 1), 1);
		CU_ASSERT_EQUAL(scan(s, 0, UINT64_MAX).events, last);
		OK(ty_store_refresh(s, err));
	}
	close(to);
	close(from);
	CU_ASSERT_EQUAL(end_of(pid), 0);
	CU_ASSERT_FALSE(ty_store_recording(s));
	ty_store_close(s);
}

/* The writer's map grows beyond the one that the reader began with. */
static void test_reader_follows_growth(void)
{
	int from[2], to[2];
	char c = 0;
	fresh("grows");
	CU_ASSERT_EQUAL_FATAL(pipe(from) + pipe(to), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct ty_store *s = NULL;
		char *big = malloc(50000001);
		memset(big, 'x', 50000000);
		big[50000000] = 0;
		int r = ty_store_create(&s, path, err);
		for (uint32_t i = 0; r == 0 && i < 2; i++) {
			r = ty_store_put_label(s, i, big, err) | ty_store_commit(s, false, err);
			r |= write(from[1], &c, 1) != 1 || read(to[0], &c, 1) != 1;
		}
		_exit(r != 0);
	}
	CU_ASSERT_EQUAL_FATAL(read(from[0], &c, 1), 1);
	struct ty_store *s = reopen();
	CU_ASSERT_EQUAL(strlen(ty_store_label(s, 0)), 50000000);
	CU_ASSERT_EQUAL(write(to[1], &c, 1), 1);
	CU_ASSERT_EQUAL_FATAL(read(from[0], &c, 1), 1);
	OK(ty_store_refresh(s, err));
	CU_ASSERT_EQUAL(strlen(ty_store_label(s, 1)), 50000000);
	CU_ASSERT_EQUAL(write(to[1], &c, 1), 1);
	CU_ASSERT_EQUAL(end_of(pid), 0);
	ty_store_close(s);
	for (int i = 0; i < 2; i++) {
		close(from[i]);
		close(to[i]);
	}
	unlink(path);
}

/* As fast as both can: every open and refresh sees a whole commit. */
static void test_read_in_a_race(void)
{
	int from;
	fresh("race");
	seed(22);
	pid_t pid = start_writer(&from, NULL);
	char c;
	size_t n, opened = 0;
	uint64_t last = 0;
	CU_ASSERT_EQUAL_FATAL(read(from, &c, 1), 1);
	fcntl(from, F_SETPIPE_SZ, 1 << 20); /* so that the writer does not wait for us */
	for (int i = 0; i < 40; i++) {
		struct ty_store *s = reopen();
		for (int k = 0; k < 5; k++) {
			uint64_t commits = strtoull(ty_store_meta(s, "commits"), NULL, 10);
			CU_ASSERT_EQUAL(ty_store_threads(s, &n)[THREADS - 1].sampled_ns + 1, commits);
			CU_ASSERT_TRUE(commits >= last);
			last = commits;
			OK(ty_store_refresh(s, err));
		}
		opened += scan(s, 0, 2000000).events > 0;
		ty_store_close(s);
	}
	CU_ASSERT_EQUAL(opened, 40);
	CU_ASSERT_TRUE(last > 10);
	kill(pid, SIGKILL);
	CU_ASSERT_EQUAL(end_of(pid), SIGKILL);
	close(from);
	unlink(path);
}

static void test_killed_writer(void)
{
	for (unsigned commits = 1; commits <= 24; commits++) {
		int from;
		char name[32], got[64];
		unsigned done = 0;
		ssize_t n;
		snprintf(name, sizeof name, "killed%u", commits);
		fresh(name);
		seed(commits);
		pid_t pid = start_writer(&from, NULL);
		while (done < commits && (n = read(from, got, 1)) == 1)
			done++;
		kill(pid, SIGKILL); /* somewhere in the next drain, pack or commit */
		CU_ASSERT_EQUAL(end_of(pid), SIGKILL);
		while ((n = read(from, got, sizeof got)) > 0)
			done += (unsigned)n;
		close(from);
		struct ty_store *s = reopen();
		CU_ASSERT_FALSE(ty_store_recording(s));
		unsigned stored = (unsigned)strtoul(ty_store_meta(s, "commits"), NULL, 10);
		CU_ASSERT_TRUE(stored == done || stored == done + 1);
		struct seen r = scan(s, 0, UINT64_MAX);
		CU_ASSERT_TRUE(r.events > 0);
		CU_ASSERT_EQUAL(r.unordered, 0);
		ty_store_close(s);
		unlink(path);
	}
}

/* A store of some size, complete; left in `path`. */
static char *make_store(size_t *len)
{
	struct ty_store *s = create();
	struct ty_ev *ev = malloc(THREADS * 200 * sizeof *ev);
	uint64_t now = 1000000;
	put_threads(s, THREADS);
	for (uint32_t i = 0; i < 400; i++) { /* a tree of more than one level */
		char name[64];
		snprintf(name, sizeof name, "label %u of some length, so that leaves fill up", i);
		OK(ty_store_put_label(s, i, name, err));
	}
	for (int i = 0; i < 6; i++) {
		put_committed(s, ev, drain(ev, 60, now, 1000000), now);
		now += 1000000;
	}
	ty_store_close(s);
	free(ev);
	return read_file(len);
}

/* Opens and reads all; true if that worked.  An error must come with a line. */
static bool try_all(void)
{
	struct ty_store *s = NULL;
	size_t n, symbols;
	err[0] = 0;
	if (ty_store_open(&s, path, err) < 0) {
		CU_ASSERT_TRUE(err[0] && !strchr(err, '\n') && strstr(err, path));
		return false;
	}
	struct ty_scan *c = NULL;
	const struct ty_ev *ev;
	int r = ty_scan_open(&c, s, 0, UINT64_MAX, err);
	CU_ASSERT_EQUAL_FATAL(r, 0);
	while ((r = ty_scan_next(c, &ev, &n, err)) == 1)
		;
	ty_scan_close(c);
	for (uint64_t i = 0; i < 10; i++)
		ty_store_symbols(s, 0, i, &symbols);
	ty_store_close(s);
	return r == 0;
}

static void test_truncated(void)
{
	size_t len, whole = 0;
	fresh("truncated");
	seed(31);
	char *data = make_store(&len);
	CU_ASSERT_TRUE(len > 50 * 4096);
	CU_ASSERT_TRUE(try_all());
	for (size_t cut = 0; cut < len; cut += 4096) {
		write_file(data, cut);
		whole += try_all();
	}
	/* pages that the last commit freed may be at the end; not many */
	CU_ASSERT_TRUE(whole < 8);
	for (int i = 0; i < 200; i++) {
		write_file(data, rng() % len);
		whole += try_all();
	}
	write_file(data, len / 2);
	CU_ASSERT_FALSE(try_all());
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "truncated"));
	write_file(data, 100);
	CU_ASSERT_FALSE(try_all());
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "truncated"));
	write_file(data, len);
	CU_ASSERT_TRUE(try_all());
	free(data);
}

/* Changed bytes, most where LMDB keeps its numbers: an error or other values, no crash. */
static void test_changed(void)
{
	size_t len, refused = 0;
	fresh("changed");
	seed(32);
	char *data = make_store(&len), *b = malloc(len);
	for (int i = 0; i < 1000; i++) {
		memcpy(b, data, len);
		for (uint64_t k = 0; k <= rng() % 4; k++) {
			size_t page = rng() % 3 ? rng() % 60 : rng() % (len / 4096);
			size_t at = page * 4096 + (rng() % 4 ? rng() % 200 : rng() % 4096);
			if (rng() % 2)
				b[at % len] = (char)rng();
			else
				b[at % len] = (char)(b[at % len] + (rng() % 2 ? 1 : -1));
		}
		write_file(b, len);
		refused += !try_all();
	}
	CU_ASSERT_TRUE(refused > 100 && refused < 1000);
	free(data);
	free(b);
}

/* Two branches to one page: LMDB would walk it twice, or for ever. */
static void test_shared_page(void)
{
	size_t len, found = 0;
	fresh("shared");
	seed(33);
	char *data = make_store(&len);
	for (size_t page = 2; page < len / 4096; page++) {
		uint16_t flags, at[2];
		memcpy(&flags, data + page * 4096 + 10, 2);
		if (flags != 1) /* P_BRANCH */
			continue;
		char *b = malloc(len);
		memcpy(b, data, len);
		memcpy(at, b + page * 4096 + 16, 4);
		memcpy(b + page * 4096 + at[1], b + page * 4096 + at[0], 6); /* page number of the child */
		write_file(b, len);
		bool good = try_all();
		found += !good && strstr(err, "damaged at page");
		free(b);
	}
	CU_ASSERT_TRUE(found > 0);
	free(data);
}

/* A tree that claims more entries than it has: tables are sized by that number
 * (found by the fuzzer: 640 GiB asked for). */
static void test_claimed_entries(void)
{
	size_t len, planted = 0;
	fresh("entries");
	seed(34);
	char *data = make_store(&len);
	/* a node of the main tree: size, flags 2 (a tree), key size 4, "meta", then its record */
	static const char node[] = { 48, 0, 0, 0, 2, 0, 4, 0, 'm', 'e', 't', 'a' };
	for (size_t at = 0; at + sizeof node + 48 <= len; at += 2) {
		if (memcmp(data + at, node, sizeof node) != 0)
			continue;
		uint64_t many = 0x300000000ull;
		memcpy(data + at + sizeof node + 32, &many, sizeof many);
		planted++;
	}
	CU_ASSERT_TRUE(planted > 0);
	write_file(data, len);
	CU_ASSERT_FALSE(try_all());
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "damaged"));
	free(data);
}

static void refused_with(const void *data, size_t len, const char *words)
{
	write_file(data, len);
	CU_ASSERT_FALSE(try_all());
	if (!strstr(err, words))
		printf("\n  wanted \"%s\", got: %s\n", words, err);
	CU_ASSERT_PTR_NOT_NULL(strstr(err, words));
}

/* An LMDB file whose meta table says `format`, or has no meta table. */
static void lmdb_file(const char *format)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi db;
	MDB_val k = { 6, (void *)"format" }, v = { format ? strlen(format) : 0, (void *)format };
	char lock[160];
	OK(mdb_env_create(&env));
	OK(mdb_env_set_maxdbs(env, 2));
	OK(mdb_env_open(env, path, MDB_NOSUBDIR, 0600));
	OK(mdb_txn_begin(env, NULL, 0, &txn));
	OK(mdb_dbi_open(txn, format ? "meta" : "other", MDB_CREATE, &db));
	if (format)
		OK(mdb_put(txn, db, &k, &v, 0));
	OK(mdb_txn_commit(txn));
	mdb_env_close(env);
	snprintf(lock, sizeof lock, "%s-lock", path);
	unlink(lock);
}

/* As format 1 had it: rows without checksums, no names of variables. */
static void make_old(void)
{
	static const char *const tables[] = { "ops", "losses", "processes", "threads", "modules", "descriptors", "labels",
		"paths", "symbols", "counters" };
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi db;
	MDB_cursor *c;
	MDB_val k = { 6, (void *)"format" }, v = { 1, (void *)"1" };
	char lock[160], row[8192], key[16];
	OK(mdb_env_create(&env));
	OK(mdb_env_set_maxdbs(env, 16));
	OK(mdb_env_open(env, path, MDB_NOSUBDIR, 0600));
	OK(mdb_txn_begin(env, NULL, 0, &txn));
	OK(mdb_dbi_open(txn, "meta", 0, &db));
	OK(mdb_put(txn, db, &k, &v, 0));
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		OK(mdb_dbi_open(txn, tables[i], 0, &db));
		OK(mdb_cursor_open(txn, db, &c));
		while (mdb_cursor_get(c, &k, &v, MDB_NEXT) == 0) {
			CU_ASSERT_TRUE_FATAL(v.mv_size >= 8 && v.mv_size < sizeof row && k.mv_size <= sizeof key);
			memcpy(row, v.mv_data, v.mv_size); /* the put moves both */
			memcpy(key, k.mv_data, k.mv_size);
			v = (MDB_val){ v.mv_size - 8, row };
			k.mv_data = key;
			OK(mdb_cursor_put(c, &k, &v, MDB_CURRENT));
		}
		mdb_cursor_close(c);
	}
	OK(mdb_dbi_open(txn, "objects", 0, &db));
	OK(mdb_drop(txn, db, 1));
	OK(mdb_txn_commit(txn));
	mdb_env_close(env);
	snprintf(lock, sizeof lock, "%s-lock", path);
	unlink(lock);
}

/* A store with names of every kind. */
static void make_named(void)
{
	struct ty_store *s = create();
	put_threads(s, 1);
	OK(ty_store_put_module(s, 0, &(struct ty_module_info){ .path = "/lib/modulename.so", .rows = "ready" }, err));
	OK(ty_store_put_descriptor(s, &(struct ty_descriptor){ 0, 5, 1, "file", "/var/descriptorname" }, err));
	OK(ty_store_put_symbols(s, 0, 0x10, &(struct ty_symbol){ .function = "symbolname" }, 1, err));
	OK(ty_store_put_label(s, 0, "labelname", err));
	OK(ty_store_put_object(s, 0, 0x55aa00001000, "variablename", err));
	OK(ty_store_commit(s, false, err));
	ty_store_close(s);
}

static void test_format_1(void)
{
	size_t n;
	fresh("old");
	make_named();
	make_old();
	struct ty_store *s = reopen();
	CU_ASSERT_STRING_EQUAL(ty_store_modules(s, &n)->path, "/lib/modulename.so");
	CU_ASSERT_STRING_EQUAL(ty_store_label(s, 0), "labelname");
	const struct ty_symbol *y = ty_store_symbols(s, 0, 0x10, &n);
	CU_ASSERT_EQUAL_FATAL(n, 1);
	CU_ASSERT_STRING_EQUAL(y->function, "symbolname");
	CU_ASSERT_PTR_NULL(ty_store_object(s, 0, 0x55aa00001000));
	ty_store_close(s);
}

static void test_variables(void)
{
	fresh("variables");
	make_named();
	struct ty_store *s = reopen();
	const char *name = ty_store_object(s, 0, 0x55aa00001000);
	CU_ASSERT_PTR_NOT_NULL_FATAL(name);
	CU_ASSERT_STRING_EQUAL(name, "variablename");
	CU_ASSERT_PTR_NULL(ty_store_object(s, 1, 0x55aa00001000));
	CU_ASSERT_PTR_NULL(ty_store_object(s, 0, 0x55aa00001001));
	ty_store_close(s);
}

/* Three bits of a name changed: the name is not shown. */
static void test_flipped_name(void)
{
	static const char *const names[] = { "modulename", "descriptorname", "labelname", "variablename",
		"symbolname" };
	size_t len, n;
	fresh("flipped");
	make_named();
	char *good = read_file(&len);
	for (size_t i = 0; i < 5; i++) {
		char *data = malloc(len);
		memcpy(data, good, len);
		/* in all copies of the page */
		for (char *p = data; (p = memmem(p, len - (size_t)(p - data), names[i], strlen(names[i]))); p++)
			p[0] ^= 1, p[1] ^= 2, p[3] ^= 4;
		write_file(data, len);
		if (i < 4) {
			CU_ASSERT_FALSE(try_all());
			CU_ASSERT_PTR_NOT_NULL(strstr(err, "damaged"));
		} else {
			struct ty_store *s = reopen();
			CU_ASSERT_PTR_NULL(ty_store_symbols(s, 0, 0x10, &n));
			ty_store_close(s);
		}
		free(data);
	}
	free(good);
}

static void test_not_a_store(void)
{
	static char zeros[20000];
	fresh("other");
	CU_ASSERT_FALSE(try_all());
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "No such file"));
	refused_with("", 0, "empty");
	refused_with("hello\nworld\n", 12, "text file");
	refused_with("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 26, "ELF program");
	refused_with("SQLite format 3\0.................", 30, "SQLite");
	refused_with("PERFILE2........................", 30, "perf recording");
	refused_with(zeros, sizeof zeros, "unknown data");

	fresh("lmdb");
	lmdb_file(NULL);
	CU_ASSERT_FALSE(try_all());
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "no tarry store"));
	fresh("newer");
	lmdb_file("7");
	CU_ASSERT_FALSE(try_all());
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "newer tarry, format 7; this one reads up to 2"));
	fresh("nonsense");
	lmdb_file("-3");
	CU_ASSERT_FALSE(try_all());
	fresh("tables");
	lmdb_file("1");
	CU_ASSERT_FALSE(try_all());
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "table is missing"));

	snprintf(path, sizeof path, "%s", dir);
	CU_ASSERT_FALSE(try_all());
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "directory"));
	fresh("fifo");
	CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
	CU_ASSERT_FALSE(try_all()); /* and does not wait for a writer */
}

/* As another user where we are root: the folder and the files are not writable. */
static bool drop_root(void)
{
	return geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0);
}

static int in_child(int (*fn)(void))
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(drop_root() ? fn() : 9);
	return end_of(pid);
}

static int child_opens(void)
{
	struct ty_store *s = NULL;
	if (ty_store_open(&s, path, err) < 0) {
		printf("\n  %s\n", err);
		return 1;
	}
	struct seen r = scan(s, 0, UINT64_MAX);
	ty_store_close(s);
	return r.events > 0 ? 0 : 2;
}

static int child_is_told(void)
{
	struct ty_store *s = NULL;
	return ty_store_open(&s, path, err) < 0 && strstr(err, "is being recorded") ? 0 : 1;
}

static int child_may_not(void)
{
	struct ty_store *s = NULL;
	return ty_store_open(&s, path, err) == -EACCES && strstr(err, "Permission denied") ? 0 : 1;
}

static void test_read_only_folder(void)
{
	size_t len;
	char lock[160], folder[128];
	snprintf(folder, sizeof folder, "%s/ro", dir);
	CU_ASSERT_EQUAL(mkdir(folder, 0755), 0);
	chmod(dir, 0755);
	fresh("ro/store");
	snprintf(lock, sizeof lock, "%s-lock", path);
	free(make_store(&len));
	CU_ASSERT_EQUAL(access(lock, F_OK), -1); /* a finished store leaves no lock file */
	CU_ASSERT_EQUAL(in_child(child_may_not), 0);
	chmod(path, 0644);
	chmod(folder, 0555);
	CU_ASSERT_EQUAL(in_child(child_opens), 0);
	chmod(folder, 0755); /* a killed recorder leaves its lock file, which we may not write */
	close(open(lock, O_CREAT | O_WRONLY, 0600));
	chmod(folder, 0555);
	CU_ASSERT_EQUAL(in_child(child_opens), 0);
	chmod(folder, 0755);
}

/* Beside a living recorder a reader that cannot join its lock file must not read at all. */
static void test_live_without_lock(void)
{
	int from, to;
	char c;
	snprintf(path, sizeof path, "%s/live", dir);
	CU_ASSERT_EQUAL(mkdir(path, 0755), 0);
	fresh("live/store");
	seed(41);
	pid_t pid = start_writer(&from, &to);
	CU_ASSERT_EQUAL_FATAL(read(from, &c, 1), 1);
	chmod(path, 0644);
	if (geteuid() == 0)
		CU_ASSERT_EQUAL(in_child(child_is_told), 0);
	close(to);
	close(from);
	CU_ASSERT_EQUAL(end_of(pid), 0);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	CU_pSuite s = begin("store file");
	CU_ADD_TEST(s, test_read_beside_writer);
	CU_ADD_TEST(s, test_reader_follows_growth);
	CU_ADD_TEST(s, test_read_in_a_race);
	CU_ADD_TEST(s, test_killed_writer);
	CU_ADD_TEST(s, test_truncated);
	CU_ADD_TEST(s, test_changed);
	CU_ADD_TEST(s, test_shared_page);
	CU_ADD_TEST(s, test_claimed_entries);
	CU_ADD_TEST(s, test_format_1);
	CU_ADD_TEST(s, test_variables);
	CU_ADD_TEST(s, test_flipped_name);
	CU_ADD_TEST(s, test_not_a_store);
	CU_ADD_TEST(s, test_read_only_folder);
	CU_ADD_TEST(s, test_live_without_lock);
	return finish();
}

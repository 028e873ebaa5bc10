/* SPDX-License-Identifier: MIT
 *
 * What the tests of tarry tree, tail and --where share: a store with named
 * functions and planted requests, and a command run in a child. */
#ifndef TREE_HELP_H
#define TREE_HELP_H

#include <CUnit/Basic.h>
#include <ftw.h>
#include <jansson.h>
#include <math.h>
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

static char dir[] = "/tmp/tarry-test-tree-XXXXXX";
static char store[64], err[TY_ERR_MAX];
static char text[1 << 22], trouble[4096]; /* what the last command printed */

void ty_say(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

static void slurp(const char *name, char *buf, size_t size)
{
	char path[128];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(buf, 1, size - 1, f) : 0;
	buf[n] = 0;
	if (f)
		fclose(f);
}

/* In a child, because argp ends the process on a usage error.  Arguments end with NULL. */
static int command(int (*cmd)(int argc, char **argv), const char *first, ...)
{
	const char *argv[16] = { "x", first };
	char out[128], errors[128];
	int argc = 2, status = -1;
	va_list ap;
	va_start(ap, first);
	while (argc < 15 && (argv[argc] = va_arg(ap, const char *)))
		argc++;
	va_end(ap);
	snprintf(out, sizeof out, "%s/out", dir);
	snprintf(errors, sizeof errors, "%s/errors", dir);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		if (!freopen(out, "w", stdout) || !freopen(errors, "w", stderr))
			_exit(99);
		exit(cmd(argc, (char **)(uintptr_t)argv));
	}
	waitpid(pid, &status, 0);
	slurp("out", text, sizeof text);
	slurp("errors", trouble, sizeof trouble);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static inline double number(json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);
	CU_ASSERT_TRUE(json_is_number(v));
	return json_number_value(v);
}

static inline const char *string(json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));
	return s ? s : "";
}

/* ---- a store ---- */

enum { THREAD, WAKER }; /* threads */

/* Functions by number: symbols at offset 0x1000 * (number + 1), any place in it. */
static struct ty_store *new_store(const char *name, const char *const *functions)
{
	struct ty_store *s;
	snprintf(store, sizeof store, "%s/%s", dir, name);
	CU_ASSERT_EQUAL_FATAL(ty_store_create(&s, store, err), 0);
	ty_store_put_ops(s, err);
	ty_store_put_meta(s, "state", "\"complete\"", err);
	ty_store_put_meta(s, "start", "1000000000", err);
	ty_store_put_process(s, 0, &(struct ty_process){ .pid = 4711, .parent = -1, .start = 1000000000,
		.exe = "/usr/sbin/shop", .cmdline = "shop" }, err);
	ty_store_put_thread(s, THREAD, &(struct ty_thread_info){ .tid = 4712, .name = "worker", .start = 1000000000 }, err);
	ty_store_put_thread(s, WAKER, &(struct ty_thread_info){ .tid = 4713, .name = "other", .start = 1000000000 }, err);
	ty_store_put_module(s, 0, &(struct ty_module_info){ .path = "/usr/sbin/shop", .build_id = "aa", .rows = "ready" }, err);
	ty_store_put_label(s, 1, "buy", err);
	ty_store_put_label(s, 2, "browse all", err);
	for (uint32_t i = 0; functions[i]; i++)
		for (uint32_t k = 0; k < 8; k++)
			ty_store_put_symbols(s, 0, 0x1000 * (i + 1) + k * 16,
					     &(struct ty_symbol){ .function = functions[i], .file = "shop.c", .line = i }, 1, err);
	return s;
}

/* A path of functions, outermost first, ended by -1; `at` tells places in the innermost apart. */
static void put_path(struct ty_store *s, uint32_t id, uint16_t flags, unsigned at, ...)
{
	struct ty_frame out[32], in[32];
	uint16_t n = 0;
	va_list ap;
	va_start(ap, at);
	for (int f; (f = va_arg(ap, int)) >= 0 && n < 32; n++)
		out[n] = (struct ty_frame){ .module = 0, .offset = 0x1000 * ((uint64_t)f + 1) };
	va_end(ap);
	for (uint16_t i = 0; i < n; i++)
		in[i] = out[n - 1 - i];
	in[0].offset += at * 16;
	CU_ASSERT_EQUAL_FATAL(ty_store_put_path(s, id, &(struct ty_path){ .flags = flags, .count = n, .frames = in }, err), 0);
}

/* Events of one request after the other. */
static struct ty_ev events[200000];
static size_t nev;
static uint64_t now;

static inline void mark(unsigned what, uint64_t id, uint32_t label)
{
	events[nev++] = (struct ty_ev){ .begin = now, .end = now, .thread = THREAD, .op = (uint16_t)what, .object = id,
		.aux = label, .kind = TY_EV_MARK };
}

static inline void run_for(uint64_t ns) { now += ns; }

static inline void wait_for(uint16_t op, uint8_t cls, uint32_t path, uint64_t object, uint64_t ns)
{
	events[nev++] = (struct ty_ev){ .begin = now, .end = now + ns, .thread = THREAD, .op = op, .cls = cls, .path = path,
		.object = object, .kind = TY_EV_WAIT };
	now += ns;
}

static inline void mutex(uint32_t path, uint64_t ns) { wait_for(TY_OP_pthread_mutex_lock, TY_CLASS_MUTEX, path, 0x77, ns); }

/* By another thread; before the event of the wait that it ends. */
static inline void wake(uint64_t at, uint32_t path, uint64_t object)
{
	events[nev++] = (struct ty_ev){ .begin = at, .end = at, .thread = WAKER, .op = TY_OP_pthread_mutex_unlock,
		.cls = TY_CLASS_WAKE, .path = path, .object = object, .kind = TY_EV_WAKE };
}

static int by_end(const void *a, const void *b)
{
	const struct ty_ev *p = a, *q = b;
	if (p->thread != q->thread)
		return p->thread < q->thread ? -1 : 1;
	return p->end != q->end ? (p->end < q->end ? -1 : 1) : p < q ? -1 : 1;
}

static void finish_store(struct ty_store *s)
{
	qsort(events, nev, sizeof *events, by_end);
	CU_ASSERT_EQUAL(ty_store_put_block(s, events, nev, UINT64_MAX, err), 0);
	CU_ASSERT_EQUAL(ty_store_commit(s, true, err), 0);
	ty_store_close(s);
}

static int remove_one(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(name);
}

static CU_pSuite begin(const char *suite)
{
	if (!mkdtemp(dir))
		exit(1);
	CU_initialize_registry();
	return CU_add_suite(suite, NULL, NULL);
}

static int finish(void)
{
	CU_basic_set_mode(CU_BRM_NORMAL);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return failed ? 1 : 0;
}

#endif

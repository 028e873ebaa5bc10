/* SPDX-License-Identifier: MIT
 * Description: any changes to a store: no crash, no endless loop, and either
 * events that refer to what the tables have, or one line of complaint.
 *
 * Needs no seeds: the first byte says what the others are,
 *   0  changes to a good store (u24 offset, u8 value)...
 *   1  a store */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/store.h"
#include "tarry/ops.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EVENTS 200

static uint8_t *good_store;
static size_t store_size;
static char path[64]; /* of a memory file: LMDB needs a name */
static int fd;

static void need(int ok)
{
	if (!ok)
		abort();
}

static void some_events(struct ty_ev *ev)
{
	for (uint32_t i = 0; i < EVENTS; i++)
		ev[i] = (struct ty_ev){ .begin = 1000 + i * 7, .end = 1000 + i * 7 + i * i % 300, .object = 5 + i % 9,
					.aux = i % 5 * 1000, .thread = i / 50, .path = i % 4,
					.op = (uint16_t)(i % TY_OP_COUNT), .kind = i % 4 };
}

/* Rows in every table, a tree of two levels, a value on overflow pages, two blocks. */
static void make_store(const struct ty_ev *ev)
{
	static const struct ty_frame frame[2] = { { .module = 0, .offset = 4096 }, { .module = -1, .offset = 1 } };
	char name[64], text[5000], err[TY_ERR_MAX];
	struct ty_store *s;
	snprintf(name, sizeof name, "/tmp/tarry-fuzz-%d", (int)getpid());
	need(ty_store_create(&s, name, err) == 0);
	need(ty_store_put_ops(s, err) == 0);
	need(ty_store_put_process(s, 0, &(struct ty_process){ .pid = 1, .parent = -1, .exe = "x" }, err) == 0);
	for (uint32_t i = 0; i < 4; i++) {
		need(ty_store_put_thread(s, i, &(struct ty_thread_info){ .tid = i, .name = "t" }, err) == 0);
		need(ty_store_put_path(s, i, &(struct ty_path){ .count = 2, .frames = frame }, err) == 0);
	}
	need(ty_store_put_module(s, 0, &(struct ty_module_info){ .path = "/lib/x", .rows = "ready" }, err) == 0);
	need(ty_store_put_descriptor(s, &(struct ty_descriptor){ 0, 5, 1, "file", "/x" }, err) == 0);
	need(ty_store_put_symbols(s, 0, 4096, &(struct ty_symbol){ .function = "f", .file = "f.c" }, 1, err) == 0);
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = 0;
	need(ty_store_put_label(s, 0, text, err) == 0);
	for (int i = 0; i < 2; i++) {
		need(ty_store_put_block(s, ev, EVENTS, 2500, err) == 0);
		need(ty_store_commit(s, false, err) == 0);
	}
	ty_store_close(s);
	FILE *f = fopen(name, "rb");
	good_store = malloc(1 << 20);
	store_size = fread(good_store, 1, 1 << 20, f);
	fclose(f);
	unlink(name);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct ty_ev ev[EVENTS];
	some_events(ev);
	make_store(ev);
	fd = memfd_create("store", MFD_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return 0;
}

static void check_scan(struct ty_store *s)
{
	char err[TY_ERR_MAX] = "";
	const struct ty_ev *ev;
	struct ty_scan *c;
	size_t n, threads, paths, ops;
	int r;
	ty_store_threads(s, &threads);
	ty_store_paths(s, &paths);
	ty_store_ops(s, &ops);
	need(ty_scan_open(&c, s, 0, UINT64_MAX, err) == 0);
	while ((r = ty_scan_next(c, &ev, &n, err)) == 1)
		for (size_t i = 0; i < n; i++)
			need(ev[i].thread < threads && ev[i].path < paths && (ev[i].kind == TY_EV_MARK || ev[i].op < ops));
	need(r == 0 || *err);
	ty_scan_close(c);
}

static void try_store(const uint8_t *data, size_t size)
{
	char err[TY_ERR_MAX] = "";
	struct ty_store *s;
	struct ty_extent x;
	size_t n;
	need(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	if (ty_store_open(&s, path, err) < 0) {
		need(err[0] && !strchr(err, '\n'));
		return;
	}
	check_scan(s);
	ty_store_extent(s, &x, err);
	ty_store_symbols(s, 0, 4096, &n);
	const struct ty_thread_info *t = ty_store_threads(s, &n);
	for (size_t i = 0, processes; i < n; i++) {
		ty_store_processes(s, &processes);
		need(t[i].process < processes && t[i].name);
	}
	ty_store_close(s);
}

static void changed_store(const uint8_t *data, size_t size)
{
	uint8_t *b = malloc(store_size);
	memcpy(b, good_store, store_size);
	for (; size >= 4; data += 4, size -= 4)
		b[(data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) % store_size] = data[3];
	try_store(b, store_size);
	free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 0)
		(data[0] % 2 ? try_store : changed_store)(data + 1, size - 1);
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * What the store's unit tests share: a folder that is removed at the end,
 * made-up events, and a scan that checks order on its way. */
#ifndef TY_STORE_HELP_H
#define TY_STORE_HELP_H

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/block.h"
#include "common/store.h"
#include "tarry/arena.h"

static char dir[] = "/tmp/tarry-test-store-XXXXXX";
static char path[128], err[TY_ERR_MAX];
static uint64_t rng_state;

static inline uint64_t rng(void) /* splitmix64 */
{
	uint64_t z = rng_state += 0x9e3779b97f4a7c15ULL;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

#define OK(call) CU_ASSERT_EQUAL_FATAL((call), 0)

static inline void fresh(const char *name)
{
	snprintf(path, sizeof path, "%s/%s", dir, name);
	unlink(path);
	err[0] = 0;
}

static inline struct ty_store *create(void)
{
	struct ty_store *s = NULL;
	OK(ty_store_create(&s, path, err));
	OK(ty_store_put_ops(s, err));
	return s;
}

static inline void put_threads(struct ty_store *s, uint32_t n)
{
	static const struct ty_frame frame = { .module = -1, .offset = 4096 };
	OK(ty_store_put_process(s, 0, &(struct ty_process){ .pid = 1, .parent = -1, .exe = "/bin/x" }, err));
	for (uint32_t i = 0; i < n; i++)
		OK(ty_store_put_thread(s, i, &(struct ty_thread_info){ .tid = i + 1, .name = "t" }, err));
	for (uint32_t i = 0; i < 16; i++)
		OK(ty_store_put_path(s, i, &(struct ty_path){ .count = 1, .frames = &frame }, err));
}

static inline struct ty_store *reopen(void)
{
	struct ty_store *s = NULL;
	int r = ty_store_open(&s, path, err);
	if (r)
		printf("\n  %s\n", err);
	CU_ASSERT_EQUAL_FATAL(r, 0);
	return s;
}

struct seen { uint64_t events, stragglers, sum, unordered, thread_unordered; };

/* Scans all; sum is over (thread, begin), so that two sets of events can be compared. */
static inline struct seen scan(struct ty_store *s, uint64_t from, uint64_t to)
{
	struct seen r = { 0 };
	struct ty_scan *c = NULL;
	const struct ty_ev *ev;
	size_t n, threads;
	int more;
	uint64_t last = 0;
	ty_store_threads(s, &threads);
	uint64_t *mine = calloc(threads + 1, sizeof *mine);
	OK(ty_scan_open(&c, s, from, to, err));
	while ((more = ty_scan_next(c, &ev, &n, err)) == 1) {
		for (size_t i = 0; i < n; i++) {
			r.sum += (ev[i].begin + ev[i].thread) * 0x9e3779b97f4a7c15ULL;
			r.unordered += ev[i].end < last;
			r.thread_unordered += ev[i].end < mine[ev[i].thread];
			last = mine[ev[i].thread] = ev[i].end;
		}
		r.events += n;
	}
	CU_ASSERT_EQUAL(more, 0);
	CU_ASSERT_EQUAL(ty_scan_done(c), 1.0);
	r.stragglers = ty_scan_stragglers(c);
	ty_scan_close(c);
	free(mine);
	return r;
}

#define THREADS 40

static uint64_t clocks[THREADS];

static inline void seed(uint64_t value)
{
	rng_state = value;
	memset(clocks, 0, sizeof clocks);
}

/* One drain: each thread's next events, ending in (now, now + span]. */
static inline size_t drain(struct ty_ev *ev, size_t per_thread, uint64_t now, uint64_t span)
{
	size_t n = 0;
	for (uint32_t t = 0; t < THREADS; t++) {
		size_t k = rng() % (per_thread + 1);
		if (clocks[t] < now)
			clocks[t] = now;
		for (size_t i = 0; i < k; i++) {
			uint64_t end = clocks[t] + 1 + rng() % (span / (per_thread + 1));
			bool wake = rng() % 5 == 0;
			ev[n++] = (struct ty_ev){ .begin = wake ? end : end - rng() % (end / 2 + 1), .end = end,
				.thread = t, .path = (uint32_t)(rng() % 16), .op = (uint16_t)(rng() % TY_OP_COUNT),
				.object = rng() % 100, .aux = rng() % 9, .kind = wake ? TY_EV_WAKE : TY_EV_WAIT };
			clocks[t] = end;
		}
	}
	return n;
}

static inline uint64_t sum_of(const struct ty_ev *ev, size_t n)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (ev[i].begin + ev[i].thread) * 0x9e3779b97f4a7c15ULL;
	return sum;
}

static inline struct ty_ev event(uint32_t thread, uint64_t begin, uint64_t end)
{
	return (struct ty_ev){ .thread = thread, .begin = begin, .end = end, .op = TY_OP_fsync,
			       .cls = 99, .kind = begin == end ? TY_EV_MARK : TY_EV_WAIT };
}

static inline void put_committed(struct ty_store *s, const struct ty_ev *ev, size_t n, uint64_t complete_to)
{
	OK(ty_store_put_block(s, ev, n, complete_to, err));
	OK(ty_store_commit(s, false, err));
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

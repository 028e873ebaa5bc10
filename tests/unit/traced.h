/* SPDX-License-Identifier: MIT
 *
 * The traced side, played by forked children of a test: they claim slots of a
 * real arena and write records through ty_ring_reserve/commit, as preload/
 * does, and can be killed.  And the recorder's side: turns until something is
 * so, bounded by a number and not by time. */
#ifndef TY_TRACED_H
#define TY_TRACED_H

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "recorder/recorder.h"
#include "recorder/session.h"

#define TURNS 20000

static char store_path[128], err[TY_ERR_MAX];
static struct ty_settings set;

static inline struct ty_recorder *begin_with(const char *name, uint32_t capture_bytes)
{
	struct ty_recorder *r = NULL;
	char *const command[] = { (char *)"test", NULL };
	char lock[160];
	snprintf(store_path, sizeof store_path, "/tmp/tarry-test-%s-%d.tarry", name, getpid());
	snprintf(lock, sizeof lock, "%s-lock", store_path);
	unlink(store_path);
	unlink(lock);
	ty_settings_default(&set);
	set.symbols = false;
	set.capture_bytes = capture_bytes;
	int rc = ty_session_start(&r, &set, store_path, command, err);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
	return r;
}

static inline struct ty_recorder *begin(const char *name)
{
	return begin_with(name, 0);
}

/* Ends the recording and opens what it left. */
static inline struct ty_store *finish(struct ty_recorder *r, struct ty_summary *sum)
{
	struct ty_store *s = NULL;
	ty_session_finish(r, true, sum);
	CU_ASSERT_STRING_EQUAL(sum->trouble, "");
	CU_ASSERT_EQUAL_FATAL(ty_store_open(&s, store_path, err), 0);
	return s;
}

static inline void discard(struct ty_store *s)
{
	char lock[160];
	ty_store_close(s);
	snprintf(lock, sizeof lock, "%s-lock", store_path);
	unlink(store_path);
	unlink(lock);
}

/* Turns until no process of the arena is left. */
static inline void until_all_ended(struct ty_recorder *r)
{
	int n = 0;
	do
		ty_session_turn(r);
	while (ty_session_alive(r) && ++n < TURNS);
	CU_ASSERT(n < TURNS);
}

/* ---- what a child does ---- */

struct traced {
	struct ty_arena *a;
	struct ty_thread *t;
	struct ty_cursor c;
};

/* The calling process's only thread; the recorder looks it up in /proc, so
 * the ids are real ones and two slots at a time need two processes. */
static inline struct traced claim(struct ty_arena *a, uint32_t slot, uint64_t image)
{
	struct traced x = { .a = a, .t = ty_arena_thread(a, slot) };
	uint64_t none = 0;
	if (!atomic_compare_exchange_strong(&x.t->owner, &none, (uint64_t)getpid() << 32 | (uint32_t)getpid()))
		_exit(99);
	x.t->image = image;
	x.t->birth = ty_now();
	atomic_store(&x.t->wait_op, UINT32_MAX);
	atomic_store_explicit(&x.t->state, TY_THREAD_LIVE, memory_order_release);
	return x;
}

/* Room that may have to be waited for: the recorder refills the stock. */
static inline void *room(struct traced *x, uint32_t bytes)
{
	void *p;
	while (!(p = ty_ring_reserve(x->a, x->t, &x->c, bytes)))
		sched_yield();
	memset(p, 0, bytes);
	return p;
}

/* Publishes the latest room. */
static inline void commit(struct traced *x, uint32_t bytes)
{
	ty_ring_commit(x->a, &x->c, (char *)ty_arena_chunk(x->a, x->c.chunk - 1)->data + x->c.pos, bytes);
}

static inline void put_process(struct traced *x, unsigned flags, uint32_t parent, const char *exe)
{
	uint32_t bytes = (uint32_t)((sizeof(struct ty_rec_process) + strlen(exe) + 8) & ~7ul);
	struct ty_rec_process *p = room(x, bytes);
	*p = (struct ty_rec_process){ .w0 = TY_WORD0(TY_REC_PROCESS, 0, 0, flags, 0), .words = bytes / 8,
				      .when = ty_now(), .image = x->t->image, .parent = parent };
	memcpy(p->exe, exe, strlen(exe));
	commit(x, bytes);
}

/* One module more makes map of from; both 0: mapped at start. */
static inline void put_map(struct traced *x, uint64_t gen, uint64_t map, uint64_t from, uint64_t start, uint64_t end,
			   uint64_t base, uint8_t id, const char *path)
{
	uint32_t bytes = (uint32_t)((sizeof(struct ty_rec_module) + strlen(path) + 8) & ~7ul);
	struct ty_rec_module *m = room(x, bytes);
	*m = (struct ty_rec_module){ .w0 = TY_WORD0(TY_REC_MODULE, 0, 0, 0, 0), .words = bytes / 8, .gen = gen,
				     .map = map, .from = from, .base = base, .start = start, .end = end,
				     .id = { .kind = 1, .len = 1, .id = { id } } };
	memcpy(m->path, path, strlen(path));
	commit(x, bytes);
}

static inline void put_module(struct traced *x, uint64_t gen, uint64_t start, uint64_t end, uint64_t base,
			      uint8_t id, const char *path)
{
	put_map(x, gen, 0, 0, start, end, base, id, path);
}

static inline void put_gen(struct traced *x, uint64_t gen)
{
	struct ty_rec_gen *g = room(x, sizeof *g);
	*g = (struct ty_rec_gen){ TY_WORD0(TY_REC_GEN, sizeof *g / 8, 0, 0, 0), ty_now(), gen };
	commit(x, sizeof *g);
}

static inline void put_path_in(struct traced *x, uint64_t map, uint64_t path, uint64_t gen, const uint64_t *frame,
			       uint32_t n)
{
	uint32_t bytes = (uint32_t)sizeof(struct ty_rec_path) + n * 8;
	struct ty_rec_path *p = room(x, bytes);
	*p = (struct ty_rec_path){ .w0 = TY_WORD0(TY_REC_PATH, 0, 0, 0, 0), .words = bytes / 8, .path = path,
				   .gen = gen, .map = map };
	memcpy(p->frame, frame, n * 8);
	commit(x, bytes);
}

static inline void put_path(struct traced *x, uint64_t path, uint64_t gen, const uint64_t *frame, uint32_t n)
{
	put_path_in(x, 0, path, gen, frame, n);
}

static inline void put_wait(struct traced *x, unsigned type, unsigned op, unsigned flags, uint64_t object,
			    uint64_t path, uint64_t aux)
{
	struct ty_rec_wait *w = room(x, sizeof *w);
	uint64_t now = ty_now();
	*w = (struct ty_rec_wait){ TY_WORD0(type, sizeof *w / 8, op, flags, 0), now, now, object, path, aux };
	commit(x, sizeof *w);
}

static inline void end_thread(struct traced *x)
{
	atomic_store_explicit(&x->t->state, TY_THREAD_ENDED, memory_order_release);
}

/* ---- reading back ---- */

struct all {
	struct ty_ev *ev;
	size_t n;
};

static inline struct all read_all(struct ty_store *s)
{
	struct all a = { 0 };
	struct ty_scan *c;
	const struct ty_ev *ev;
	size_t n;
	int rc;
	CU_ASSERT_EQUAL_FATAL(ty_scan_open(&c, s, 0, UINT64_MAX, err), 0);
	while ((rc = ty_scan_next(c, &ev, &n, err)) > 0) {
		a.ev = realloc(a.ev, (a.n + n) * sizeof *ev);
		memcpy(a.ev + a.n, ev, n * sizeof *ev);
		a.n += n;
	}
	CU_ASSERT_EQUAL(rc, 0);
	ty_scan_close(c);
	return a;
}

#define IMAGE 0x1234567ull
#define PATH_A (1ull << 63 | 0xaaaa)
#define PATH_B (1ull << 63 | 0xbbbb)


typedef void child_fn(struct ty_arena *a, int go);

/* A child that runs fn and ends; `go` is the read end of a pipe to wait on. */
static inline pid_t spawn(struct ty_recorder *r, child_fn *fn, int *release)
{
	int p[2];
	CU_ASSERT_EQUAL_FATAL(pipe(p), 0);
	pid_t pid = fork();
	CU_ASSERT_FATAL(pid >= 0);
	if (pid == 0) {
		close_range(STDERR_FILENO + 1, (unsigned)p[0] - 1, 0); /* a sibling's end of its pipe too */
		close_range((unsigned)p[0] + 1, ~0u, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn(r->arena.a, p[0]);
		_exit(0);
	}
	close(p[0]);
	if (release)
		*release = p[1];
	else
		close(p[1]);
	return pid;
}

static inline void wait_go(int go)
{
	char c;
	while (read(go, &c, 1) < 0)
		;
}

/* Children are forked beside the recorder's threads, which ThreadSanitizer now and
 * then deadlocks on; the recorder itself runs under it in the end-to-end tests. */
static inline bool forks_allowed(void)
{
#ifdef __SANITIZE_THREAD__
	puts("skipped: forks beside threads under ThreadSanitizer");
	return false;
#else
	return true;
#endif
}

/* Runs what was added; the exit status. */
static inline int run_tests(void)
{
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed != 0;
}

#endif

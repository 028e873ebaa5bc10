/* SPDX-License-Identifier: MIT
 *
 * What the threads of a running program are doing now: each publishes the wait
 * it is in in its slot of the arena.  Runs in a reader, which maps the arena
 * read-only and so cannot disturb anybody.  Must stay true: nothing that a
 * traced process wrote is used as an index before it is checked. */
#include <dirent.h>
#include <jansson.h>
#include <unistd.h>

#include "analyze/top.h"
#include "analyze/top_arena.h"
#include "recorder/proc.h"

#define TRIES 64 /* at a slot that changes while it is read */

int ty_top_attach(struct ty_top *t, char *err)
{
	const char *value = ty_store_meta(t->run.store, "arena"), *store = t->run.opt.store;
	json_t *j = value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
	char why[TY_ERR_MAX] = "";
	int e = -ESRCH;
	if (json_is_string(j) && *json_string_value(j))
		e = ty_top_map(&t->arena, &t->mapped, json_string_value(j), why);
	json_decref(j);
	if (e == -ESRCH || e == -ENOENT)
		return ty_err(err, e, "%s: this recording is over; `tarry report %s` shows what was recorded",
			      store, store);
	return e ? ty_err(err, e, "%s: %s", store, why) : 0;
}

/* The wait in progress; false: none, or it changes too fast to be read. */
static bool read_wait(struct ty_thread *s, struct ty_top_thread *w)
{
	for (int i = 0; i < TRIES; i++) {
		/* pairs with publish() in preload/wait.c, as does the fence below */
		uint32_t seq = atomic_load_explicit(&s->wait_seq, memory_order_acquire);
		uint32_t op = ty_wait_word_op(atomic_load_explicit(&s->wait_op, memory_order_relaxed));
		w->begin = atomic_load_explicit(&s->wait_begin, memory_order_relaxed);
		w->object = atomic_load_explicit(&s->wait_object, memory_order_relaxed);
		w->path = atomic_load_explicit(&s->wait_path, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		if (seq & 1 || seq != atomic_load_explicit(&s->wait_seq, memory_order_relaxed))
			continue;
		if (op >= TY_OP_COUNT)
			return false;
		w->op = op;
		uint64_t now = ty_now();
		w->waiting = now > w->begin ? now - w->begin : 0;
		return true;
	}
	return false;
}

static uint32_t store_thread(const struct ty_top *t, uint32_t pid, uint32_t tid)
{
	uint64_t key = (uint64_t)pid << 32 | tid;
	size_t lo = 0, hi = t->by_id_n;
	while (lo < hi) {
		size_t m = (lo + hi) / 2;
		if (t->by_id[m] < key)
			lo = m + 1;
		else
			hi = m;
	}
	return lo < t->by_id_n && t->by_id[lo] == key ? t->by_id_thread[lo] : TY_NONE;
}

/* Where it waits: what is known of a wait that has not ended. */
static void find_where(struct ty_top *t, struct ty_top_thread *w, uint64_t image)
{
	const struct ty_op_info *op = w->op < t->run.t.nops ? &t->run.t.ops[w->op] : NULL;
	const struct ty_top_last *l = w->thread < t->last_cap ? &t->last[w->thread] : NULL;
	const struct ty_thread_info *th = w->thread < t->run.t.nthreads ? &t->run.t.threads[w->thread] : NULL;
	if (!op)
		return;
	if (!(w->path >> 63)) /* the caller's address */
		snprintf(w->where, sizeof w->where, "%s", ty_top_pc_name(t, w->pid, image, w->path));
	else if (th && th->open_begin == w->begin) /* it lasts, and the recorder has looked */
		snprintf(w->where, sizeof w->where, "%s", ty_top_path_name(t, th->open_path));
	else if (l && l->path != TY_NONE && l->op == w->op && l->object == w->object)
		snprintf(w->where, sizeof w->where, "~%s", ty_top_path_name(t, l->path));
}

/* Of what is waited for by its address. */
static void find_variable(struct ty_top *t, struct ty_top_thread *w, uint64_t image)
{
	unsigned cls = w->op < t->run.t.nops ? t->run.t.ops[w->op].cls : TY_CLASS_COUNT;
	if (cls < TY_CLASS_COUNT && !ty_class_has_fd(cls) && w->object && w->object != TY_FD_NONE)
		snprintf(w->variable, sizeof w->variable, "%s", ty_top_variable(t, w->pid, image, w->object));
}

static void add_thread(struct ty_top *t, struct ty_thread *s, uint64_t owner)
{
	struct ty_top_thread w = { .pid = (uint32_t)(owner >> 32), .tid = (uint32_t)owner, .op = TY_NONE };
	if (t->run.opt.process && w.pid != t->run.opt.process)
		return;
	w.thread = store_thread(t, w.pid, w.tid);
	ty_proc_comm((pid_t)w.pid, w.tid, w.name, sizeof w.name);
	if (!*w.name) /* it has just ended */
		return;
	if (read_wait(s, &w)) {
		find_where(t, &w, s->image);
		find_variable(t, &w, s->image);
		t->waiting++;
	}
	t->thread[t->threads++] = w;
}

int ty_top_threads(struct ty_top *t)
{
	uint64_t lost = atomic_load_explicit(&t->arena->no_slot, memory_order_relaxed);
	uint32_t last_pid = 0;
	t->threads = t->waiting = t->processes = t->asked = 0;
	t->enabled = atomic_load_explicit(&t->arena->enabled, memory_order_relaxed);
	const struct ty_order_conf *orders = &t->arena->orders.conf;
	t->ordered = (orders->rules > 0 || orders->sync != TY_SYNC_NATIVE) &&
		     !atomic_load_explicit(&t->arena->orders_native, memory_order_relaxed);
	for (uint32_t i = 0; i < TY_THREADS; i++) {
		struct ty_thread *s = ty_arena_thread(t->arena, i);
		/* owner and state pair with the claim and the release of state in preload/thread.c */
		uint64_t owner = atomic_load_explicit(&s->owner, memory_order_acquire);
		if (!owner)
			continue;
		lost += atomic_load_explicit(&s->loss[TY_LOSS_RING_FULL], memory_order_relaxed);
		if (atomic_load_explicit(&s->state, memory_order_acquire) != TY_THREAD_LIVE)
			continue;
		if (TY_RESERVE(t->thread, t->threads_cap, t->threads + 1, (size_t)64))
			return -ENOMEM;
		add_thread(t, s, owner);
	}
	t->fig.lost = lost;
	enum ty_top_sort sort = t->sort;
	t->sort = TY_SORT_ID;
	ty_top_sort(t);
	for (size_t i = 0; i < t->threads; i++) {
		t->processes += t->thread[i].pid != last_pid;
		last_pid = t->thread[i].pid;
	}
	t->sort = sort;
	ty_top_sort(t);
	return 0;
}

static int by_id(const struct ty_top_thread *x, const struct ty_top_thread *y)
{
	return x->pid != y->pid ? (x->pid < y->pid ? -1 : 1) : x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct ty_top_thread *x = a, *y = b;
	int k = 0;
	switch (((const struct ty_top *)arg)->sort) {
	case TY_SORT_WAIT: /* those in no wait come last */
		k = (x->op == TY_NONE) - (y->op == TY_NONE);
		k = k ? k : x->waiting > y->waiting ? -1 : x->waiting < y->waiting;
		break;
	case TY_SORT_OPERATION:
		k = x->op < y->op ? -1 : x->op > y->op;
		k = k ? k : x->waiting > y->waiting ? -1 : x->waiting < y->waiting;
		break;
	case TY_SORT_NAME: k = strcmp(x->name, y->name); break;
	default: break;
	}
	return k ? k : by_id(x, y);
}

void ty_top_sort(struct ty_top *t)
{
	if (t->threads)
		qsort_r(t->thread, t->threads, sizeof *t->thread, compare, t);
}

/* ---- the recording that runs here ---- */

/* The file that process has open together with its LMDB lock file: its store. */
static bool store_of(const char *pid, char *store, size_t size)
{
	char dir[64], at[400], link[4096];
	struct dirent *e;
	bool arena = false;
	snprintf(dir, sizeof dir, "/proc/%.20s/fd", pid);
	DIR *d = opendir(dir);
	store[0] = 0;
	while (d && (e = readdir(d))) {
		snprintf(at, sizeof at, "%s/%.300s", dir, e->d_name);
		ssize_t n = readlink(at, link, sizeof link - 1);
		if (n <= 0)
			continue;
		link[n] = 0;
		arena = arena || !strncmp(link, "/memfd:tarry ", 13);
		if (n > 5 && link[0] == '/' && !strcmp(link + n - 5, "-lock")) {
			link[n - 5] = 0;
			snprintf(store, size, "%s", link);
		}
	}
	if (d)
		closedir(d);
	return arena && *store;
}

int ty_top_find(char *store, size_t size, char *err)
{
	char one[4096];
	size_t n = 0;
	struct dirent *e;
	DIR *d = opendir("/proc");
	while (d && (e = readdir(d)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && store_of(e->d_name, one, sizeof one)) {
			n++;
			snprintf(store, size, "%s", one);
		}
	if (d)
		closedir(d);
	if (n == 1)
		return 0;
	return n ? ty_err(err, -E2BIG,
			  "%zu recordings are in progress: say which, tarry top STORE (one is %.300s)", n,
			  store) :
		   ty_err(err, -ENOENT,
			  "no recording of yours is in progress; begin one with tarry record -- PROGRAM");
}

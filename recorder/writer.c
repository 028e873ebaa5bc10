/* SPDX-License-Identifier: MIT
 *
 * The writer thread and its queue; see writer.h.  Runs in the recorder.  What
 * must stay true: the order of the queue is the order of the puts, so that a
 * path, thread or module is committed no later than the first event naming it;
 * and after the first failed commit nothing more is put (tables written then
 * would refer to what was lost), only counted.
 */
#include "recorder/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include "common/err.h"
#include "common/reserve.h"
#include "recorder/proc.h"
#include "tarry/arena.h"

#define QUEUE_EVENTS_MAX (4u << 20) /* 256 MiB of events in memory at most */
#define TRIM_NS 1000000000ull

enum kind { PROCESS, THREAD, MODULE, PATH, DESCRIPTOR, LABEL, META, BLOCK, COMMIT };

struct item {
	struct item *next;
	enum kind kind;
	uint32_t id;
	union {
		struct ty_process process;
		struct ty_thread_info thread;
		struct ty_module_info module;
		struct ty_path path;
		struct ty_descriptor descriptor;
		struct { const char *key, *value; } text;
		struct { struct ty_ev *ev; uint16_t *slot; size_t n; uint64_t complete_to; } block;
	} u;
	/* strings and arrays follow */
};

struct ty_writer {
	struct ty_store *store;
	char *path;
	pthread_t thread;
	pthread_mutex_t lock; /* all below up to `total` */
	pthread_cond_t wake;
	struct item *head, **tail;
	uint64_t queued; /* events in the queue */
	bool stop;
	struct ty_written total;
	/* the thread's own */
	uint64_t pending; /* events put since the last commit */
	uint64_t sync_ns, synced_at, trimmed_at, max_size, keep_ns;
	bool failed;
	struct ty_ev *sorted;
	size_t sorted_cap;
	uint32_t *at; /* [TY_THREADS] */
};

static void push(struct ty_writer *w, struct item *it)
{
	it->next = NULL;
	pthread_mutex_lock(&w->lock);
	*w->tail = it;
	w->tail = &it->next;
	if (it->kind == BLOCK)
		w->queued += it->u.block.n;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

/* LMDB calls a write that was cut short by a full disk an IO error. */
static bool disk_full(const struct ty_writer *w)
{
	struct statvfs v;
	return statvfs(w->path, &v) == 0 && v.f_bavail * v.f_frsize < 1u << 20;
}

static void note_failure(struct ty_writer *w, const char *why)
{
	bool full = disk_full(w);
	pthread_mutex_lock(&w->lock);
	if (!w->total.err[0])
		ty_err(w->total.err, 0, "%s%s", why, full ? " (the disk is full)" : "");
	pthread_mutex_unlock(&w->lock);
}

/* A queue item with room for `extra` bytes of copies behind it. */
static struct item *item(struct ty_writer *w, enum kind kind, uint32_t id, size_t extra)
{
	struct item *it = calloc(1, sizeof *it + extra);
	if (!it) {
		note_failure(w, "the recorder is out of memory");
		return NULL;
	}
	it->kind = kind;
	it->id = id;
	return it;
}

static size_t len(const char *s)
{
	return s ? strlen(s) + 1 : 1;
}

static const char *copy(char **to, const char *s)
{
	char *p = *to;
	size_t n = len(s);
	memcpy(p, s ? s : "", n);
	*to += n;
	return p;
}

void ty_writer_process(struct ty_writer *w, uint32_t id, const struct ty_process *p)
{
	struct item *it = item(w, PROCESS, id, len(p->exe) + len(p->cmdline));
	if (!it)
		return;
	char *to = (char *)(it + 1);
	it->u.process = *p;
	it->u.process.exe = copy(&to, p->exe);
	it->u.process.cmdline = copy(&to, p->cmdline);
	push(w, it);
}

void ty_writer_thread(struct ty_writer *w, uint32_t id, const struct ty_thread_info *t)
{
	size_t ops = TY_OP_COUNT * sizeof(uint64_t), loss = TY_LOSS_COUNT * sizeof(uint64_t);
	struct item *it = item(w, THREAD, id, 2 * ops + loss + len(t->name));
	if (!it)
		return;
	char *to = (char *)(it + 1);
	it->u.thread = *t;
	it->u.thread.fast = memcpy(to, t->fast, ops);
	it->u.thread.recorded = memcpy(to + ops, t->recorded, ops);
	it->u.thread.loss = memcpy(to + 2 * ops, t->loss, loss);
	to += 2 * ops + loss;
	it->u.thread.name = copy(&to, t->name);
	push(w, it);
}

void ty_writer_module(struct ty_writer *w, uint32_t id, const struct ty_module_info *m)
{
	struct item *it = item(w, MODULE, id, len(m->path) + len(m->build_id) + len(m->rows));
	if (!it)
		return;
	char *to = (char *)(it + 1);
	it->u.module = *m;
	it->u.module.path = copy(&to, m->path);
	it->u.module.build_id = copy(&to, m->build_id);
	it->u.module.rows = copy(&to, m->rows);
	push(w, it);
}

void ty_writer_path(struct ty_writer *w, uint32_t id, const struct ty_path *p)
{
	size_t bytes = p->count * sizeof *p->frames;
	struct item *it = item(w, PATH, id, bytes);
	if (!it)
		return;
	it->u.path = *p;
	it->u.path.frames = bytes ? memcpy(it + 1, p->frames, bytes) : NULL;
	push(w, it);
}

void ty_writer_descriptor(struct ty_writer *w, const struct ty_descriptor *d)
{
	struct item *it = item(w, DESCRIPTOR, 0, len(d->kind) + len(d->name));
	if (!it)
		return;
	char *to = (char *)(it + 1);
	it->u.descriptor = *d;
	it->u.descriptor.kind = copy(&to, d->kind);
	it->u.descriptor.name = copy(&to, d->name);
	push(w, it);
}

static void text(struct ty_writer *w, enum kind kind, uint32_t id, const char *key, const char *value)
{
	struct item *it = item(w, kind, id, len(key) + len(value));
	if (!it)
		return;
	char *to = (char *)(it + 1);
	it->u.text.key = copy(&to, key);
	it->u.text.value = copy(&to, value);
	push(w, it);
}

void ty_writer_label(struct ty_writer *w, uint32_t id, const char *label)
{
	text(w, LABEL, id, NULL, label);
}

void ty_writer_meta(struct ty_writer *w, const char *key, const char *value)
{
	text(w, META, 0, key, value);
}

void ty_writer_block(struct ty_writer *w, struct ty_ev *ev, uint16_t *slot, size_t n, uint64_t complete_to)
{
	pthread_mutex_lock(&w->lock);
	bool full = w->queued + n > QUEUE_EVENTS_MAX;
	pthread_mutex_unlock(&w->lock);
	struct item *it = full ? NULL : item(w, BLOCK, 0, 0);
	if (!it) {
		pthread_mutex_lock(&w->lock);
		w->total.behind += n;
		pthread_mutex_unlock(&w->lock);
		free(ev);
		free(slot);
		return;
	}
	it->u.block.ev = ev;
	it->u.block.slot = slot;
	it->u.block.n = n;
	it->u.block.complete_to = complete_to;
	push(w, it);
}

void ty_writer_commit(struct ty_writer *w)
{
	struct item *it = item(w, COMMIT, 0, 0);
	if (it)
		push(w, it);
}

void ty_writer_status(struct ty_writer *w, struct ty_written *out)
{
	pthread_mutex_lock(&w->lock);
	*out = w->total;
	pthread_mutex_unlock(&w->lock);
}

/* ---- the thread ---- */

/* Counting sort by slot; stable, so each thread's order stays. */
static const struct ty_ev *group(struct ty_writer *w, const struct item *it)
{
	size_t n = it->u.block.n;
	const uint16_t *slot = it->u.block.slot;
	if (ty_reserve(&w->sorted, &w->sorted_cap, n, sizeof *w->sorted))
		return NULL;
	memset(w->at, 0, TY_THREADS * sizeof *w->at);
	for (size_t i = 0; i < n; i++)
		w->at[slot[i]]++;
	uint32_t sum = 0;
	for (uint32_t s = 0; s < TY_THREADS; s++) {
		uint32_t c = w->at[s];
		w->at[s] = sum;
		sum += c;
	}
	for (size_t i = 0; i < n; i++)
		w->sorted[w->at[slot[i]]++] = it->u.block.ev[i];
	return w->sorted;
}

static int put(struct ty_writer *w, const struct item *it, char *err)
{
	const struct ty_ev *ev;
	switch (it->kind) {
	case PROCESS:
		return ty_store_put_process(w->store, it->id, &it->u.process, err);
	case THREAD:
		return ty_store_put_thread(w->store, it->id, &it->u.thread, err);
	case MODULE:
		return ty_store_put_module(w->store, it->id, &it->u.module, err);
	case PATH:
		return ty_store_put_path(w->store, it->id, &it->u.path, err);
	case DESCRIPTOR:
		return ty_store_put_descriptor(w->store, &it->u.descriptor, err);
	case LABEL:
		return ty_store_put_label(w->store, it->id, it->u.text.value, err);
	case META:
		return ty_store_put_meta(w->store, it->u.text.key, it->u.text.value, err);
	case BLOCK:
		ev = group(w, it);
		w->pending += it->u.block.n;
		if (!ev)
			return ty_err(err, -ENOMEM, "the recorder is out of memory");
		return ty_store_put_block(w->store, ev, it->u.block.n, it->u.block.complete_to, err);
	default:
		return 0;
	}
}

static void commit(struct ty_writer *w)
{
	char err[TY_ERR_MAX] = "";
	uint64_t now = ty_now(), trimmed = 0;
	bool large = w->max_size && !w->failed && ty_store_size(w->store) > w->max_size;
	if (!w->failed && (large || (w->keep_ns && now - w->trimmed_at >= TRIM_NS))) {
		trimmed = ty_store_trim(w->store, w->max_size, w->keep_ns && now > w->keep_ns ? now - w->keep_ns : 0, err);
		w->trimmed_at = now;
	}
	bool sync = now - w->synced_at >= w->sync_ns;
	if (!w->failed && ty_store_commit(w->store, sync, err) < 0) {
		w->failed = true;
		note_failure(w, err);
	}
	if (sync)
		w->synced_at = now;
	pthread_mutex_lock(&w->lock);
	*(w->failed ? &w->total.failed : &w->total.events) += w->pending;
	w->total.trimmed += trimmed;
	pthread_mutex_unlock(&w->lock);
	w->pending = 0;
}

static void handle(struct ty_writer *w, struct item *it)
{
	char err[TY_ERR_MAX] = "";
	if (it->kind == COMMIT) {
		commit(w);
	} else if (w->failed) {
		w->pending += it->kind == BLOCK ? it->u.block.n : 0;
	} else if (put(w, it, err) < 0) {
		w->failed = true;
		note_failure(w, err);
	}
	if (it->kind == BLOCK) {
		pthread_mutex_lock(&w->lock);
		w->queued -= it->u.block.n;
		pthread_mutex_unlock(&w->lock);
		free(it->u.block.ev);
		free(it->u.block.slot);
	}
}

static void *run(void *arg)
{
	struct ty_writer *w = arg;
	for (;;) {
		pthread_mutex_lock(&w->lock);
		while (!w->head && !w->stop)
			pthread_cond_wait(&w->wake, &w->lock);
		struct item *it = w->head;
		if (!it) {
			pthread_mutex_unlock(&w->lock);
			break;
		}
		w->head = it->next;
		if (!w->head)
			w->tail = &w->head;
		pthread_mutex_unlock(&w->lock);
		handle(w, it);
		free(it);
	}
	commit(w);
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	w->total.cpu_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	return NULL;
}

int ty_writer_start(struct ty_writer **ret, const char *path, const struct ty_settings *s, char *err)
{
	struct ty_writer *w = calloc(1, sizeof *w);
	if (!w)
		return ty_err(err, -ENOMEM, "out of memory");
	w->tail = &w->head;
	w->sync_ns = s->sync_ns;
	w->max_size = s->max_size;
	w->keep_ns = s->keep_ns;
	w->synced_at = ty_now();
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	w->path = strdup(path);
	w->at = calloc(TY_THREADS, sizeof *w->at);
	int rc = w->path && w->at ? ty_store_create(&w->store, path, err) : ty_err(err, -ENOMEM, "out of memory");
	bool created = rc == 0;
	if (rc == 0)
		rc = ty_store_put_ops(w->store, err);
	/* the transaction belongs to the thread that began it: end ours */
	if (rc == 0)
		rc = ty_store_commit(w->store, false, err);
	if (rc == 0 && pthread_create(&w->thread, NULL, run, w) != 0)
		rc = ty_err(err, -EAGAIN, "cannot start the writer's thread");
	if (rc < 0) {
		ty_writer_close(w);
		if (created)
			ty_store_remove(path);
		return rc;
	}
	*ret = w;
	return 0;
}

struct ty_store *ty_writer_stop(struct ty_writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	return w->store;
}

void ty_writer_close(struct ty_writer *w)
{
	if (w->store)
		ty_store_close(w->store);
	free(w->sorted);
	free(w->at);
	free(w->path);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->wake);
	free(w);
}

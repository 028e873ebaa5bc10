/* SPDX-License-Identifier: MIT
 *
 * The recorder's side of the store.  Puts are kept in memory (store_pending.c)
 * until a commit writes them in one LMDB transaction.  Events of all drains of
 * a commit go into common blocks: few large blocks pack better. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/store_priv.h"
#include "tarry/arena.h"

#define BLOCK_EVENTS 16384u /* a block is closed when it has so many */

struct run { size_t start, n; uint32_t thread; };

struct ty_writer {
	struct ty_packer *packer;
	struct ty_pending pending;
	struct ty_ev *ev, *sorted; /* events not in a block yet; room to group them */
	size_t events, ev_cap, sorted_cap;
	struct run *run;
	size_t run_cap;
	uint64_t complete_to, packed_to;
	uint64_t sequence;         /* of the next block */
	uint32_t descriptors;
	size_t map;
	uint64_t size;
};

static int no_memory(char *err)
{
	return ty_err(err, -ENOMEM, "no memory for events that wait to be stored");
}

static int put(struct ty_store *s, enum ty_db db, const void *key, size_t key_bytes, const void *value,
	       size_t bytes, char *err)
{
	return ty_pending_put(&s->w->pending, db, key, key_bytes, value, bytes) ? 0 : no_memory(err);
}

/* Takes over `json`; NULL is "no memory". */
static int put_row(struct ty_store *s, enum ty_db db, uint32_t id, char *json, char *err)
{
	uint8_t key[4];
	ty_key32(key, id);
	int r = put(s, db, key, sizeof key, json, json ? strlen(json) : 0, err);
	free(json);
	return r;
}

int ty_store_put_meta(struct ty_store *s, const char *key, const char *value, char *err)
{
	size_t n = strlen(key);
	if (n == 0 || n > 255)
		return ty_err(err, -EINVAL, "meta key of %zu bytes", n);
	return put(s, TY_DB_META, key, n, value, strlen(value), err);
}

int ty_store_put_ops(struct ty_store *s, char *err)
{
	static const char *const classes[] = {
#define TY_CLASS(id, name, what) name,
#include "tarry/wrap.def"
	};
	static const struct { uint16_t op; uint8_t cls; const char *name; } ops[] = {
#define TY_W(ret, name, ver, need, cls, body, params, args, obj, try) { TY_OP_##name, TY_CLASS_##cls, #name },
#define TY_SYS(id, name, cls) { TY_OP_##id, TY_CLASS_##cls, name },
#include "tarry/wrap.def"
	};
	static const struct { const char *name, *what; } losses[] = {
#define X(id, name, what) { name, what },
		TY_LOSSES(X)
#undef X
	};
	int r = 0;
	for (size_t i = 0; r == 0 && i < sizeof ops / sizeof *ops; i++)
		r = put_row(s, TY_DB_OPS, ops[i].op, ty_row_op(ops[i].name, classes[ops[i].cls]), err);
	for (size_t i = 0; r == 0 && i < TY_LOSS_COUNT; i++)
		r = put_row(s, TY_DB_LOSSES, (uint32_t)i, ty_row_loss(losses[i].name, losses[i].what), err);
	return r;
}

int ty_store_put_process(struct ty_store *s, uint32_t id, const struct ty_process *p, char *err)
{
	return put_row(s, TY_DB_PROCESSES, id, ty_row_process(p), err);
}

int ty_store_put_thread(struct ty_store *s, uint32_t id, const struct ty_thread_info *t, char *err)
{
	int r = put_row(s, TY_DB_THREADS, id, ty_row_thread(t), err);
	return r ? r : put_row(s, TY_DB_COUNTERS, id, ty_row_counters(t, TY_OP_COUNT, TY_LOSS_COUNT), err);
}

int ty_store_put_module(struct ty_store *s, uint32_t id, const struct ty_module_info *m, char *err)
{
	return put_row(s, TY_DB_MODULES, id, ty_row_module(m), err);
}

int ty_store_put_descriptor(struct ty_store *s, const struct ty_descriptor *d, char *err)
{
	return put_row(s, TY_DB_DESCRIPTORS, s->w->descriptors++, ty_row_descriptor(d), err);
}

int ty_store_put_label(struct ty_store *s, uint32_t id, const char *text, char *err)
{
	uint8_t key[4];
	ty_key32(key, id);
	return put(s, TY_DB_LABELS, key, sizeof key, text, strlen(text), err);
}

int ty_store_put_object(struct ty_store *s, uint32_t process, uint64_t object, const char *name, char *err)
{
	uint8_t key[12];
	ty_key32(key, process);
	ty_key64(key + 4, object);
	return put(s, TY_DB_OBJECTS, key, sizeof key, name, strlen(name), err);
}

int ty_store_put_symbols(struct ty_store *s, uint32_t module, uint64_t offset, const struct ty_symbol *y, size_t n,
			 char *err)
{
	uint8_t key[12];
	ty_key32(key, module);
	ty_key64(key + 4, offset);
	char *json = ty_row_symbols(y, n);
	int r = put(s, TY_DB_SYMBOLS, key, sizeof key, json, json ? strlen(json) : 0, err);
	free(json);
	return r;
}

/* Varints: flags, frames, then per frame (module + 1) << 1 | exact, and offset. */
int ty_store_put_path(struct ty_store *s, uint32_t id, const struct ty_path *p, char *err)
{
	uint8_t key[4], *b = malloc(20 + 20 * (size_t)p->count), *e = b;
	if (!b)
		return no_memory(err);
	ty_key32(key, id);
	e = ty_varint_put(e, p->flags);
	e = ty_varint_put(e, p->count);
	for (unsigned i = 0; i < p->count; i++) {
		e = ty_varint_put(e, (uint64_t)((int64_t)p->frames[i].module + 1) << 1 | p->frames[i].exact);
		e = ty_varint_put(e, p->frames[i].offset);
	}
	int r = put(s, TY_DB_PATHS, key, sizeof key, b, (size_t)(e - b), err);
	free(b);
	return r;
}

static int by_thread(const void *a, const void *b)
{
	const struct run *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Groups the waiting events by thread, each thread's in the order they came. */
static const struct ty_ev *group(struct ty_writer *w)
{
	size_t runs = 0;
	bool again = false;
	for (size_t i = 0; i < w->events; i++) {
		if (runs && w->ev[i].thread == w->run[runs - 1].thread) {
			w->run[runs - 1].n++;
			continue;
		}
		if (ty_reserve(&w->run, &w->run_cap, runs + 1, sizeof *w->run))
			return NULL;
		again = again || (runs && w->ev[i].thread < w->run[runs - 1].thread);
		w->run[runs++] = (struct run){ .start = i, .n = 1, .thread = w->ev[i].thread };
	}
	if (!again)
		return w->ev;
	qsort(w->run, runs, sizeof *w->run, by_thread);
	struct ty_ev *to = w->sorted;
	for (size_t i = 0; i < runs; to += w->run[i++].n)
		memcpy(to, w->ev + w->run[i].start, w->run[i].n * sizeof *to);
	return w->sorted;
}

/* Packs the waiting events.  When they need several blocks, only the last one is complete. */
static int close_block(struct ty_store *s, char *err)
{
	struct ty_writer *w = s->w;
	if (w->events == 0)
		return 0;
	const struct ty_ev *ev = group(w);
	if (!ev)
		return no_memory(err);
	for (size_t at = 0; at < w->events;) {
		size_t n = w->events - at < TY_BLOCK_MAX ? w->events - at : TY_BLOCK_MAX, len;
		uint64_t to = at + n == w->events ? w->complete_to : w->packed_to;
		const void *data;
		uint8_t key[8];
		ty_key64(key, w->sequence);
		int r = ty_block_pack(w->packer, ev + at, n, to, &data, &len);
		if (r < 0)
			return no_memory(err);
		r = put(s, TY_DB_BLOCKS, key, sizeof key, data, len, err);
		if (r < 0)
			return r;
		w->sequence++;
		at += n;
	}
	w->packed_to = w->complete_to;
	w->events = 0;
	return 0;
}

int ty_store_put_block(struct ty_store *s, const struct ty_ev *ev, size_t n, uint64_t complete_to, char *err)
{
	struct ty_writer *w = s->w;
	if (ty_reserve(&w->ev, &w->ev_cap, w->events + n, sizeof *ev) ||
	    ty_reserve(&w->sorted, &w->sorted_cap, w->events + n, sizeof *ev))
		return no_memory(err);
	if (n)
		memcpy(w->ev + w->events, ev, n * sizeof *ev);
	w->events += n;
	if (complete_to > w->complete_to)
		w->complete_to = complete_to;
	return w->events >= BLOCK_EVENTS ? close_block(s, err) : 0;
}

/* ---- commit ---- */

static int write_pending(struct ty_store *s, MDB_txn *txn, void *arg)
{
	return ty_pending_write(&s->w->pending, txn, s->db);
}

void ty_writer_sized(struct ty_store *s, MDB_txn *txn)
{
	MDB_stat st;
	size_t pages = 4; /* two meta pages, root of all tables, some of the free list */
	for (int i = 0; i < TY_DB_COUNT; i++)
		if (mdb_stat(txn, s->db[i], &st) == 0) {
			pages += st.ms_branch_pages + st.ms_leaf_pages + st.ms_overflow_pages;
			s->w->size = (uint64_t)pages * st.ms_psize;
		}
}

static int run_once(struct ty_store *s, int (*job)(struct ty_store *, MDB_txn *, void *), void *arg)
{
	MDB_txn *txn;
	int rc = mdb_txn_begin(s->env, NULL, 0, &txn);
	if (rc)
		return rc;
	rc = job(s, txn, arg);
	if (rc) {
		mdb_txn_abort(txn);
		return rc;
	}
	ty_writer_sized(s, txn);
	return mdb_txn_commit(txn);
}

/* Runs the job in a transaction; again with a larger map when it was full, and
 * again after opening anew when LMDB gave up on the environment (it does when
 * a meta page could not be written). */
int ty_writer_run(struct ty_store *s, int (*job)(struct ty_store *, MDB_txn *, void *), void *arg)
{
	struct ty_writer *w = s->w;
	bool reopened = false;
	for (;;) {
		int rc = s->env ? run_once(s, job, arg) : MDB_PANIC;
		if (rc == MDB_MAP_FULL) {
			rc = mdb_env_set_mapsize(s->env, w->map * 2);
			if (rc)
				return rc;
			w->map *= 2;
		} else if (rc == MDB_PANIC && !reopened) {
			reopened = true;
			if (s->env)
				mdb_env_close(s->env);
			s->env = NULL;
			rc = ty_store_env_write(s, w->map);
			if (rc)
				return rc;
		} else {
			return rc;
		}
	}
}

int ty_store_commit(struct ty_store *s, bool sync, char *err)
{
	struct ty_writer *w = s->w;
	int r = close_block(s, err);
	if (r < 0) {
		w->events = 0;
		return r;
	}
	int rc = w->pending.bytes ? ty_writer_run(s, write_pending, NULL) : 0;
	if (rc) {
		ty_pending_drop_events(&w->pending);
		return ty_store_fail(s, rc, err, "write");
	}
	w->pending.bytes = 0;
	rc = sync ? mdb_env_sync(s->env, 1) : 0;
	return rc ? ty_store_fail(s, rc, err, "flush") : 0;
}

uint64_t ty_store_size(struct ty_store *s)
{
	return s->w ? s->w->size : 0;
}

int ty_writer_new(struct ty_store *s, char *err)
{
	MDB_envinfo info;
	struct ty_writer *w = calloc(1, sizeof *w);
	if (!w)
		return no_memory(err);
	s->w = w;
	w->packer = ty_packer_new();
	mdb_env_info(s->env, &info);
	w->map = info.me_mapsize;
	return w->packer ? 0 : no_memory(err);
}

void ty_writer_free(struct ty_store *s)
{
	struct ty_writer *w = s->w;
	if (!w)
		return;
	ty_packer_free(w->packer);
	free(w->pending.data);
	free(w->ev);
	free(w->sorted);
	free(w->run);
	free(w);
	s->w = NULL;
}

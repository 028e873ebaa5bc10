/* SPDX-License-Identifier: MIT
 *
 * The tables of a store in memory, for readers.  All tables and the range of
 * blocks come from one snapshot, so that every event of a scan finds its
 * thread, path and op.  Ids are indices: a row that is missing between others
 * is zeros and "". */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/store_priv.h"
#include "tarry/event.h"
#include "tarry/ops.h"

struct named { uint32_t process; uint64_t object; const char *name; };

struct ty_reader {
	struct ty_mem mem;
	struct named *object; /* by process and address, as the keys are */
	size_t objects;
	size_t ops, losses, processes, threads, modules, paths, descriptors, labels, metas;
	struct ty_op_info *op;
	const char **loss, **loss_what, **label, **meta_key, **meta_value;
	struct ty_process *process;
	struct ty_thread_info *thread;
	struct ty_module_info *module;
	struct ty_path *path;
	struct ty_descriptor *descriptor;
	struct ty_seq_range blocks;
	struct ty_known known;
};

/* ---- one row: 0, -EBADMSG, -ENOMEM ---- */

static int get_op(struct ty_reader *r, uint32_t id, const MDB_val *v)
{
	static const char *const classes[] = {
#define TY_CLASS(cls, name, what) name,
#include "tarry/wrap.def"
	};
	struct ty_op_info *o = &r->op[id];
	int rc = ty_get_op(&r->mem, v, o);
	for (o->cls = 0; rc == 0 && o->cls < TY_CLASS_COUNT && strcmp(classes[o->cls], o->class_name) != 0;)
		o->cls++;
	return rc;
}
static int get_loss(struct ty_reader *r, uint32_t id, const MDB_val *v)
{
	return ty_get_loss(&r->mem, v, &r->loss[id], &r->loss_what[id]);
}
static int get_process(struct ty_reader *r, uint32_t id, const MDB_val *v)
{
	return ty_get_process(&r->mem, v, &r->process[id]);
}
static int get_thread(struct ty_reader *r, uint32_t id, const MDB_val *v)
{
	int rc = ty_get_thread(&r->mem, v, &r->thread[id]);
	return rc == 0 && r->thread[id].process >= r->processes ? -EBADMSG : rc;
}
static int get_counters(struct ty_reader *r, uint32_t id, const MDB_val *v)
{
	return ty_get_counters(&r->mem, v, &r->thread[id], r->ops, r->losses);
}
static int get_module(struct ty_reader *r, uint32_t id, const MDB_val *v)
{
	return ty_get_module(&r->mem, v, &r->module[id]);
}
static int get_descriptor(struct ty_reader *r, uint32_t id, const MDB_val *v)
{
	return ty_get_descriptor(&r->mem, v, &r->descriptor[id]);
}
static int get_label(struct ty_reader *r, uint32_t id, const MDB_val *v)
{
	r->label[id] = ty_mem_text(&r->mem, v->mv_data, v->mv_size);
	return r->label[id] ? 0 : -ENOMEM;
}

static int get_path(struct ty_reader *r, uint32_t id, const MDB_val *v)
{
	const uint8_t *p = v->mv_data, *end = p + v->mv_size;
	uint64_t flags, count, module, offset;
	p = ty_varint_get(p, end, &flags);
	p = ty_varint_get(p, end, &count);
	if (!p || flags > UINT16_MAX || count > UINT16_MAX || count > v->mv_size / 2)
		return -EBADMSG;
	struct ty_frame *f = ty_mem_get(&r->mem, (count + 1) * sizeof *f);
	if (!f)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		p = ty_varint_get(p, end, &module);
		p = ty_varint_get(p, end, &offset);
		if (!p || module >> 1 > r->modules)
			return -EBADMSG;
		f[i] = (struct ty_frame){ .module = (int32_t)(module >> 1) - 1, .exact = module & 1, .offset = offset };
	}
	r->path[id] = (struct ty_path){ .flags = (uint16_t)flags, .count = (uint16_t)count, .frames = f };
	return 0;
}

/* ---- tables ---- */

typedef int (*get_row)(struct ty_reader *r, uint32_t id, const MDB_val *v);

/* Ids end where the last key says; far more ids than rows is damage, not a table. */
static int table_size(struct ty_store *s, MDB_txn *txn, enum ty_db db, size_t *n)
{
	MDB_cursor *c;
	MDB_val k, v;
	MDB_stat st;
	*n = 0;
	int rc = mdb_stat(txn, s->db[db], &st);
	if (rc == 0)
		rc = mdb_cursor_open(txn, s->db[db], &c);
	if (rc)
		return rc > 0 ? -rc : -EBADMSG;
	rc = mdb_cursor_get(c, &k, &v, MDB_LAST);
	mdb_cursor_close(c);
	if (rc == MDB_NOTFOUND)
		return 0;
	if (rc || k.mv_size != 4 || ty_unkey32(k.mv_data) >= 2 * st.ms_entries + 4096)
		return -EBADMSG;
	*n = (size_t)ty_unkey32(k.mv_data) + 1;
	return 0;
}

static int table_rows(struct ty_store *s, MDB_txn *txn, enum ty_db db, struct ty_reader *r, size_t n, get_row get)
{
	MDB_cursor *c;
	MDB_val k, v;
	int rc = mdb_cursor_open(txn, s->db[db], &c), e = 0;
	if (rc)
		return -EIO;
	while (e == 0 && (rc = mdb_cursor_get(c, &k, &v, MDB_NEXT)) == 0)
		e = k.mv_size != 4 || ty_unkey32(k.mv_data) >= n || !ty_sum_take(s, db, &k, &v) ? -EBADMSG :
			get(r, ty_unkey32(k.mv_data), &v);
	mdb_cursor_close(c);
	return e ? e : rc == MDB_NOTFOUND ? 0 : -EIO;
}

static int table(struct ty_store *s, MDB_txn *txn, enum ty_db db, struct ty_reader *r, void *array, size_t width,
		 size_t *n, get_row get)
{
	int e = table_size(s, txn, db, n);
	if (e)
		return e;
	void *p = ty_mem_get(&r->mem, (*n + 1) * width);
	if (!p)
		return -ENOMEM;
	*(void **)array = p;
	return table_rows(s, txn, db, r, *n, get);
}

static int load_meta(struct ty_store *s, MDB_txn *txn, struct ty_reader *r)
{
	MDB_cursor *c;
	MDB_stat st;
	MDB_val k, v;
	if (mdb_stat(txn, s->db[TY_DB_META], &st) || mdb_cursor_open(txn, s->db[TY_DB_META], &c))
		return -EIO;
	r->meta_key = ty_mem_get(&r->mem, (st.ms_entries + 1) * sizeof *r->meta_key);
	r->meta_value = ty_mem_get(&r->mem, (st.ms_entries + 1) * sizeof *r->meta_value);
	int e = r->meta_key && r->meta_value ? 0 : -ENOMEM;
	while (e == 0 && r->metas < st.ms_entries && mdb_cursor_get(c, &k, &v, MDB_NEXT) == 0) {
		r->meta_key[r->metas] = ty_mem_text(&r->mem, k.mv_data, k.mv_size);
		r->meta_value[r->metas] = ty_mem_text(&r->mem, v.mv_data, v.mv_size);
		if (!r->meta_key[r->metas] || !r->meta_value[r->metas])
			e = -ENOMEM;
		r->metas++;
	}
	mdb_cursor_close(c);
	return e;
}

static int load_range(struct ty_store *s, MDB_txn *txn, struct ty_reader *r)
{
	MDB_cursor *c;
	MDB_stat st;
	MDB_val k, v;
	if (mdb_stat(txn, s->db[TY_DB_BLOCKS], &st) || mdb_cursor_open(txn, s->db[TY_DB_BLOCKS], &c))
		return -EIO;
	int e = 0;
	if (mdb_cursor_get(c, &k, &v, MDB_FIRST) == 0) {
		e = k.mv_size == 8 ? 0 : -EBADMSG;
		r->blocks.first = e ? 0 : ty_unkey64(k.mv_data);
		if (e == 0 && (mdb_cursor_get(c, &k, &v, MDB_LAST) != 0 || k.mv_size != 8))
			e = -EBADMSG;
		r->blocks.last = e ? 0 : ty_unkey64(k.mv_data);
		r->blocks.blocks = st.ms_entries;
	}
	mdb_cursor_close(c);
	return e;
}

/* Older stores have none. */
static int load_objects(struct ty_store *s, MDB_txn *txn, struct ty_reader *r)
{
	MDB_dbi db = s->db[TY_DB_OBJECTS];
	MDB_cursor *c;
	MDB_stat st;
	MDB_val k, v;
	if (db == TY_DB_MISSING)
		return 0;
	if (mdb_stat(txn, db, &st) || mdb_cursor_open(txn, db, &c))
		return -EIO;
	r->object = ty_mem_get(&r->mem, (st.ms_entries + 1) * sizeof *r->object);
	int e = r->object ? 0 : -ENOMEM;
	while (e == 0 && r->objects < st.ms_entries && mdb_cursor_get(c, &k, &v, MDB_NEXT) == 0) {
		struct named *o = &r->object[r->objects];
		if (k.mv_size != 12 || !ty_sum_take(s, TY_DB_OBJECTS, &k, &v)) {
			e = -EBADMSG;
			break;
		}
		*o = (struct named){ ty_unkey32(k.mv_data), ty_unkey64((const char *)k.mv_data + 4),
				     ty_mem_text(&r->mem, v.mv_data, v.mv_size) };
		e = o->name ? 0 : -ENOMEM;
		r->objects++;
	}
	mdb_cursor_close(c);
	return e;
}

static int by_fd(const void *a, const void *b)
{
	const struct ty_descriptor *x = a, *y = b;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->fd != y->fd)
		return x->fd < y->fd ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* Rows that are missing, or have no counters, must be usable too. */
static int fill_holes(struct ty_reader *r)
{
	static const struct ty_frame unknown = { .module = -1 };
	const uint64_t *zero = ty_mem_get(&r->mem, (r->ops + r->losses + 1) * sizeof *zero);
	if (!zero)
		return -ENOMEM;
#define HOLE(p) ((p) = (p) ? (p) : "")
	for (size_t i = 0; i < r->ops; i++) {
		HOLE(r->op[i].class_name);
		if (!r->op[i].name)
			r->op[i].cls = TY_CLASS_COUNT;
		HOLE(r->op[i].name);
	}
	for (size_t i = 0; i < r->losses; i++)
		HOLE(r->loss[i]), HOLE(r->loss_what[i]);
	for (size_t i = 0; i < r->processes; i++) {
		if (!r->process[i].exe || r->process[i].parent >= (int64_t)r->processes)
			r->process[i].parent = -1;
		HOLE(r->process[i].exe), HOLE(r->process[i].cmdline);
	}
	for (size_t i = 0; i < r->threads; i++) {
		struct ty_thread_info *t = &r->thread[i];
		HOLE(t->name);
		t->fast = t->fast ? t->fast : zero;
		t->recorded = t->recorded ? t->recorded : zero;
		t->loss = t->loss ? t->loss : zero;
	}
	for (size_t i = 0; i < r->modules; i++)
		HOLE(r->module[i].path), HOLE(r->module[i].build_id), HOLE(r->module[i].rows);
	for (size_t i = 0; i < r->paths; i++)
		if (r->path[i].count == 0)
			r->path[i] = (struct ty_path){ .flags = TY_F_NO_PATH, .count = 1, .frames = &unknown };
	for (size_t i = 0; i < r->descriptors; i++)
		HOLE(r->descriptor[i].kind), HOLE(r->descriptor[i].name);
#undef HOLE
	return 0;
}

static int load_tables(struct ty_store *s, MDB_txn *txn, struct ty_reader *r)
{
	int e = load_meta(s, txn, r);
#define TABLE(db, array, n, get) \
	if (e == 0) \
		e = table(s, txn, TY_DB_##db, r, &r->array, sizeof *r->array, &r->n, get)
	TABLE(OPS, op, ops, get_op);
	if (e == 0)
		e = table_size(s, txn, TY_DB_LOSSES, &r->losses);
	r->loss_what = e == 0 ? ty_mem_get(&r->mem, (r->losses + 1) * sizeof *r->loss_what) : NULL;
	e = e == 0 && !r->loss_what ? -ENOMEM : e;
	TABLE(LOSSES, loss, losses, get_loss);
	TABLE(PROCESSES, process, processes, get_process);
	TABLE(THREADS, thread, threads, get_thread);
	if (e == 0)
		e = table_rows(s, txn, TY_DB_COUNTERS, r, r->threads, get_counters);
	TABLE(MODULES, module, modules, get_module);
	TABLE(PATHS, path, paths, get_path);
	TABLE(DESCRIPTORS, descriptor, descriptors, get_descriptor);
	TABLE(LABELS, label, labels, get_label);
#undef TABLE
	if (e == 0)
		e = load_objects(s, txn, r);
	if (e == 0)
		e = load_range(s, txn, r);
	if (e == 0)
		e = fill_holes(r);
	if (e == 0)
		qsort(r->descriptor, r->descriptors, sizeof *r->descriptor, by_fd);
	return e;
}

int ty_reader_load(struct ty_store *s, char *err)
{
	MDB_txn *txn;
	struct ty_reader *r = calloc(1, sizeof *r);
	if (!r)
		return ty_err(err, -ENOMEM, "no memory");
	int e = ty_store_begin(s, &txn, err);
	if (e == 0) {
		e = load_tables(s, txn, r);
		mdb_txn_abort(txn);
		if (e == -ENOMEM)
			ty_err(err, e, "no memory for the tables of %s", s->path);
		else if (e)
			ty_err(err, e, "%s is damaged: a table cannot be read", s->path);
	}
	if (e) {
		ty_reader_free(r);
		return e;
	}
	ty_reader_free(s->r);
	s->r = r;
	return 0;
}

void ty_reader_free(struct ty_reader *r)
{
	if (!r)
		return;
	ty_mem_free(&r->mem);
	ty_known_free(&r->known);
	free(r);
}

int ty_store_refresh(struct ty_store *s, char *err)
{
	return ty_reader_load(s, err);
}

/* ---- look-ups ---- */

struct ty_seq_range ty_reader_blocks(const struct ty_store *s) { return s->r->blocks; }

#define LIST(fn, type, array, count) \
	type fn(struct ty_store *s, size_t *n) \
	{ \
		*n = s->r->count; \
		return s->r->array; \
	}
LIST(ty_store_ops, const struct ty_op_info *, op, ops)
LIST(ty_store_losses, const char *const *, loss, losses)
LIST(ty_store_processes, const struct ty_process *, process, processes)
LIST(ty_store_threads, const struct ty_thread_info *, thread, threads)
LIST(ty_store_modules, const struct ty_module_info *, module, modules)
LIST(ty_store_paths, const struct ty_path *, path, paths)
LIST(ty_store_descriptors, const struct ty_descriptor *, descriptor, descriptors)
#undef LIST

const char *ty_store_loss_what(struct ty_store *s, size_t i)
{
	return i < s->r->losses ? s->r->loss_what[i] : "";
}

const char *ty_store_label(struct ty_store *s, uint32_t id)
{
	return id < s->r->labels && s->r->label[id] ? s->r->label[id] : "";
}

static int by_address(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->object < y->object ? -1 : x->object > y->object;
}

const char *ty_store_object(struct ty_store *s, uint32_t process, uint64_t object)
{
	const struct named key = { .process = process, .object = object };
	const struct named *o = s->r->objects ? bsearch(&key, s->r->object, s->r->objects, sizeof key, by_address) : NULL;
	return o ? o->name : NULL;
}

const char *ty_store_meta(struct ty_store *s, const char *key)
{
	for (size_t i = 0; i < s->r->metas; i++)
		if (strcmp(s->r->meta_key[i], key) == 0)
			return s->r->meta_value[i];
	return NULL;
}

int ty_store_meta_each(struct ty_store *s, int (*cb)(void *arg, const char *key, const char *value), void *arg)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < s->r->metas; i++)
		r = cb(arg, s->r->meta_key[i], s->r->meta_value[i]);
	return r;
}

const struct ty_symbol *ty_store_symbols(struct ty_store *s, int32_t module, uint64_t offset, size_t *n)
{
	return ty_known_symbols(&s->r->known, s, module, offset, n);
}

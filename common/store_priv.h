/* SPDX-License-Identifier: MIT
 *
 * Inside the store; only common/store*.c include this.
 *   store.c        opening, creating, closing, errors, transactions
 *   store_check.c  is this file safe to hand to LMDB
 *   store_json.c   rows of the tables <-> JSON text
 *   store_write.c  puts, commit        store_pending.c  puts until their commit
 *   store_trim.c   dropping the oldest blocks         store_mem.c  memory of the tables
 *   store_read.c   tables and lookups  store_scan.c  events in order of end
 *   store_sum.c    checksums of rows                  store_symbols.c  symbols, once asked for
 */
#ifndef TY_STORE_PRIV_H
#define TY_STORE_PRIV_H

#include <jansson.h>
#include <lmdb.h>
#include <sys/types.h>
#include "common/block.h"
#include "common/err.h"
#include "common/reserve.h"
#include "common/store.h"

/* Checksums have the number in them: new ones come last. */
#define TY_DBS(X)                                                                      \
	X(META, "meta") X(OPS, "ops") X(LOSSES, "losses") X(PROCESSES, "processes")    \
	X(THREADS, "threads") X(MODULES, "modules") X(DESCRIPTORS, "descriptors")      \
	X(LABELS, "labels") X(PATHS, "paths") X(SYMBOLS, "symbols")                    \
	X(COUNTERS, "counters") X(BLOCKS, "blocks") X(OBJECTS, "objects")
enum ty_db {
#define X(id, name) TY_DB_##id,
	TY_DBS(X)
#undef X
	TY_DB_COUNT
};

#define TY_DB_MISSING 0 /* LMDB's own, its list of free pages */

struct ty_store {
	char *path;
	MDB_env *env;
	MDB_dbi db[TY_DB_COUNT];
	unsigned format;     /* reader: of the file */
	int fd;              /* writer: holds the mark "a recorder writes"; reader: to ask for it */
	struct ty_writer *w; /* NULL: opened for reading */
	struct ty_reader *r; /* NULL: opened for writing */
};

/* ---- store.c ---- */
/* rc as LMDB gives it (errno or MDB_*) -> negative errno and a line. */
int ty_store_fail(const struct ty_store *s, int rc, char *err, const char *doing);
/* A read transaction; follows a map that the writer has grown. */
int ty_store_begin(struct ty_store *s, MDB_txn **txn, char *err);
int ty_store_env_write(struct ty_store *s, size_t map_size); /* opens s->env for writing; rc */

/* ---- store_check.c ---- */
/* Before mdb_env_open: the two meta pages, the size.  What else it may be is in err. */
int ty_check_head(int fd, const char *path, char *err);
/* After: every page that a reader of snapshot `txnid` may touch.  -EAGAIN: the
 * writer has moved on, take a newer snapshot. */
int ty_check_pages(int fd, const char *path, uint64_t txnid, char *err);

/* ---- store_mem.c: memory that lives as long as the tables ---- */
struct ty_mem { struct ty_mem_chunk *head; };
void *ty_mem_get(struct ty_mem *m, size_t bytes); /* zeroed; NULL: no memory */
char *ty_mem_text(struct ty_mem *m, const void *text, size_t len);
void ty_mem_free(struct ty_mem *m);

/* ---- store_json.c: text to store (caller frees), NULL: no memory ---- */
char *ty_row_op(const char *name, const char *class_name);
char *ty_row_loss(const char *name, const char *what);
char *ty_row_process(const struct ty_process *p);
char *ty_row_thread(const struct ty_thread_info *t);
char *ty_row_counters(const struct ty_thread_info *t, size_t ops, size_t losses);
char *ty_row_module(const struct ty_module_info *m);
char *ty_row_descriptor(const struct ty_descriptor *d);
char *ty_row_symbols(const struct ty_symbol *y, size_t n);
/* and back: 0, -EBADMSG (not JSON), -ENOMEM; missing keys leave zeros and "" */
int ty_get_op(struct ty_mem *m, const MDB_val *v, struct ty_op_info *o);
int ty_get_loss(struct ty_mem *m, const MDB_val *v, const char **name, const char **what);
int ty_get_process(struct ty_mem *m, const MDB_val *v, struct ty_process *p);
int ty_get_thread(struct ty_mem *m, const MDB_val *v, struct ty_thread_info *t);
int ty_get_counters(struct ty_mem *m, const MDB_val *v, struct ty_thread_info *t, size_t ops, size_t losses);
int ty_get_module(struct ty_mem *m, const MDB_val *v, struct ty_module_info *i);
int ty_get_descriptor(struct ty_mem *m, const MDB_val *v, struct ty_descriptor *d);
int ty_get_symbols(struct ty_mem *m, const MDB_val *v, struct ty_symbol **y, size_t *n);

/* ---- store_pending.c ---- */
struct ty_pending {
	uint8_t *data; /* struct put after struct put */
	size_t bytes, cap;
};
/* false: no memory, or value is NULL. */
bool ty_pending_put(struct ty_pending *w, enum ty_db db, const void *key, size_t key_bytes, const void *value,
		    size_t bytes);
int ty_pending_write(struct ty_pending *w, MDB_txn *txn, const MDB_dbi *dbs); /* rc; nothing is taken out */
/* Takes out blocks, and rows that a later one replaces. */
void ty_pending_drop_events(struct ty_pending *w);

/* ---- store_sum.c: 8 bytes behind the value of every row, from format 2 on ---- */
#define TY_SUM_BYTES 8
bool ty_sum_has(enum ty_db db);
void ty_sum_put(uint8_t *to, enum ty_db db, const void *key, size_t key_bytes, const void *value, size_t bytes);
/* Takes it off v; false: it is not that of the row. */
bool ty_sum_take(const struct ty_store *s, enum ty_db db, const MDB_val *k, MDB_val *v);

/* ---- store_write.c ---- */
int ty_writer_new(struct ty_store *s, char *err);
void ty_writer_free(struct ty_store *s);
void ty_writer_sized(struct ty_store *s, MDB_txn *txn); /* call before a commit: remembers pages in use */
int ty_writer_run(struct ty_store *s, int (*job)(struct ty_store *s, MDB_txn *txn, void *arg), void *arg);

/* ---- store_read.c ---- */
int ty_reader_load(struct ty_store *s, char *err);
void ty_reader_free(struct ty_reader *r);
struct ty_seq_range { uint64_t first, last; size_t blocks; }; /* blocks 0: none */
struct ty_seq_range ty_reader_blocks(const struct ty_store *s);

/* ---- store_symbols.c: the rows of symbols are read one by one, when somebody asks ---- */
struct ty_known { /* zeroed: empty; ty_known_free() when the tables go */
	struct ty_mem mem; /* of what was found */
	struct ty_known_slot *slot; /* hash table of `slots`, a power of two */
	size_t slots, filled;
};
/* As ty_store_symbols(): the symbols of s at module and offset (an ELF virtual address), innermost first, which k
 * owns.  NULL, n 0: unknown code (module < 0), none stored, a damaged row, no memory or no transaction to read it. */
const struct ty_symbol *ty_known_symbols(struct ty_known *k, struct ty_store *s, int32_t module, uint64_t offset,
					 size_t *n);
void ty_known_free(struct ty_known *k);

/* ---- keys: big endian, so that LMDB's byte order is the order of numbers ---- */
static inline void ty_key32(uint8_t *k, uint32_t v)
{
	for (int i = 3; i >= 0; i--, v >>= 8)
		k[i] = (uint8_t)v;
}
static inline void ty_key64(uint8_t *k, uint64_t v)
{
	ty_key32(k, (uint32_t)(v >> 32));
	ty_key32(k + 4, (uint32_t)v);
}
static inline uint32_t ty_unkey32(const void *p)
{
	const uint8_t *k = p;
	return (uint32_t)k[0] << 24 | (uint32_t)k[1] << 16 | (uint32_t)k[2] << 8 | k[3];
}
static inline uint64_t ty_unkey64(const void *p)
{
	return (uint64_t)ty_unkey32(p) << 32 | ty_unkey32((const uint8_t *)p + 4);
}

#endif

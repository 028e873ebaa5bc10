/* SPDX-License-Identifier: MIT
 *
 * Puts that wait for their transaction, in the recorder.  Because they are kept,
 * a transaction that meets a full map can be run again after growing it, and one
 * that meets a full disk loses its events but not its tables, to which later
 * events will refer. */
#include <stdlib.h>
#include <string.h>

#include "common/store_priv.h"

struct put {
	uint32_t bytes; /* of the value */
	uint8_t db, key_bytes;
	uint8_t data[]; /* key, value; the next put follows at a multiple of 8 */
};

static size_t put_size(size_t key, size_t value)
{
	return (sizeof(struct put) + key + value + 7) & ~(size_t)7;
}

bool ty_pending_put(struct ty_pending *w, enum ty_db db, const void *key, size_t key_bytes, const void *value,
		    size_t bytes)
{
	size_t tail = ty_sum_has(db) ? TY_SUM_BYTES : 0, size = put_size(key_bytes, bytes + tail);
	if (!value || bytes > UINT32_MAX / 2 || ty_reserve(&w->data, &w->cap, w->bytes + size, 1))
		return false;
	struct put *p = (struct put *)(w->data + w->bytes);
	*p = (struct put){ .bytes = (uint32_t)(bytes + tail), .db = (uint8_t)db, .key_bytes = (uint8_t)key_bytes };
	memcpy(p->data, key, key_bytes);
	memcpy(p->data + key_bytes, value, bytes);
	if (tail)
		ty_sum_put(p->data + key_bytes + bytes, db, key, key_bytes, value, bytes);
	w->bytes += size;
	return true;
}

int ty_pending_write(struct ty_pending *w, MDB_txn *txn, const MDB_dbi *dbs)
{
	for (size_t at = 0; at < w->bytes;) {
		struct put *p = (struct put *)(w->data + at);
		MDB_val k = { p->key_bytes, p->data }, v = { p->bytes, p->data + p->key_bytes };
		int rc = mdb_put(txn, dbs[p->db], &k, &v, p->db == TY_DB_BLOCKS ? MDB_APPEND : 0);
		if (rc)
			return rc;
		at += put_size(p->key_bytes, p->bytes);
	}
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct put *x = *(struct put *const *)a, *y = *(struct put *const *)b;
	if (x->db != y->db)
		return x->db < y->db ? -1 : 1;
	if (x->key_bytes != y->key_bytes)
		return x->key_bytes < y->key_bytes ? -1 : 1;
	int d = memcmp(x->data, y->data, x->key_bytes);
	return d ? d : x < y ? -1 : x > y;
}

/* Takes the pending blocks out, in place. */
static void drop_blocks(struct ty_pending *w)
{
	size_t to = 0;
	for (size_t at = 0; at < w->bytes;) {
		struct put *p = (struct put *)(w->data + at);
		size_t size = put_size(p->key_bytes, p->bytes);
		if (p->db != TY_DB_BLOCKS) {
			memmove(w->data + to, p, size);
			to += size;
		}
		at += size;
	}
	w->bytes = to;
}

/* Takes out rows that a later row replaces: while the disk is full, counters
 * are put again and again.  Without memory for it, all stay. */
static void drop_replaced(struct ty_pending *w)
{
	size_t n = 0, bytes = 0, cap = 0;
	struct put **list = NULL;
	uint8_t *copy = malloc(w->bytes + 1);
	for (size_t at = 0; copy && at < w->bytes;) {
		struct put *p = (struct put *)(w->data + at);
		at += put_size(p->key_bytes, p->bytes);
		if (ty_reserve(&list, &cap, n + 1, sizeof *list)) {
			n = 0;
			break;
		}
		list[n++] = p;
	}
	if (n)
		qsort(list, n, sizeof *list, by_key);
	for (size_t i = 0; i < n; i++) {
		const struct put *p = list[i], *next = i + 1 < n ? list[i + 1] : NULL;
		size_t size = put_size(p->key_bytes, p->bytes);
		if (next && next->db == p->db && next->key_bytes == p->key_bytes &&
		    memcmp(next->data, p->data, p->key_bytes) == 0)
			continue;
		memcpy(copy + bytes, p, size);
		bytes += size;
	}
	if (n) {
		memcpy(w->data, copy, bytes);
		w->bytes = bytes;
	}
	free(list);
	free(copy);
}

void ty_pending_drop_events(struct ty_pending *w)
{
	drop_blocks(w);
	drop_replaced(w);
}

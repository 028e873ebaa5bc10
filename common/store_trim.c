/* SPDX-License-Identifier: MIT
 *
 * Dropping the oldest blocks (--max-size, --keep); runs in the recorder.  LMDB
 * files do not shrink, but freed pages are used again, so a store that is
 * trimmed before it reaches a size stays near it.  What was dropped is said in
 * the meta key "trimmed". */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/store_priv.h"

struct trim {
	uint64_t bytes, before;
	uint64_t events, until; /* dropped in this call; last end of these */
	size_t left;            /* blocks that may go in this transaction */
	bool more;
};

static int note(struct ty_store *s, MDB_txn *txn, const struct trim *t)
{
	MDB_val k = { 7, (void *)"trimmed" }, v;
	uint64_t events = t->events;
	if (mdb_get(txn, s->db[TY_DB_META], &k, &v) == 0) {
		json_t *o = json_loadb(v.mv_data, v.mv_size, 0, NULL);
		events += (uint64_t)json_integer_value(json_object_get(o, "events"));
		json_decref(o);
	}
	char text[96];
	int n = snprintf(text, sizeof text, "{\"events\":%llu,\"until\":%llu}", (unsigned long long)events,
			 (unsigned long long)t->until);
	v = (MDB_val){ (size_t)n, text };
	return mdb_put(txn, s->db[TY_DB_META], &k, &v, 0);
}

static int drop_blocks(struct ty_store *s, MDB_txn *txn, void *arg)
{
	struct trim *t = arg;
	MDB_cursor *c;
	MDB_val k, v;
	size_t left = t->left;
	t->events = 0;
	t->more = false;
	int rc = mdb_cursor_open(txn, s->db[TY_DB_BLOCKS], &c);
	if (rc)
		return rc;
	while (rc == 0 && (rc = mdb_cursor_get(c, &k, &v, MDB_FIRST)) == 0) {
		struct ty_block_head h;
		if (ty_block_head(&h, v.mv_data, v.mv_size) < 0)
			h = (struct ty_block_head){ .count = 0 }; /* cannot be read, so of no use */
		ty_writer_sized(s, txn);
		bool large = t->bytes && ty_store_size(s) > t->bytes;
		bool old = t->before && h.max_end <= t->before;
		if (!large && !old)
			break;
		t->more = left == 0;
		if (t->more)
			break;
		rc = mdb_cursor_del(c, 0);
		t->events += h.count;
		t->until = h.max_end;
		left--;
	}
	mdb_cursor_close(c);
	if (rc == MDB_NOTFOUND)
		rc = 0;
	return rc == 0 && t->events ? note(s, txn, t) : rc;
}

uint64_t ty_store_trim(struct ty_store *s, uint64_t bytes, uint64_t before, char *err)
{
	struct trim t = { .bytes = bytes, .before = before, .left = 64, .more = true };
	uint64_t events = 0;
	int dead;
	if (err)
		*err = 0;
	mdb_reader_check(s->env, &dead); /* a killed reader would keep the pages */
	while (t.more) {
		int rc = ty_writer_run(s, drop_blocks, &t);
		if (rc) {
			ty_store_fail(s, rc, err, "trim");
			break;
		}
		events += t.events;
	}
	return events;
}

/* SPDX-License-Identifier: MIT
 *
 * Events of all threads in order of end, for readers.  A block says up to
 * which time it is complete; later events are held until following blocks have
 * been read, so what is in memory is a block and what was held.  Sorting is by
 * radix on the end time, which is stable and cheaper than merging threads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/store_priv.h"
#include "tarry/ops.h"

#define HELD_MAX (4u * TY_BLOCK_MAX) /* beyond it the oldest go, complete or not */
#define DIGIT 11

struct order { uint64_t key; uint32_t at; };

struct ty_scan {
	struct ty_store *s;
	struct ty_unpacker *unpacker;
	uint64_t from, to;
	uint64_t next, last;        /* block sequence */
	size_t blocks, done;
	size_t ops, threads, paths;
	const struct ty_op_info *op;
	uint64_t *thread_key;       /* [threads] of its latest event: keys never fall within a thread */
	struct ty_ev *in, *out;     /* in: held events first, then those of a new block; out: sorted */
	struct order *order, *spare;
	size_t cap, held;
	uint64_t given, stragglers; /* all events up to `given` have been returned */
};

int ty_scan_open(struct ty_scan **ret, struct ty_store *s, uint64_t from, uint64_t to, char *err)
{
	struct ty_scan *c = calloc(1, sizeof *c);
	if (!c)
		return ty_err(err, -ENOMEM, "no memory");
	struct ty_seq_range range = ty_reader_blocks(s);
	*c = (struct ty_scan){ .s = s, .from = from, .to = to, .next = range.first, .last = range.last,
			       .blocks = range.blocks };
	c->op = ty_store_ops(s, &c->ops);
	ty_store_threads(s, &c->threads);
	ty_store_paths(s, &c->paths);
	c->unpacker = ty_unpacker_new();
	c->thread_key = calloc(c->threads + 1, sizeof *c->thread_key);
	if (!c->unpacker || !c->thread_key) {
		ty_scan_close(c);
		return ty_err(err, -ENOMEM, "no memory");
	}
	*ret = c;
	return 0;
}

static int scan_room(struct ty_scan *c, size_t n)
{
	if (n <= c->cap)
		return 0;
	size_t cap = c->cap ? c->cap : 4096;
	while (cap < n)
		cap *= 2;
	struct ty_ev *in = realloc(c->in, cap * sizeof *in);
	c->in = in ? in : c->in;
	struct ty_ev *out = realloc(c->out, cap * sizeof *out);
	c->out = out ? out : c->out;
	struct order *order = realloc(c->order, cap * sizeof *order);
	c->order = order ? order : c->order;
	struct order *spare = realloc(c->spare, cap * sizeof *spare);
	c->spare = spare ? spare : c->spare;
	if (!in || !out || !order || !spare)
		return -ENOMEM;
	c->cap = cap;
	return 0;
}

/* Finds the next block that has events in the window.  1: its number is in *seq,
 * its value in *v and the transaction open; 0: none left; < 0. */
static int next_block(struct ty_scan *c, MDB_txn **txn, uint64_t *seq, MDB_val *v, struct ty_block_head *h,
		      char *err)
{
	MDB_cursor *cur;
	uint8_t key[8];
	if (c->blocks == 0 || c->next > c->last)
		return 0;
	int r = ty_store_begin(c->s, txn, err);
	if (r < 0)
		return r;
	int rc = mdb_cursor_open(*txn, c->s->db[TY_DB_BLOCKS], &cur);
	if (rc) {
		mdb_txn_abort(*txn);
		return ty_store_fail(c->s, rc, err, "read");
	}
	ty_key64(key, c->next);
	MDB_val k = { sizeof key, key };
	rc = mdb_cursor_get(cur, &k, v, MDB_SET_RANGE);
	for (; rc == 0; rc = mdb_cursor_get(cur, &k, v, MDB_NEXT)) {
		*seq = k.mv_size == 8 ? ty_unkey64(k.mv_data) : UINT64_MAX;
		if (*seq > c->last || *seq < c->next) {
			rc = MDB_NOTFOUND;
			break;
		}
		r = ty_block_head(h, v->mv_data, v->mv_size);
		if (r < 0 || (h->max_end >= c->from && h->min_begin <= c->to))
			break;
		c->done++;
		c->next = *seq + 1;
		if (c->next == 0) {
			rc = MDB_NOTFOUND;
			break;
		}
	}
	mdb_cursor_close(cur);
	if (rc == 0 && r == 0)
		return 1;
	mdb_txn_abort(*txn);
	if (r == -ENOTSUP)
		return ty_err(err, r, "%s: block %llu was written by a newer tarry", c->s->path, (unsigned long long)*seq);
	if (r < 0)
		return ty_err(err, r, "%s is damaged: block %llu", c->s->path, (unsigned long long)*seq);
	c->blocks = 0;
	return rc == MDB_NOTFOUND ? 0 : ty_store_fail(c->s, rc, err, "read");
}

/* Keeps the events of the window among the n new ones behind the held ones;
 * returns how many, or -EBADMSG when one refers to something unknown. */
static int take(struct ty_scan *c, size_t n)
{
	struct ty_ev *to = c->in + c->held, *e = to;
	struct order *o = c->order + c->held;
	for (size_t i = 0; i < n; i++, e++) {
		if (e->thread >= c->threads || e->path >= c->paths || (e->op >= c->ops && e->kind != TY_EV_MARK))
			return -EBADMSG;
		if (e->end < c->from || e->begin > c->to)
			continue;
		e->cls = e->kind == TY_EV_MARK ? TY_CLASS_COUNT : c->op[e->op].cls;
		c->stragglers += e->end <= c->given && c->given;
		uint64_t *key = &c->thread_key[e->thread];
		*key = e->end > *key ? e->end : *key;
		*o++ = (struct order){ .key = *key, .at = (uint32_t)(to - c->in) };
		if (to != e)
			*to = *e;
		to++;
	}
	return (int)(to - (c->in + c->held));
}

/* Sorts c->order[0..n) by key, stable: least significant digit first. */
static void sort(struct ty_scan *c, size_t n)
{
	uint64_t low = UINT64_MAX, high = 0;
	for (size_t i = 0; i < n; i++) {
		low = c->order[i].key < low ? c->order[i].key : low;
		high = c->order[i].key > high ? c->order[i].key : high;
	}
	for (unsigned shift = 0; n && shift < 64 && (high - low) >> shift; shift += DIGIT) {
		uint32_t count[1 << DIGIT] = { 0 }, sum = 0;
		for (size_t i = 0; i < n; i++)
			count[(c->order[i].key - low) >> shift & ((1 << DIGIT) - 1)]++;
		for (size_t d = 0; d < 1 << DIGIT; d++) {
			uint32_t here = count[d];
			count[d] = sum;
			sum += here;
		}
		for (size_t i = 0; i < n; i++)
			c->spare[count[(c->order[i].key - low) >> shift & ((1 << DIGIT) - 1)]++] = c->order[i];
		struct order *swap = c->order;
		c->order = c->spare;
		c->spare = swap;
	}
}

/* Sorts n events into c->out; returns how many of them can go: those up to complete_to. */
static size_t give(struct ty_scan *c, size_t n, uint64_t complete_to)
{
	sort(c, n);
	for (size_t i = 0; i < n; i++)
		c->out[i] = c->in[c->order[i].at];
	size_t go = n;
	while (go && c->order[go - 1].key > complete_to)
		go--;
	if (n - go > HELD_MAX)
		go = n - HELD_MAX;
	if (go && c->order[go - 1].key > complete_to)
		complete_to = c->order[go - 1].key;
	if (complete_to > c->given)
		c->given = complete_to;
	c->held = n - go;
	if (c->held)
		memcpy(c->in, c->out + go, c->held * sizeof *c->in);
	for (size_t i = 0; i < c->held; i++)
		c->order[i] = (struct order){ .key = c->order[go + i].key, .at = (uint32_t)i };
	return go;
}

int ty_scan_next(struct ty_scan *c, const struct ty_ev **ev, size_t *n, char *err)
{
	for (;;) {
		struct ty_block_head h;
		MDB_txn *txn;
		MDB_val v;
		uint64_t seq = 0;
		int r = next_block(c, &txn, &seq, &v, &h, err);
		if (r < 0)
			return r;
		if (r == 0) {
			*n = give(c, c->held, UINT64_MAX);
			*ev = c->out;
			return *n > 0;
		}
		r = scan_room(c, c->held + h.count);
		if (r == 0)
			r = ty_block_unpack(c->unpacker, v.mv_data, v.mv_size, c->in + c->held);
		mdb_txn_abort(txn);
		if (r == 0)
			r = take(c, h.count);
		if (r == -ENOMEM)
			return ty_err(err, r, "no memory for events");
		if (r < 0)
			return ty_err(err, r, "%s is damaged: block %llu", c->s->path, (unsigned long long)seq);
		c->done++;
		if (seq == UINT64_MAX)
			c->blocks = 0;
		c->next = seq + 1;
		*n = give(c, c->held + (size_t)r, h.complete_to);
		*ev = c->out;
		if (*n)
			return 1;
	}
}

int ty_store_extent(struct ty_store *s, struct ty_extent *x, char *err)
{
	struct ty_scan c = { .s = s, .to = UINT64_MAX };
	struct ty_seq_range range = ty_reader_blocks(s);
	struct ty_block_head h;
	MDB_txn *txn;
	MDB_val v;
	int r;
	c.next = range.first;
	c.last = range.last;
	c.blocks = range.blocks;
	*x = (struct ty_extent){ .first = UINT64_MAX };
	while ((r = next_block(&c, &txn, &c.next, &v, &h, err)) == 1) {
		mdb_txn_abort(txn);
		x->blocks++;
		x->events += h.count;
		x->first = h.min_begin < x->first ? h.min_begin : x->first;
		x->last = h.max_end > x->last ? h.max_end : x->last;
		if (c.next++ == UINT64_MAX)
			break;
	}
	if (x->blocks == 0)
		x->first = 0;
	return r < 0 ? r : 0;
}

uint64_t ty_scan_stragglers(const struct ty_scan *c)
{
	return c->stragglers;
}

double ty_scan_done(const struct ty_scan *c)
{
	size_t all = ty_reader_blocks(c->s).blocks;
	return all && c->done < all ? (double)c->done / (double)all : 1;
}

void ty_scan_close(struct ty_scan *c)
{
	if (!c)
		return;
	ty_unpacker_free(c->unpacker);
	free(c->thread_key);
	free(c->in);
	free(c->out);
	free(c->order);
	free(c->spare);
	free(c);
}

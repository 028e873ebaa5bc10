/* SPDX-License-Identifier: MIT
 *
 * Unpacks a block (format: block.h, columns: block_priv.h).  Runs in readers,
 * on files that may be damaged or hostile: every length, index and code is
 * checked, and nothing is allocated beyond what TY_BLOCK_MAX events can need.
 * What must stay true: the guesses are those of block.c, in the same order. */
#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "common/block_priv.h"

struct bytes {
	const uint8_t *at, *end;
};

struct shape {
	uint64_t last_object;
	uint32_t path;
	uint16_t op, err, flags;
	uint8_t kind, cls;
};

struct ty_unpacker {
	ZSTD_DCtx *zstd;
	uint8_t *raw;            /* all columns, then 8 bytes that may be read past the last */
	size_t raw_cap;
	struct shape *shape;
	uint64_t *object;
	uint64_t guess[TY_GUESSES];
	struct bytes col[TY_COL_COUNT];
	size_t shapes, objects;
};

/* By code: bytes that follow, mask of the eight bytes loaded, allowed for times / object / aux. */
static const uint8_t code_len[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
static const uint64_t code_mask[16] = { 0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff,
					0xffffffffffff, 0xffffffffffffff, UINT64_MAX };

struct ty_unpacker *ty_unpacker_new(void)
{
	struct ty_unpacker *u = calloc(1, sizeof *u);
	if (!u)
		return NULL;
	u->zstd = ZSTD_createDCtx();
	if (!u->zstd) {
		free(u);
		return NULL;
	}
	return u;
}

void ty_unpacker_free(struct ty_unpacker *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->zstd);
	free(u->raw);
	free(u->shape);
	free(u->object);
	free(u);
}

int ty_block_head(struct ty_block_head *h, const void *data, size_t len)
{
	const uint8_t *b = data;
	if (len < TY_BLOCK_HEAD || memcmp(b, "TYB", 3) != 0)
		return -EBADMSG;
	if (b[3] != TY_BLOCK_VERSION)
		return -ENOTSUP;
	h->count = ty_le32(b + 4);
	h->bytes = ty_le32(b + 8);
	h->complete_to = ty_le64(b + 16);
	h->min_begin = ty_le64(b + 24);
	h->max_end = ty_le64(b + 32);
	if (h->count == 0 || h->count > TY_BLOCK_MAX || h->bytes != len - TY_BLOCK_HEAD)
		return -EBADMSG;
	return 0;
}

static bool grow(void **p, size_t bytes)
{
	void *n = realloc(*p, bytes);
	if (n)
		*p = n;
	return n;
}

/* Lays out all columns in u->raw. */
static int get_columns(struct ty_unpacker *u, const uint8_t *b, const uint8_t *end, size_t count)
{
	struct { uint64_t raw, stored; const uint8_t *at; } c[TY_COL_COUNT];
	size_t total = 0, most = count * 70 + 16 * TY_COL_COUNT; /* sum of col_width in block.c */
	for (int i = 0; i < TY_COL_COUNT; i++) {
		b = ty_varint_get(b, end, &c[i].raw);
		b = ty_varint_get(b, end, &c[i].stored);
		if (!b || c[i].raw > most - total || c[i].stored > c[i].raw || c[i].stored > (size_t)(end - b))
			return -EBADMSG;
		c[i].at = b;
		b += c[i].stored;
		total += c[i].raw;
	}
	if (b != end)
		return -EBADMSG;
	if (total + 8 > u->raw_cap) {
		if (!grow((void **)&u->raw, total + 8))
			return -ENOMEM;
		u->raw_cap = total + 8;
	}
	uint8_t *out = u->raw;
	for (int i = 0; i < TY_COL_COUNT; i++) {
		u->col[i].at = out;
		if (c[i].stored == c[i].raw)
			memcpy(out, c[i].at, c[i].raw);
		else if (ZSTD_decompressDCtx(u->zstd, out, c[i].raw, c[i].at, c[i].stored) != c[i].raw)
			return -EBADMSG;
		out += c[i].raw;
		u->col[i].end = out;
	}
	memset(out, 0, 8);
	return 0;
}

static int get_shapes(struct ty_unpacker *u)
{
	struct bytes c = u->col[TY_COL_SHAPES];
	size_t bytes = (size_t)(c.end - c.at);
	u->shapes = bytes / TY_SHAPE_BYTES;
	if (bytes == 0 || bytes % TY_SHAPE_BYTES)
		return -EBADMSG;
	if (!grow((void **)&u->shape, u->shapes * sizeof *u->shape))
		return -ENOMEM;
	for (size_t i = 0; i < u->shapes; i++, c.at += TY_SHAPE_BYTES) {
		uint32_t a = ty_le32(c.at + 4), b = ty_le32(c.at + 8);
		u->shape[i] = (struct shape){ .path = ty_le32(c.at), .op = (uint16_t)a, .err = (uint16_t)(a >> 16),
					      .flags = (uint16_t)b, .kind = (uint8_t)(b >> 16),
					      .cls = (uint8_t)(b >> 24) };
	}
	return 0;
}

static int get_objects(struct ty_unpacker *u)
{
	struct bytes c = u->col[TY_COL_OBJECTS];
	uint64_t last = 0, d;
	if (!grow((void **)&u->object, (size_t)(c.end - c.at + 1) * sizeof *u->object))
		return -ENOMEM;
	for (u->objects = 0; c.at < c.end; u->objects++) {
		c.at = ty_varint_get(c.at, c.end, &d);
		if (!c.at)
			return -EBADMSG;
		last += ty_unzigzag(d);
		u->object[u->objects] = last;
	}
	return 0;
}

/* A code beyond 8 reads nothing and gives 0. */
static inline uint64_t get_number(struct bytes *c, unsigned code, unsigned *bad)
{
	unsigned n = code_len[code];
	if ((size_t)(c->end - c->at) < n) {
		*bad = 1;
		return 0;
	}
	uint64_t v = ty_le64(c->at) & code_mask[code];
	c->at += n;
	return v;
}

static inline uint32_t get_shape_index(struct bytes *c, size_t width)
{
	uint32_t v = width == 1 ? c->at[0] : width == 2 ? (uint32_t)c->at[0] | (uint32_t)c->at[1] << 8 : ty_le32(c->at);
	c->at += width;
	return v;
}

/* One thread's run of n events. */
static int get_run(struct ty_unpacker *u, struct ty_ev *ev, size_t n, uint32_t thread, uint64_t prev_end,
		   uint32_t rec)
{
	struct bytes gap = u->col[TY_COL_GAP], dur = u->col[TY_COL_DUR];
	struct bytes obj = u->col[TY_COL_OBJECT], aux = u->col[TY_COL_AUX];
	size_t width = ty_shape_width(u->shapes);
	uint64_t prev_object = 0;
	unsigned bad = 0;
	for (size_t i = 0; i < n && !bad; i++) {
		uint32_t index = get_shape_index(&u->col[TY_COL_SHAPE], width);
		unsigned times = *u->col[TY_COL_TIME_LEN].at++, rest = *u->col[TY_COL_REST_LEN].at++;
		if (index >= u->shapes)
			return -EBADMSG;
		struct shape *s = &u->shape[index];
		uint64_t begin = prev_end + ty_unzigzag(get_number(&gap, times & 15, &bad));
		uint64_t end = begin + get_number(&dur, times >> 4, &bad);
		unsigned oc = rest & 15, ac = rest >> 4;
		uint64_t object = oc == TY_CODE_SAME ? s->last_object : prev_object;
		if (oc < TY_CODE_SAME) {
			uint64_t k = get_number(&obj, oc, &bad);
			if (k >= u->objects)
				return -EBADMSG;
			object = u->object[k];
		}
		s->last_object = prev_object = object;
		uint64_t *guess = &u->guess[ty_guess_slot(index, object)];
		uint64_t a = get_number(&aux, ac, &bad);
		*guess = ac == TY_CODE_SAME ? *guess : a;
		bad |= (times & 15) > 8 || times >> 4 > 8 || oc > TY_CODE_PREV || ac > TY_CODE_SAME;
		ev[i] = (struct ty_ev){ .begin = begin, .end = end, .object = object, .aux = *guess,
					.thread = thread, .path = s->path, .rec = rec + (uint32_t)i, .op = s->op,
					.err = s->err, .flags = s->flags, .kind = s->kind, .cls = s->cls };
		prev_end = end;
	}
	u->col[TY_COL_GAP] = gap;
	u->col[TY_COL_DUR] = dur;
	u->col[TY_COL_OBJECT] = obj;
	u->col[TY_COL_AUX] = aux;
	return bad ? -EBADMSG : 0;
}

static bool used_up(const struct ty_unpacker *u, enum ty_column c)
{
	return u->col[c].at == u->col[c].end;
}

int ty_block_unpack(struct ty_unpacker *u, const void *data, size_t len, struct ty_ev *ev)
{
	struct ty_block_head h;
	const uint8_t *b = data;
	int r = ty_block_head(&h, data, len);
	if (r < 0)
		return r;
	if (ty_block_sum(b, len) != ty_le64(b + 40))
		return -EBADMSG;
	if ((r = get_columns(u, b + TY_BLOCK_HEAD, b + len, h.count)) < 0 || (r = get_shapes(u)) < 0 ||
	    (r = get_objects(u)) < 0)
		return r;
	/* the columns with a fixed width per event are checked once */
	struct bytes *shape = &u->col[TY_COL_SHAPE], *times = &u->col[TY_COL_TIME_LEN], *rest = &u->col[TY_COL_REST_LEN];
	if ((size_t)(shape->end - shape->at) != h.count * ty_shape_width(u->shapes) ||
	    (size_t)(times->end - times->at) != h.count || (size_t)(rest->end - rest->at) != h.count)
		return -EBADMSG;
	memset(u->guess, 0, sizeof u->guess);

	struct bytes runs = u->col[TY_COL_RUNS];
	size_t done = 0;
	while (runs.at < runs.end) {
		uint64_t thread, n;
		runs.at = ty_varint_get(runs.at, runs.end, &thread);
		runs.at = ty_varint_get(runs.at, runs.end, &n);
		if (!runs.at || thread > UINT32_MAX || n == 0 || n > h.count - done)
			return -EBADMSG;
		r = get_run(u, ev + done, n, (uint32_t)thread, h.min_begin, (uint32_t)done);
		if (r < 0)
			return r;
		done += n;
	}
	if (done != h.count || !used_up(u, TY_COL_GAP) || !used_up(u, TY_COL_DUR) || !used_up(u, TY_COL_OBJECT) ||
	    !used_up(u, TY_COL_AUX))
		return -EBADMSG;
	return 0;
}

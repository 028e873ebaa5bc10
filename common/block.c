/* SPDX-License-Identifier: MIT
 *
 * Packs events into a block (format: block.h, columns: block_priv.h).  Runs in
 * the recorder, once per batch of events; tables are kept between blocks.
 * What must stay true: block_unpack.c makes the same guesses in the same order. */
#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>
#include <zstd.h>

#include "common/block_priv.h"

struct shape {
	uint32_t path;
	uint16_t op, err, flags;
	uint8_t kind, cls;
};
_Static_assert(sizeof(struct shape) == TY_SHAPE_BYTES, "no padding: compared with memcmp");

struct ty_packer {
	ZSTD_CCtx *zstd;
	size_t cap;                  /* events all arrays below have room for */
	uint32_t slots;              /* of both hash tables, power of two >= 2 * events */
	uint32_t *shape_slot;        /* index + 1 */
	uint32_t *object_slot;
	struct shape *shape;
	uint64_t *last_object;       /* [shape] */
	uint64_t *object;
	uint32_t shapes, objects;
	uint64_t guess[TY_GUESSES];
	uint8_t *col[TY_COL_COUNT], *end[TY_COL_COUNT];
	uint8_t *out;
	size_t out_cap;
};

/* Most bytes one event can add to a column (and 16 to spare in each). */
static const uint8_t col_width[TY_COL_COUNT] = {
	[TY_COL_RUNS] = 10, [TY_COL_SHAPES] = TY_SHAPE_BYTES, [TY_COL_OBJECTS] = 10, [TY_COL_SHAPE] = 4,
	[TY_COL_TIME_LEN] = 1, [TY_COL_REST_LEN] = 1, [TY_COL_GAP] = 8, [TY_COL_DUR] = 8,
	[TY_COL_OBJECT] = 8, [TY_COL_AUX] = 8,
};

struct ty_packer *ty_packer_new(void)
{
	struct ty_packer *p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->zstd = ZSTD_createCCtx();
	if (!p->zstd) {
		free(p);
		return NULL;
	}
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, 1);
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_contentSizeFlag, 0); /* the column's head says it */
	return p;
}

static void packer_drop(struct ty_packer *p)
{
	free(p->shape_slot);
	free(p->object_slot);
	free(p->shape);
	free(p->last_object);
	free(p->object);
	free(p->out);
	for (int i = 0; i < TY_COL_COUNT; i++) {
		free(p->col[i]);
		p->col[i] = NULL;
	}
	p->shape_slot = p->object_slot = NULL;
	p->shape = NULL;
	p->last_object = p->object = NULL;
	p->out = NULL;
	p->cap = 0;
}

void ty_packer_free(struct ty_packer *p)
{
	if (!p)
		return;
	packer_drop(p);
	ZSTD_freeCCtx(p->zstd);
	free(p);
}

static int packer_room(struct ty_packer *p, size_t n)
{
	if (n <= p->cap)
		return 0;
	packer_drop(p);
	size_t cap = 1024;
	while (cap < n)
		cap *= 2;
	p->shape_slot = malloc(2 * cap * sizeof *p->shape_slot);
	p->object_slot = malloc(2 * cap * sizeof *p->object_slot);
	p->shape = malloc(cap * sizeof *p->shape);
	p->last_object = malloc(cap * sizeof *p->last_object);
	p->object = malloc(cap * sizeof *p->object);
	bool ok = p->shape_slot && p->object_slot && p->shape && p->last_object && p->object;
	p->out_cap = TY_BLOCK_HEAD;
	for (int i = 0; i < TY_COL_COUNT; i++) {
		size_t bytes = cap * col_width[i] + 16;
		p->col[i] = malloc(bytes);
		ok = ok && p->col[i];
		p->out_cap += ZSTD_compressBound(bytes) + 20;
	}
	p->out = malloc(p->out_cap);
	if (!ok || !p->out) {
		packer_drop(p);
		return -ENOMEM;
	}
	p->cap = cap;
	return 0;
}

static uint32_t shape_index(struct ty_packer *p, const struct ty_ev *e)
{
	struct shape s = { .path = e->path, .op = e->op, .err = e->err, .flags = e->flags,
			   .kind = e->kind, .cls = e->cls };
	uint64_t h = ((uint64_t)s.path << 32 | (uint32_t)s.op << 16 | s.err) * 0x9e3779b97f4a7c15ULL;
	h ^= ((uint32_t)s.flags << 16 | (uint32_t)s.kind << 8 | s.cls) * 0xff51afd7ed558ccdULL;
	for (uint32_t at = (uint32_t)(h >> 32);; at++) {
		uint32_t *slot = &p->shape_slot[at & (p->slots - 1)];
		if (*slot == 0) {
			p->shape[p->shapes] = s;
			p->last_object[p->shapes] = 0;
			*slot = ++p->shapes;
			return p->shapes - 1;
		}
		if (memcmp(&p->shape[*slot - 1], &s, sizeof s) == 0)
			return *slot - 1;
	}
}

static uint32_t object_index(struct ty_packer *p, uint64_t object)
{
	for (uint32_t at = (uint32_t)((object * 0x9e3779b97f4a7c15ULL) >> 32);; at++) {
		uint32_t *slot = &p->object_slot[at & (p->slots - 1)];
		if (*slot == 0) {
			p->object[p->objects] = object;
			*slot = ++p->objects;
			return p->objects - 1;
		}
		if (p->object[*slot - 1] == object)
			return *slot - 1;
	}
}

/* Appends the bytes of v that matter; returns their number, which is the code. */
static unsigned put_number(struct ty_packer *p, enum ty_column c, uint64_t v)
{
	unsigned n = v ? (71u - (unsigned)__builtin_clzll(v)) / 8 : 0;
	ty_put64(p->end[c], v); /* columns have 16 bytes to spare */
	p->end[c] += n;
	return n;
}

static void put_event(struct ty_packer *p, const struct ty_ev *e, uint64_t prev_end, uint64_t prev_object,
		      uint32_t shape)
{
	unsigned gap = put_number(p, TY_COL_GAP, ty_zigzag(e->begin - prev_end));
	unsigned dur = put_number(p, TY_COL_DUR, e->end - e->begin);
	*p->end[TY_COL_TIME_LEN]++ = (uint8_t)(gap | dur << 4);

	unsigned obj, aux;
	if (e->object == p->last_object[shape])
		obj = TY_CODE_SAME;
	else if (e->object == prev_object)
		obj = TY_CODE_PREV;
	else
		obj = put_number(p, TY_COL_OBJECT, object_index(p, e->object));
	p->last_object[shape] = e->object;
	uint64_t *guess = &p->guess[ty_guess_slot(shape, e->object)];
	aux = *guess == e->aux ? TY_CODE_SAME : put_number(p, TY_COL_AUX, e->aux);
	*guess = e->aux;
	*p->end[TY_COL_REST_LEN]++ = (uint8_t)(obj | aux << 4);
}

static void put_events(struct ty_packer *p, const struct ty_ev *ev, size_t n, uint64_t base, uint32_t *shape)
{
	for (size_t i = 0; i < n;) {
		size_t k = i;
		uint64_t prev_end = base, prev_object = 0;
		for (; k < n && ev[k].thread == ev[i].thread; k++) {
			shape[k] = shape_index(p, &ev[k]);
			put_event(p, &ev[k], prev_end, prev_object, shape[k]);
			prev_end = ev[k].end;
			prev_object = ev[k].object;
		}
		p->end[TY_COL_RUNS] = ty_varint_put(p->end[TY_COL_RUNS], ev[i].thread);
		p->end[TY_COL_RUNS] = ty_varint_put(p->end[TY_COL_RUNS], k - i);
		i = k;
	}
}

static void put_lists(struct ty_packer *p, const uint32_t *shape, size_t n)
{
	uint8_t *b = p->end[TY_COL_SHAPES];
	for (uint32_t i = 0; i < p->shapes; i++, b += TY_SHAPE_BYTES) {
		const struct shape *s = &p->shape[i];
		ty_put32(b, s->path);
		ty_put32(b + 4, (uint32_t)s->op | (uint32_t)s->err << 16);
		ty_put32(b + 8, (uint32_t)s->flags | (uint32_t)s->kind << 16 | (uint32_t)s->cls << 24);
	}
	p->end[TY_COL_SHAPES] = b;
	uint64_t last = 0;
	b = p->end[TY_COL_OBJECTS];
	for (uint32_t i = 0; i < p->objects; i++) {
		b = ty_varint_put(b, ty_zigzag(p->object[i] - last));
		last = p->object[i];
	}
	p->end[TY_COL_OBJECTS] = b;
	size_t width = ty_shape_width(p->shapes);
	b = p->end[TY_COL_SHAPE];
	for (size_t i = 0; i < n; i++, b += width) {
		uint32_t v = htole32(shape[i]);
		memcpy(b, &v, width);
	}
	p->end[TY_COL_SHAPE] = b;
}

/* Stored as it is unless zstd saves a thirty-second: copying is faster to read. */
static uint8_t *put_column(struct ty_packer *p, enum ty_column c, uint8_t *out)
{
	size_t raw = (size_t)(p->end[c] - p->col[c]);
	out = ty_varint_put(out, raw);
	if (raw > 32) {
		uint8_t *body = out + 5; /* moved down when the length is shorter */
		size_t room = p->out_cap - (size_t)(body - p->out);
		size_t got = ZSTD_compress2(p->zstd, body, room, p->col[c], raw);
		if (!ZSTD_isError(got) && got < raw - raw / 32) {
			out = ty_varint_put(out, got);
			memmove(out, body, got);
			return out + got;
		}
	}
	out = ty_varint_put(out, raw);
	memcpy(out, p->col[c], raw);
	return out + raw;
}

int ty_block_pack(struct ty_packer *p, const struct ty_ev *ev, size_t n, uint64_t complete_to,
		  const void **data, size_t *len)
{
	if (n == 0 || n > TY_BLOCK_MAX)
		return -EINVAL;
	if (packer_room(p, n) < 0)
		return -ENOMEM;
	uint32_t *shape = malloc(n * sizeof *shape);
	if (!shape)
		return -ENOMEM;
	uint64_t min_begin = UINT64_MAX, max_end = 0;
	for (size_t i = 0; i < n; i++) {
		min_begin = ev[i].begin < min_begin ? ev[i].begin : min_begin;
		max_end = ev[i].end > max_end ? ev[i].end : max_end;
	}
	for (p->slots = 64; p->slots < 2 * n;)
		p->slots *= 2;
	if (p->slots > 2 * p->cap)
		p->slots = (uint32_t)(2 * p->cap);
	memset(p->shape_slot, 0, p->slots * sizeof *p->shape_slot);
	memset(p->object_slot, 0, p->slots * sizeof *p->object_slot);
	memset(p->guess, 0, sizeof p->guess);
	p->shapes = p->objects = 0;
	for (int i = 0; i < TY_COL_COUNT; i++)
		p->end[i] = p->col[i];

	put_events(p, ev, n, min_begin, shape);
	put_lists(p, shape, n);
	free(shape);
	uint8_t *out = p->out + TY_BLOCK_HEAD;
	for (int i = 0; i < TY_COL_COUNT; i++)
		out = put_column(p, (enum ty_column)i, out);

	memcpy(p->out, "TYB", 3);
	p->out[3] = TY_BLOCK_VERSION;
	ty_put32(p->out + 4, (uint32_t)n);
	ty_put32(p->out + 8, (uint32_t)(out - p->out) - TY_BLOCK_HEAD);
	ty_put32(p->out + 12, 0);
	ty_put64(p->out + 16, complete_to);
	ty_put64(p->out + 24, min_begin);
	ty_put64(p->out + 32, max_end);
	*data = p->out;
	*len = (size_t)(out - p->out);
	ty_block_seal(p->out, *len);
	return 0;
}

uint64_t ty_block_sum(const uint8_t *data, size_t len)
{
	return XXH3_64bits_withSeed(data + TY_BLOCK_HEAD, len - TY_BLOCK_HEAD, XXH3_64bits(data, 40));
}

void ty_block_seal(void *data, size_t len)
{
	if (len >= TY_BLOCK_HEAD)
		ty_put64((uint8_t *)data + 40, ty_block_sum(data, len));
}

/* SPDX-License-Identifier: MIT
 *
 * Protocol buffers as pprof.h says.  Runs in readers.  Must stay true: the
 * same input gives the same bytes (no time in the gzip header). */
#include "analyze/pprof.h"

#include "analyze/vec.h"

static bool room(struct ty_pb *b, size_t n)
{
	if (b->bad || TY_RESERVE(b->v, b->cap, b->n + n, (size_t)64))
		b->bad = true;
	return !b->bad;
}

void ty_pb_varint(struct ty_pb *b, uint64_t x)
{
	if (!room(b, 10))
		return;
	for (; x >= 0x80; x >>= 7)
		b->v[b->n++] = (uint8_t)(x | 0x80);
	b->v[b->n++] = (uint8_t)x;
}

void ty_pb_int(struct ty_pb *b, unsigned field, uint64_t x)
{
	if (!x)
		return;
	ty_pb_varint(b, (uint64_t)field << 3);
	ty_pb_varint(b, x);
}

void ty_pb_bytes(struct ty_pb *b, unsigned field, const void *p, size_t n)
{
	ty_pb_varint(b, (uint64_t)field << 3 | 2);
	ty_pb_varint(b, n);
	if (!n || !room(b, n))
		return;
	memcpy(b->v + b->n, p, n);
	b->n += n;
}

void ty_pb_free(struct ty_pb *b)
{
	free(b->v);
	*b = (struct ty_pb){ 0 };
}

int ty_pb_open(struct ty_pb_out *o, FILE *to)
{
	*o = (struct ty_pb_out){ .to = to };
	/* 16: a gzip header */
	int z = deflateInit2(&o->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
	return z == Z_OK ? 0 : -ENOMEM;
}

static void squeeze(struct ty_pb_out *o, const void *p, size_t n, int flush)
{
	uint8_t buf[16384] = { 0 };
	o->z.next_in = (Bytef *)(uintptr_t)p;
	o->z.avail_in = (uInt)n;
	do {
		o->z.next_out = buf;
		o->z.avail_out = sizeof buf;
		if (deflate(&o->z, flush) == Z_STREAM_ERROR)
			o->e = -EIO;
		fwrite(buf, 1, sizeof buf - o->z.avail_out, o->to);
	} while (o->z.avail_out == 0 && !o->e && !ferror(o->to));
}

static void put(struct ty_pb_out *o, const struct ty_pb *b)
{
	if (b->bad)
		o->e = -ENOMEM;
	if (b->n && !o->e)
		squeeze(o, b->v, b->n, Z_NO_FLUSH);
}

void ty_pb_field(struct ty_pb_out *o, unsigned field, uint64_t x)
{
	struct ty_pb b = { 0 };
	ty_pb_int(&b, field, x);
	put(o, &b);
	ty_pb_free(&b);
}

void ty_pb_text(struct ty_pb_out *o, unsigned field, const void *p, size_t n)
{
	struct ty_pb b = { 0 };
	ty_pb_bytes(&b, field, p, n);
	put(o, &b);
	ty_pb_free(&b);
}

void ty_pb_message(struct ty_pb_out *o, unsigned field, const struct ty_pb *m)
{
	if (m->bad)
		o->e = -ENOMEM;
	ty_pb_text(o, field, m->v, m->n);
}

int ty_pb_close(struct ty_pb_out *o)
{
	if (!o->e)
		squeeze(o, NULL, 0, Z_FINISH);
	deflateEnd(&o->z);
	return o->e;
}

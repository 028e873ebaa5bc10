/* SPDX-License-Identifier: MIT
 *
 * The columns of a block, shared by the two sides (block.c packs,
 * block_unpack.c unpacks).
 *
 * What is the same in many events (op, path, flags, err, kind, class: a
 * "shape") is listed once per block and named by its index; so are objects.
 * Numbers are split into a length code (one nibble) and that many bytes:
 * the codes compress well, the bytes are near random, and decoding needs no
 * branch.  Two codes stand for a guess that was right and cost no bytes:
 *   SAME  the last value of this shape (aux: of this shape and object)
 *   PREV  the object of the thread's previous event
 */
#ifndef TY_BLOCK_PRIV_H
#define TY_BLOCK_PRIV_H

#include <endian.h>
#include <string.h>
#include "common/block.h"

enum ty_column {
	TY_COL_RUNS,     /* varints: thread, events, for each run of one thread's events */
	TY_COL_SHAPES,   /* TY_SHAPE_BYTES each */
	TY_COL_OBJECTS,  /* varints: zigzag difference to the one before */
	TY_COL_SHAPE,    /* per event: index, 1, 2 or 4 bytes by the number of shapes */
	TY_COL_TIME_LEN, /* per event: code of gap, code of duration << 4 */
	TY_COL_REST_LEN, /* per event: code of object index, code of aux << 4 */
	TY_COL_GAP,      /* zigzag: begin minus end of the event before in the run (first: smallest begin) */
	TY_COL_DUR,      /* end minus begin */
	TY_COL_OBJECT,   /* index into OBJECTS */
	TY_COL_AUX,
	TY_COL_COUNT
};
#define TY_SHAPE_BYTES 12u
#define TY_CODE_SAME 9u
#define TY_CODE_PREV 10u
#define TY_GUESSES 4096u /* table of last aux values, power of two */

static inline unsigned ty_guess_slot(uint32_t shape, uint64_t object)
{
	return (unsigned)(((object + shape) * 0x9e3779b97f4a7c15ULL) >> 52);
}
static inline size_t ty_shape_width(size_t shapes)
{
	return shapes <= 256 ? 1 : shapes <= 65536 ? 2 : 4;
}

static inline uint32_t ty_le32(const void *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return le32toh(v);
}
static inline uint64_t ty_le64(const void *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return le64toh(v);
}
static inline void ty_put32(void *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof v);
}
static inline void ty_put64(void *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof v);
}

uint64_t ty_block_sum(const uint8_t *data, size_t len);

#endif

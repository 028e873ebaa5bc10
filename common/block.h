/* SPDX-License-Identifier: MIT
 *
 * A block: the events of one or more drains, packed.  The only definition of
 * the bytes in the store's `blocks` database; used by recorder and readers.
 *
 *   0  u8[4] "TYB" and the version      24 u64 smallest begin
 *   4  u32   number of events           32 u64 largest end
 *   8  u32   bytes after the head       40 u64 checksum: XXH3 of the rest,
 *  12  u32   0                                  seeded with XXH3 of bytes 0..39
 *  16  u64   complete_to                48 columns
 *
 * Little endian.  The columns (enum in block.c) follow each other, each as
 * varint raw bytes, varint stored bytes, bytes; stored < raw: a zstd frame.
 */
#ifndef TY_BLOCK_H
#define TY_BLOCK_H

#include <stddef.h>
#include <stdint.h>
#include "common/store.h"

#define TY_BLOCK_VERSION 1
#define TY_BLOCK_HEAD 48
#define TY_BLOCK_MAX 65536u /* events; bounds what a reader allocates */

struct ty_block_head {
	uint32_t count, bytes;
	uint64_t complete_to, min_begin, max_end;
};

struct ty_packer;
struct ty_unpacker;

struct ty_packer *ty_packer_new(void); /* NULL: no memory */
void ty_packer_free(struct ty_packer *p);
/* Packs n <= TY_BLOCK_MAX events; any values come back exactly as they are,
 * but for rec.  *data is valid until the next call.  0, -EINVAL, -ENOMEM. */
int ty_block_pack(struct ty_packer *p, const struct ty_ev *ev, size_t n, uint64_t complete_to,
		  const void **data, size_t *len);

/* The head alone, so that a block can be skipped without unpacking.
 * 0, -EBADMSG: not a block, -ENOTSUP: a newer version. */
int ty_block_head(struct ty_block_head *h, const void *data, size_t len);

struct ty_unpacker *ty_unpacker_new(void);
void ty_unpacker_free(struct ty_unpacker *u);
/* Into ev[head.count]; rec is the index in the block.  Safe against any bytes:
 * 0, -EBADMSG, -ENOTSUP, -ENOMEM. */
int ty_block_unpack(struct ty_unpacker *u, const void *data, size_t len, struct ty_ev *ev);

/* Sets the checksum of a block whose bytes were changed (fuzzer, tests). */
void ty_block_seal(void *data, size_t len);

/* ---- bytes, also used for packed paths ---- */
static inline uint8_t *ty_varint_put(uint8_t *p, uint64_t v) /* at most 10 bytes */
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	return p;
}
/* NULL: input ended or more than 64 bits. */
static inline const uint8_t *ty_varint_get(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	uint64_t r = 0;
	for (unsigned shift = 0; p && p < end && shift < 64; shift += 7) {
		uint8_t b = *p++;
		r |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*v = r;
			return p;
		}
	}
	return NULL;
}
static inline uint64_t ty_zigzag(uint64_t d) { return d << 1 ^ (0 - (d >> 63)); }
static inline uint64_t ty_unzigzag(uint64_t z) { return z >> 1 ^ (0 - (z & 1)); }

#endif

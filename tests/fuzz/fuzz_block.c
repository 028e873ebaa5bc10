/* SPDX-License-Identifier: MIT
 * Description: any bytes as a block of events: no crash, no read out of bounds,
 * no more memory than a block may need.
 *
 * Needs no seeds: the first byte says what the others are,
 *   0  a block, whose head and checksum are put right
 *   1  changes to a good block (u16 offset, u8 value)..., checksum put right
 * The checksum is put right because no fuzzer finds one. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/block.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EVENTS 200

static struct ty_unpacker *unpacker;
static uint8_t *good_block;
static size_t block_size;

static void need(int ok)
{
	if (!ok)
		abort();
}

static void some_events(struct ty_ev *ev)
{
	for (uint32_t i = 0; i < EVENTS; i++)
		ev[i] = (struct ty_ev){ .begin = 1000 + i * 7, .end = 1000 + i * 7 + i * i % 300, .object = 5 + i % 9,
					.aux = i % 5 * 1000, .thread = i / 50, .path = i % 4,
					.op = (uint16_t)(i % 60), .kind = i % 4 };
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct ty_ev ev[EVENTS];
	struct ty_packer *p = ty_packer_new();
	const void *data;
	some_events(ev);
	need(ty_block_pack(p, ev, EVENTS, 2500, &data, &block_size) == 0);
	good_block = malloc(block_size);
	memcpy(good_block, data, block_size);
	ty_packer_free(p);
	unpacker = ty_unpacker_new();
	return 0;
}

static void try_block(const uint8_t *data, size_t size)
{
	struct ty_block_head h;
	if (ty_block_head(&h, data, size) < 0)
		return;
	struct ty_ev *ev = malloc(h.count * sizeof *ev);
	int r = ty_block_unpack(unpacker, data, size, ev);
	need(r == 0 || r == -EBADMSG);
	free(ev);
}

static void any_block(const uint8_t *data, size_t size)
{
	uint8_t *b = calloc(1, size + TY_BLOCK_HEAD);
	memcpy(b, good_block, TY_BLOCK_HEAD);
	if (size > 2) { /* count, small so that a try is quick, then columns */
		b[4] = data[0];
		b[5] = data[1] % 4;
		memcpy(b + TY_BLOCK_HEAD, data + 2, size - 2);
	}
	size_t body = size > 2 ? size - 2 : 0;
	for (int i = 0; i < 4; i++)
		b[8 + i] = (uint8_t)(body >> 8 * i);
	ty_block_seal(b, TY_BLOCK_HEAD + body);
	try_block(b, TY_BLOCK_HEAD + body);
	free(b);
}

static void changed_block(const uint8_t *data, size_t size)
{
	uint8_t *b = malloc(block_size);
	memcpy(b, good_block, block_size);
	for (; size >= 3; data += 3, size -= 3)
		b[(data[0] | (size_t)data[1] << 8) % block_size] = data[2];
	ty_block_seal(b, block_size);
	try_block(b, block_size);
	free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 0)
		(data[0] % 2 ? changed_block : any_block)(data + 1, size - 1);
	return 0;
}

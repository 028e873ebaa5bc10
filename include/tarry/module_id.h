/* SPDX-License-Identifier: MIT
 * Identity of an ELF file without a build-id: computed by the traced process
 * from memory and by the recorder from the file, so both must see the same
 * bytes.  FNV-1a (64 bit) over the raw program headers, then over the first
 * min(64, filesz) bytes of PT_GNU_EH_FRAME when there is one. */
#ifndef TARRY_MODULE_ID_H
#define TARRY_MODULE_ID_H

#include <stddef.h>
#include <stdint.h>
#include "tarry/event.h"

static inline uint64_t ty_fnv1a(uint64_t h, const void *p, size_t n)
{
	for (const uint8_t *b = p; n; n--)
		h = (h ^ *b++) * 0x100000001b3ULL;
	return h;
}

static inline void ty_module_hash(struct ty_module_id *id, const void *phdrs, size_t phdr_bytes,
				  const void *eh_frame_hdr, size_t eh_bytes)
{
	uint64_t h = ty_fnv1a(0xcbf29ce484222325ULL, phdrs, phdr_bytes);
	h = ty_fnv1a(h, eh_frame_hdr, eh_bytes < 64 ? eh_bytes : 64);
	id->kind = 2;
	id->len = 8;
	for (int i = 0; i < 8; i++)
		id->id[i] = (uint8_t)(h >> 8 * i);
}

#endif

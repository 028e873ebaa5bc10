/* SPDX-License-Identifier: MIT
 * Call paths checked against another unwinder, on stacks that the traced
 * process ships now and then (configuration key self_check). */
#ifndef TARRY_RECORDER_SELFCHECK_H
#define TARRY_RECORDER_SELFCHECK_H

#include "recorder/elf.h"

struct ty_selfcheck;

enum {
	TY_CHECK_AGREE,   /* same frames, or the same as far as the path or the snapshot goes */
	TY_CHECK_SHORTER, /* libunwind stopped first, what it saw was the same */
	TY_CHECK_DIFFER,
	TY_CHECK_SKIPPED, /* nothing beyond the first frame could be compared */
};

/* Returns 0 or -ENOMEM. */
int ty_selfcheck_new(struct ty_selfcheck **ret);
void ty_selfcheck_free(struct ty_selfcheck *c); /* NULL is allowed */

struct ty_mapping { /* e, mapped at [start, end) with load bias base */
	uint64_t start, end, base;
	struct ty_elf *e;   /* stays open until ty_selfcheck_free */
};

/* One stack: what was mapped, none over another; pc, sp, bp of the frame that the path begins with (struct
 * ty_rec_stack), stack is the n bytes from sp upwards, frames the path leaf
 * first as in struct ty_rec_path, path_flags its TY_F_* flags.  frames[0] is
 * pc; both are return addresses.  Returns a TY_CHECK_*. */
int ty_selfcheck_run(struct ty_selfcheck *c, const struct ty_mapping *map, size_t maps, uint64_t pc, uint64_t sp,
		     uint64_t bp, const void *stack, size_t n, const uint64_t *frames, size_t count,
		     uint16_t path_flags);

#endif

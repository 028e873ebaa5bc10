/* SPDX-License-Identifier: MIT
 * The functions that .eh_frame describes, checked before libdw runs them. */
#ifndef TARRY_RECORDER_CFI_H
#define TARRY_RECORDER_CFI_H

#include <stddef.h>
#include <stdint.h>

#include "recorder/elf.h"

struct ty_fde {
	uint64_t lo, hi; /* code addresses [lo, hi) */
	uint64_t work;   /* bytes that libdw executes to find a row of it */
};

struct ty_fdes {
	struct ty_fde *fde; /* sorted by address; owned, freed by ty_fdes_free */
	size_t count;
	uint32_t skipped; /* functions left out: damaged or in an unknown encoding */
};

/* All functions of .eh_frame with code inside [lo, hi).  Returns 1, 0 when the
 * file has no .eh_frame, -EINVAL when it is damaged as a whole, -ENOMEM.  *ret
 * is set on 1 only. */
int ty_fdes_list(struct ty_elf *e, uint64_t lo, uint64_t hi, struct ty_fdes *ret);
void ty_fdes_free(struct ty_fdes *f);

#endif

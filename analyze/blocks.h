/* SPDX-License-Identifier: MIT
 *
 * Requests in order of their ends, cut into blocks of equal numbers, and the
 * standard error of what is estimated once without each block (the jackknife,
 * docs/ARITHMETIC.md). */
#ifndef TY_BLOCKS_H
#define TY_BLOCKS_H

#include "analyze/ledger.h"

/* n: how many; 1 if there are too few requests for errors.  of: the block of each
 * row, which the caller frees.  widen: factor of an error, so that +- 1.96 of them
 * are a 95 % interval whatever n is. */
struct ty_blocks { uint32_t n; double widen; uint8_t *of; /* [rows] */ };

/* width: sums that the caller keeps in each block; there are fewer blocks where they
 * would take too much memory.  0, or -ENOMEM, after which b->of must be freed, too. */
int ty_blocks_make(struct ty_blocks *b, const struct ty_ledger *rows, size_t width);
/* Standard error from the estimates that each leave one block out, [b->n]; NAN if there is one block. */
double ty_blocks_error(const struct ty_blocks *b, const double *left_out);

#endif

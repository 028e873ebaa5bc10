/* SPDX-License-Identifier: MIT
 * Requests again, with sites put together. */
#ifndef TY_FOLD_H
#define TY_FOLD_H

#include "analyze/ledger.h"

/* Adds to to[i], for each of `maps` maps, the rows of `from` with each site replaced by map[i][site] < n,
 * times of equal ones added up. */
int ty_ledger_fold(struct ty_ledger *from, const uint32_t *const *map, unsigned maps, size_t n,
		   struct ty_ledger *to);

#endif

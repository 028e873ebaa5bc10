/* SPDX-License-Identifier: MIT
 *
 * The one definition of a quantile of samples: the smallest one with at least
 * the part q of all at or below it; no interpolation, so it is a value that
 * occurred (docs/ARITHMETIC.md). */
#ifndef TY_QUANTILE_H
#define TY_QUANTILE_H

#include <math.h>
#include <stddef.h>

/* Its index in n sorted samples; n > 0, q from 0 to 1.  q * n may have been
 * rounded up past a whole number, which must not cost a rank: hence the 1e-9. */
static inline size_t ty_quantile_at(size_t n, double q)
{
	double rank = ceil(q * (double)n - 1e-9);
	size_t i = rank < 1 ? 0 : (size_t)rank - 1;
	return i < n ? i : n - 1;
}

#endif

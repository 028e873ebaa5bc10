/* SPDX-License-Identifier: MIT
 * Sorting many 64-bit numbers, each with a number that goes with it. */
#ifndef TY_RADIX_H
#define TY_RADIX_H

#include <stddef.h>
#include <stdint.h>

/* Ascending by key, stable.  with may be NULL.  0 or -ENOMEM. */
int ty_radix_sort(uint64_t *key, uint32_t *with, size_t n);

#endif

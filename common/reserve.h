/* SPDX-License-Identifier: MIT
 *
 * Growing arrays: a pointer, a count and a capacity, all the caller's.  The
 * passes of analyze/ have TY_RESERVE (analyze/vec.h) instead, which zeroes new
 * room, grows by half and asks for huge pages. */
#ifndef TY_RESERVE_H
#define TY_RESERVE_H

#include <stddef.h>

/* Makes room for `need` items of `size` bytes in *array, a pointer from malloc or
 * NULL; *cap items fit before and after.  New room is not set.  0 or -ENOMEM, and
 * then the array is as it was. */
int ty_reserve(void *array, size_t *cap, size_t need, size_t size);

#endif

/* SPDX-License-Identifier: MIT
 * Growing arrays for the passes: a pointer, a count and a capacity that the
 * caller keeps. */
#ifndef TY_VEC_H
#define TY_VEC_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for at least `need` elements; new room is zeroed.  0 or -ENOMEM. */
static inline int ty_vec_reserve(void **v, size_t *cap, size_t need, size_t size, size_t first)
{
	if (need <= *cap)
		return 0;
	size_t n = *cap ? *cap : first;
	while (n < need)
		n += n / 2 + 1;
	void *p = reallocarray(*v, n, size);
	if (!p)
		return -ENOMEM;
	memset((char *)p + *cap * size, 0, (n - *cap) * size);
	*v = p;
	*cap = n;
	return 0;
}
#define TY_RESERVE(v, cap, need, first)                                                          \
	(__builtin_expect((need) <= (cap), 1) ? 0                                                \
	 : ty_vec_reserve((void **)&(v), &(cap), (need), sizeof *(v), (first)))

#endif

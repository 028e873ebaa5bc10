/* SPDX-License-Identifier: MIT
 * Growing arrays for the passes: a pointer, a count and a capacity that the
 * caller keeps. */
#ifndef TY_VEC_H
#define TY_VEC_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Large arrays are asked for in huge pages, where the system gives them on
 * request: a report touches each page of some 100 MB, most of it once, and a
 * fault for every 4 KiB was a quarter of its time.  Takes and returns the same
 * pointer; only advice, so its failure does not matter. */
static inline void *ty_vec_huge(void *p, size_t bytes)
{
	/* whole pages around it: a mapping in two parts could not be grown in place */
	const uintptr_t page = 4096, from = (uintptr_t)p & ~(page - 1);
	if (p && bytes >= (size_t)4 << 20)
		madvise((void *)from, ((uintptr_t)p + bytes - from + page - 1) & ~(page - 1), MADV_HUGEPAGE);
	return p;
}

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
	ty_vec_huge(p, n * size);
	memset((char *)p + *cap * size, 0, (n - *cap) * size);
	*v = p;
	*cap = n;
	return 0;
}
#define TY_RESERVE(v, cap, need, first)                                                          \
	(__builtin_expect((need) <= (cap), 1) ? 0                                                \
	 : ty_vec_reserve((void **)&(v), &(cap), (need), sizeof *(v), (first)))

#endif

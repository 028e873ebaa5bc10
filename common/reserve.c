/* SPDX-License-Identifier: MIT
 *
 * Growing arrays of the recorder, the store and experiments; see reserve.h.
 * Must stay true: they grow at least twofold, so that adding one by one is cheap. */
#include "common/reserve.h"

#include <errno.h>
#include <stdlib.h>

int ty_reserve(void *array, size_t *cap, size_t need, size_t size)
{
	if (need <= *cap)
		return 0;
	size_t n = *cap ? *cap * 2 : 16;
	if (n < need)
		n = need;
	void **p = array, *q = reallocarray(*p, n, size);
	if (!q)
		return -ENOMEM;
	*p = q;
	*cap = n;
	return 0;
}

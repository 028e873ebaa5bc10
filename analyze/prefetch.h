/* SPDX-License-Identifier: MIT
 *
 * Asks for memory that will be written soon, so that it is near by then.
 * __builtin_prefetch() alone is not enough: gcc takes a function that does
 * nothing else for one without effects and drops its calls. */
#ifndef TY_PREFETCH_H
#define TY_PREFETCH_H

static inline void ty_prefetch(const void *p)
{
	__builtin_prefetch(p, 1);
	__asm__ volatile("");
}

#endif

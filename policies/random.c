/* SPDX-License-Identifier: MIT
 * random: anyone, with equal chances, by a seeded generator (xorshift64*, of
 * which the upper half is used).  Runs in the traced process. */
#include "policies/order.h"

static uint32_t below(uint64_t *state, uint32_t n)
{
	uint64_t x = *state;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return (uint32_t)(((x * 0x2545f4914f6cdd1dULL) >> 32) * n >> 32);
}

struct ty_waiter *ty_pick_random(struct ty_waiter *first, const struct ty_pick *p)
{
	uint32_t n = 0;
	for (struct ty_waiter *w = first; w; w = w->peer)
		n++;
	struct ty_waiter *w = first;
	for (n = below(p->random, n); n; n--)
		w = w->peer;
	return w;
}

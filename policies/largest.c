/* SPDX-License-Identifier: MIT
 * largest: behind whom most wait, of these the eldest, of those who has waited
 * longest.  Runs in the traced process. */
#include "policies/order.h"

struct ty_waiter *ty_pick_largest(struct ty_waiter *first, const struct ty_pick *p)
{
	struct ty_waiter *best = first;
	uint32_t most = ty_queue_weight(first->tid);
	(void)p;
	for (struct ty_waiter *w = first->peer; w; w = w->peer) {
		uint32_t n = ty_queue_weight(w->tid);
		if (n > most || (n == most && ty_elder(w, best))) {
			best = w;
			most = n;
		}
	}
	return best;
}

/* SPDX-License-Identifier: MIT
 * youngest: whose request is youngest in the system; of equal ones who has waited
 * longest, and those of unknown age last.  Runs in the traced process. */
#include "policies/order.h"

struct ty_waiter *ty_pick_youngest(struct ty_waiter *first, const struct ty_pick *p)
{
	struct ty_waiter *best = first;
	(void)p;
	for (struct ty_waiter *w = first->peer; w; w = w->peer)
		if (w->age > best->age)
			best = w;
	return best;
}

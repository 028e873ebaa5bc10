/* SPDX-License-Identifier: MIT
 * eldest: whose request is oldest in the system (VATS); of equal ones, and of
 * those of unknown age, who has waited longest.  Runs in the traced process. */
#include "policies/order.h"

struct ty_waiter *ty_pick_eldest(struct ty_waiter *first, const struct ty_pick *p)
{
	struct ty_waiter *best = first;
	(void)p;
	for (struct ty_waiter *w = first->peer; w; w = w->peer)
		if (ty_elder(w, best))
			best = w;
	return best;
}

/* SPDX-License-Identifier: MIT
 * fcfs: who has waited longest.  Runs in the traced process. */
#include "policies/order.h"

struct ty_waiter *ty_pick_fcfs(struct ty_waiter *first, const struct ty_pick *p)
{
	(void)p;
	return first;
}

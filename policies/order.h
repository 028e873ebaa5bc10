/* SPDX-License-Identifier: MIT
 *
 * An order: whom of the waiters of one object to grant next.  A new one is a
 * row of include/tarry/orders.def and a file with its pick; nothing else.
 * Runs in the traced process, under the lock of the object's bucket with all
 * signals blocked: no call into libc, no clock.  Ages are times of birth, so that
 * they compare without one. */
#ifndef TY_ORDER_H
#define TY_ORDER_H

#include "policies/queue.h"

#pragma GCC visibility push(hidden)

struct ty_pick {
	uint64_t *random;  /* state of the rule's generator, never 0 */
};
/* first: the object's waiters that may be granted, in the order of their arrival,
 * linked by `peer`; at least one.  Returns one of them. */
typedef struct ty_waiter *ty_pick_fn(struct ty_waiter *first, const struct ty_pick *p);

#define TY_ORDER(name, what) ty_pick_fn ty_pick_##name;
#include "tarry/orders.def"
extern ty_pick_fn *const ty_picks[TY_ORDER_COUNT]; /* native: NULL */

/* Is a's request older than b's?  One of unknown age is younger than any. */
static inline bool ty_elder(const struct ty_waiter *a, const struct ty_waiter *b)
{
	return a->age && (!b->age || a->age < b->age);
}

#pragma GCC visibility pop
#endif

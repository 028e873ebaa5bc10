/* SPDX-License-Identifier: MIT
 *
 * Whether an order is worth it for an object: below the threshold theta, a share
 * of grants that found two or more waiting, its waits are left to libc.  Runs in
 * the traced process.
 *
 * A fixed theta is looked at object by object: WINDOW grants in order show the
 * share; if that is too small, the next RUN waits are native, and then it is
 * measured again.  `auto` tries several thetas, one for an epoch of a rule's
 * waits, and keeps the one under which the waits varied least. */
#ifndef TY_THRESHOLD_H
#define TY_THRESHOLD_H

#include <stdbool.h>
#include "preload/rules.h"
#include "tarry/order.h"

#pragma GCC visibility push(hidden)

#define TY_THETA_WINDOW 64u  /* grants that show the share of choices */
#define TY_THETA_RUN 448u    /* waits left to libc before it is measured again */
#define TY_THETA_EPOCH 256u  /* waits of a rule under one theta */
#define TY_THETA_EXPLORE 8u  /* one epoch in so many tries another than the best */
#define TY_THETA_ALL 1001u   /* above each share: native but for measuring */

/* The theta in force for a rule: as configured, or the one that is tried now. */
uint32_t ty_threshold_theta(uint32_t rule, uint32_t configured);
/* Is the present wait for this object left to libc? */
bool ty_threshold_native(struct ty_order_stat *s, uint32_t theta);
/* A wait of a rule with `auto` has ended, ordered or native. */
void ty_threshold_waited(uint32_t rule, uint64_t ns);

#pragma GCC visibility pop

#endif

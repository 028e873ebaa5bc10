/* SPDX-License-Identifier: MIT
 * The age of what a thread works on: when its request came into the system
 * (CLOCK_MONOTONIC ns), so that the eldest can be told.  Runs in the traced
 * process; nothing here locks or waits. */
#ifndef TY_AGE_H
#define TY_AGE_H

#include <stdbool.h>
#include "preload/state.h"
#include "tarry/order.h"

#pragma GCC visibility push(hidden)

/* Of the calling thread; 0: it works on nothing known. */
uint64_t ty_age(void);
/* The same, of a thread that waits at a condition variable or wakes others there.
 * Where it was handed its age, it has done that work if it waits again; and if it
 * wakes the next, what goes round there is a lock and not work.  Either way the
 * age ends, or old ones would go round for ever. */
uint64_t ty_age_at(const void *object);
/* It was woken, waiting for object, by a thread that worked on something of that
 * age: a hand-over.  Counts only if the thread has no request of its own that is
 * still to be answered, nor one that it was handed at another object. */
void ty_age_given(const void *object, uint64_t age);
/* It begins to wait where a request ends, and has left that wait. */
void ty_age_idle(void);
void ty_age_busy(void);
/* Markers of the application, from preload/mark.c; what: enum ty_mark. */
void ty_age_mark(int what, uint64_t id);

/* What happened to a descriptor: from age_calls.c. */
void ty_age_received(int fd, bool accepted);
void ty_age_sent(int fd);
void ty_age_opened(int fd, int copy_of); /* copy_of < 0: a new connection */

/* Called by ty_orders_start after everything else: if an order of these rules
 * uses ages, they are kept from now on. */
void ty_age_start(const struct ty_order_conf *conf);
/* Puts the calls that ages by descriptor come from into ty_grant, on top of what
 * is there already. */
void ty_age_calls_start(void);

#pragma GCC visibility pop
#endif

/* SPDX-License-Identifier: MIT
 * Orders of waiters as a store tells of them (recorder/orders_meta.c writes it). */
#ifndef TY_ANALYZE_ORDERS_H
#define TY_ANALYZE_ORDERS_H

#include <jansson.h>
#include "analyze/run.h"

/* The store's object, or NULL: waiters were granted by libc alone. */
json_t *ty_orders_state(const struct run *r);
/* A line for the head of what is printed of a recording under orders, so that it is
 * never taken for one of the program as it is; nothing for other recordings. */
void ty_orders_show(const struct run *r);
/* When they were in force: "; native from 1.2 s, ordered from 3 s", "" if always. */
const char *ty_orders_times(json_t *state, char *buf, size_t size);

#endif

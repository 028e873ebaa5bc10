/* SPDX-License-Identifier: MIT
 * Condition variables under an order.  Runs in the traced process. */
#ifndef TY_COND_H
#define TY_COND_H

#pragma GCC visibility push(hidden)

/* Constructor, after the gates: puts waits, signals and broadcasts into ty_grant, if a
 * rule names any of those waits; with gates the waits at least, which let mutexes go. */
void ty_cond_install(void);
/* The thread lets go of the mutex of a wait that looked for itself
 * (ty_order_tls.mutex), so it has found something: it had been missed. */
void ty_cond_was_missed(void);

#pragma GCC visibility pop
#endif

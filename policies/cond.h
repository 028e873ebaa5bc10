/* SPDX-License-Identifier: MIT
 * Condition variables under an order.  Runs in the traced process. */
#ifndef TY_COND_H
#define TY_COND_H

#pragma GCC visibility push(hidden)

/* Constructor: puts waits, signals and broadcasts into ty_grant, if a rule names
 * any of those waits. */
void ty_cond_install(void);

#pragma GCC visibility pop
#endif

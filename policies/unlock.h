/* SPDX-License-Identifier: MIT
 * What an order does when a mutex is let go.  Runs in the traced process. */
#ifndef TY_UNLOCK_H
#define TY_UNLOCK_H

#include "preload/rules.h"

#pragma GCC visibility push(hidden)

/* As pthread_mutex_unlock; then the first before its gate comes to it. */
int ty_unlock(pthread_mutex_t *m);
/* Before a call in which libc lets the mutex go by itself. */
void ty_unlock_inside(const pthread_mutex_t *m);
/* Constructor: puts the functions that unlock into ty_grant. */
void ty_unlock_install(void);

#pragma GCC visibility pop
#endif

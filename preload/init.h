/* SPDX-License-Identifier: MIT
 * Start of a plain preload: the constructor's other half. */
#ifndef TY_INIT_H
#define TY_INIT_H

#include "preload/state.h"

/* store NULL or empty: nothing to do.  Starts a recorder that is no child of
 * this process, waits at most 2 s for its answer, adds TARRY_ARENA to the
 * environment and returns its value; NULL: stay off.  No descriptor is left. */
const char *ty_start_recorder(const char *store, const char *config);

#endif

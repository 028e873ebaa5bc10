/* SPDX-License-Identifier: MIT
 * Which order the present wait has.  Runs in the traced process. */
#ifndef TY_SELECT_H
#define TY_SELECT_H

#include "policies/queue.h"

#define TY_NO_RULE TY_RULES
/* The first rule that matches the calling thread's wait `op` for object; or
 * TY_NO_RULE: leave it to libc.  Also when `tarry ctl STORE native` was said.
 * The path is the one the wrapper has just published (ty_tls.t->wait_path); a
 * call that is not recorded has none.  idle: whether the wait is an idle site. */
uint32_t ty_select(enum ty_op op, const void *object, bool *idle);

#endif

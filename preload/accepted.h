/* SPDX-License-Identifier: MIT
 * Which descriptors are accepted connections. */
#ifndef TY_ACCEPTED_H
#define TY_ACCEPTED_H

#include "preload/state.h"

#pragma GCC visibility push(hidden)
/* Constructor: may this process make a system call that its program did not ask for? */
void ty_accepted_start(void);
extern uint32_t ty_may_call; /* constant after the constructor */

/* Costs a system call.  Always 0 without ty_may_call: then nobody knows. */
int ty_in_vfork_child(void);

int ty_accepted(int fd);
/* Before a close: the number may be taken again at once.  True: a vfork child
 * closes its own descriptor, the parent, whose memory this is, still has it. */
int ty_accepted_closing(uint64_t object);
/* After a call that made descriptor `result`.  True: a vfork child made it. */
int ty_accepted_opened(unsigned cls, uint64_t object, uint64_t result);
#pragma GCC visibility pop

#endif

/* SPDX-License-Identifier: MIT
 * Call paths by unwind rows, and the modules they come from. */
#ifndef TY_PATH_H
#define TY_PATH_H

#include "preload/state.h"
#include "tarry/rows.h"

/* Walks from f and returns the path id (bit 63 set); *flags gets TY_F_PARTIAL
 * bits.  The frames are sent once, by the first thread that meets the path.
 * final 0: another walk follows after the call, so a path that misses rows is
 * not sent; the caller's address is returned instead. */
uint64_t ty_path_take(struct ty_thread *t, struct ty_frame_ref f, uint16_t *flags, int final);

enum ty_rows_state {
	TY_ROWS_READY,
	TY_ROWS_NEVER,   /* no module (JIT), or one without unwind tables */
	TY_ROWS_PENDING, /* the recorder has been asked */
	TY_ROWS_NEW,     /* a module that has not been announced */
};
/* The rule of an address.  0: there is none yet or never, *st says which. */
int ty_module_rule(uint64_t address, uint32_t *rule, enum ty_rows_state *st);
/* Asks the recorder for the module at address; false: not now. */
int ty_module_announce(struct ty_thread *t, uint64_t address);
/* Constructor: all modules mapped now; they are assumed to stay. */
void ty_module_startup(struct ty_thread *t);
int ty_module_pending(void); /* startup modules whose rows are not known yet */
uint64_t ty_module_gen(void);
/* Around a real dlclose: what is looked up from now on is a new generation.
 * t NULL: recording is off. */
void ty_module_close_begin(struct ty_thread *t);
void ty_module_close_end(void);
/* In a child: what other threads of the parent were doing to the list is not
 * going on here. */
void ty_module_forked(void);

#endif

/* SPDX-License-Identifier: MIT
 * One wait from begin to end.  struct ty_wait lives in the wrapper's frame. */
#ifndef TY_WAIT_H
#define TY_WAIT_H

#include "preload/state.h"

struct ty_wait {
	struct ty_thread *t;
	uint64_t begin, object, path, aux;
	uint32_t waited; /* key in the waited-for table */
	uint16_t op, flags;
	struct ty_frame_ref frame;
};

/* Lock-like: takes the path, says who waits for what, reads the clock.
 * `frame` is the wrapper's; the guard is set until the end. */
void ty_wait_begin(struct ty_wait *w, struct ty_thread *t, enum ty_op op, uint64_t object, uint64_t aux,
		   unsigned flags, struct ty_frame_ref frame);
/* err: the outcome as an errno value, 0 for success.  Keeps errno. */
void ty_wait_end(struct ty_wait *w, int err);

/* IO: path afterwards, if the call took long enough.  result as returned;
 * on failure (< 0) errno says why. */
void ty_io_begin(struct ty_wait *w, struct ty_thread *t, enum ty_op op, uint64_t object, struct ty_frame_ref frame);
void ty_io_end(struct ty_wait *w, int64_t result);
/* The same for calls that return the error (clock_nanosleep, sigwait). */
void ty_io_end_err(struct ty_wait *w, int err);

/* Somebody waits for object: who wakes it, from where.  when: clock before the
 * waking call; call it after that call, with values taken before. */
void ty_wake(struct ty_thread *t, enum ty_op op, uint64_t object, uint64_t aux, unsigned flags, uint64_t when,
	     struct ty_frame_ref frame);
/* The same from inside a wait that has begun and has not blocked yet: its
 * path serves for both. */
void ty_wait_wakes(const struct ty_wait *w, uint64_t object, unsigned flags);
static inline int ty_somebody_waits(uint64_t object, int shared)
{
	return atomic_load_explicit(&ty_proc.arena->waited[ty_waited_key(object, shared)], memory_order_relaxed) != 0;
}
static inline int ty_records(int cls)
{
	return ty_proc.class_mask >> cls & 1;
}

#endif

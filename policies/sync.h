/* SPDX-License-Identifier: MIT
 * What becomes of fsync and fdatasync (docs/SYNC.md): coalesce.c, lazy_flush.c.
 * Only these two functions are looked at: a raw system call, msync, syncfs and
 * io_uring flush as ever, and so does every call for which nothing can be said,
 * since a real flush is always right. */
#ifndef TY_SYNC_H
#define TY_SYNC_H

#include <stdbool.h>
#include "preload/grant.h"
#include "tarry/order.h"

#pragma GCC visibility push(hidden)

enum ty_flush { TY_FSYNC, TY_FDATASYNC, TY_FLUSHES };
#define TY_SYNC_FDS 4096 /* larger numbers are left alone */

/* The functions that stood in ty_grant before. */
extern struct ty_real ty_sync_below;
#define TY_SYNC_TAKE(name, mine) (ty_sync_below.name = ty_grant.name, TY_PUT(ty_grant, name, mine))

/* The real flush of that kind. */
int ty_sync_flush(enum ty_flush kind, int fd);
/* May a policy act on this descriptor, here and now? */
bool ty_sync_acts(int fd);

/* One more of what `tarry info` counts of flushes; relaxed, see include/tarry/order.h. */
static inline void ty_sync_count(_Atomic uint64_t *n)
{
	atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

/* Between them the calling thread is as in the kernel's own flush: no handler runs
 * on it, so none can leave by longjmp, and no cancel takes it away. */
struct ty_sync_held {
	uint64_t mask;
	int cancel;
};
struct ty_sync_held ty_sync_hold(void);
void ty_sync_let_go(struct ty_sync_held h);

/* From ty_orders_start, once, before the functions of age.h. */
void ty_sync_start(const struct ty_order_conf *c);
void ty_coalesce_start(void);
void ty_lazy_flush_start(uint64_t interval_ns);

#pragma GCC visibility pop

#endif

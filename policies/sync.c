/* SPDX-License-Identifier: MIT
 * Which policy flushes have, and when it has to stand back.  Runs in the traced
 * process. */
#include "policies/sync.h"
#include "policies/queue.h"
#include "preload/accepted.h"

struct ty_real ty_sync_below;

int ty_sync_flush(enum ty_flush kind, int fd)
{
	return kind == TY_FSYNC ? ty_sync_below.fsync(fd) : ty_sync_below.fdatasync(fd);
}

/* Not in a vfork child, whose descriptors are not those of the process that it
 * shares its memory with, and which may be gone in the next instant; nor where
 * the calls that this takes may be forbidden. */
bool ty_sync_acts(int fd)
{
	return fd >= 0 && fd < TY_SYNC_FDS && ty_self.arena && ty_may_call && !ty_queue_sandboxed() &&
	       !atomic_load_explicit(&ty_head.orders_native, memory_order_relaxed) && !ty_in_vfork_child();
}

struct ty_sync_held ty_sync_hold(void)
{
	struct ty_sync_held h;
	h.mask = ty_queue_mask(UINT64_MAX);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &h.cancel);
	return h;
}

/* Signals last: a handler may leave for good. */
void ty_sync_let_go(struct ty_sync_held h)
{
	pthread_setcancelstate(h.cancel, NULL);
	ty_queue_mask(h.mask);
}

void ty_sync_start(const struct ty_order_conf *c)
{
	if (c->sync == TY_SYNC_COALESCE)
		ty_coalesce_start();
	else if (c->sync == TY_SYNC_LAZY_FLUSH)
		ty_lazy_flush_start(c->sync_ns);
}

/* SPDX-License-Identifier: MIT
 *
 * Not durable.  fsync and fdatasync return 0 at once, which promises a flush;
 * it is made by the first of these calls that comes when the promise is older
 * than the interval:
 *   fsync, fdatasync on the same descriptor number: by the caller, who gets the
 *     flush's result;
 *   a write to it: after the write; an error is what the next flush returns;
 *   close, or dup2 and dup3 onto it: before it, whatever the promise's age.
 * No thread is started and no signal is used, so a program that calls none of
 * these has its promises kept by the kernel's own write-back only, and so has
 * one that ends or execs.  What can be lost is said in docs/SYNC.md.
 *
 * Runs in the traced process. */
#include "policies/queue.h"
#include "policies/sync.h"

static struct promise {
	_Atomic uint64_t since; /* CLOCK_MONOTONIC ns; 0: none.  CAS acq_rel: who takes it off flushes */
	_Atomic int failed;     /* errno of a flush after a write.  Relaxed: the number is all */
} promises[TY_FLUSHES][TY_SYNC_FDS];

static uint64_t interval;

/* Is the promise to be kept now, and by the caller? */
static bool take(struct promise *p, uint64_t age)
{
	uint64_t since = atomic_load_explicit(&p->since, memory_order_acquire);
	return since && ty_now() - since >= age &&
	       atomic_compare_exchange_strong_explicit(&p->since, &since, 0, memory_order_acq_rel, memory_order_relaxed);
}

/* 0 or an errno that says data was lost; errno is kept.  Another error says that
 * the number is by now something that takes no flush: it was closed unseen.  No
 * cancellation point: what the caller asked for is done. */
static int flush_for_others(enum ty_flush kind, int fd)
{
	int before = errno;
	struct ty_sync_held held = ty_sync_hold();
	int error = ty_sync_flush(kind, fd) ? errno : 0;
	ty_sync_count(&ty_orders->sync_done);
	ty_sync_let_go(held);
	errno = before;
	return error == EIO || error == ENOSPC || error == EDQUOT ? error : 0;
}

/* A promise for what no flush takes (a pipe, a closed number) would be a lie of
 * another kind.  With no flags the call only looks. */
static bool can_flush(int fd)
{
	int before = errno;
	bool can = ty_sync_below.sync_file_range(fd, 0, 0, 0) == 0;
	errno = before;
	return can;
}

static int lazy(enum ty_flush kind, int fd)
{
	if (!ty_sync_acts(fd) || !can_flush(fd))
		return ty_sync_flush(kind, fd);
	struct promise *p = &promises[kind][fd];
	ty_sync_count(&ty_orders->sync_calls);
	int failed = atomic_exchange_explicit(&p->failed, 0, memory_order_relaxed);
	if (failed) {
		errno = failed;
		return -1;
	}
	if (take(p, interval)) {
		ty_sync_count(&ty_orders->sync_done);
		return ty_sync_flush(kind, fd);
	}
	uint64_t none = 0;
	atomic_compare_exchange_strong_explicit(&p->since, &none, ty_now(), memory_order_acq_rel, memory_order_relaxed);
	ty_sync_count(&ty_orders->sync_lazy);
	return 0;
}

static int lazy_fsync(int fd)
{
	return lazy(TY_FSYNC, fd);
}

static int lazy_fdatasync(int fd)
{
	return lazy(TY_FDATASYNC, fd);
}

static bool promised(enum ty_flush kind, int fd)
{
	return fd >= 0 && fd < TY_SYNC_FDS && atomic_load_explicit(&promises[kind][fd].since, memory_order_relaxed);
}

static void after_write(int fd)
{
	for (enum ty_flush kind = 0; kind < TY_FLUSHES; kind++) {
		int error;
		if (promised(kind, fd) && ty_sync_acts(fd) && take(&promises[kind][fd], interval) &&
		    (error = flush_for_others(kind, fd)))
			atomic_store_explicit(&promises[kind][fd].failed, error, memory_order_relaxed);
	}
}

/* 0 or errno of the flush. */
static int before_close(int fd)
{
	int error = 0;
	for (enum ty_flush kind = 0; kind < TY_FLUSHES; kind++) {
		if (!promised(kind, fd) || !ty_sync_acts(fd) || !take(&promises[kind][fd], 0))
			continue;
		int failed = flush_for_others(kind, fd);
		error = failed ? failed : error;
	}
	return error;
}

static int closed(int result, int error)
{
	if (result || !error)
		return result;
	errno = error; /* as close itself may say EIO, and has closed all the same */
	return -1;
}

#define WRITES(name, params, args)                                                                \
	static ssize_t lazy_##name params                                                         \
	{                                                                                         \
		ssize_t r = ty_sync_below.name args;                                              \
		after_write(fd);                                                                  \
		return r;                                                                         \
	}
WRITES(write, (int fd, const void *b, size_t n), (fd, b, n))
WRITES(__write, (int fd, const void *b, size_t n), (fd, b, n))
WRITES(pwrite, (int fd, const void *b, size_t n, __off_t o), (fd, b, n, o))
WRITES(pwrite64, (int fd, const void *b, size_t n, __off64_t o), (fd, b, n, o))
WRITES(__pwrite64, (int fd, const void *b, size_t n, __off64_t o), (fd, b, n, o))
WRITES(writev, (int fd, const struct iovec *v, int n), (fd, v, n))
WRITES(pwritev, (int fd, const struct iovec *v, int n, __off_t o), (fd, v, n, o))
WRITES(pwritev64, (int fd, const struct iovec *v, int n, __off64_t o), (fd, v, n, o))
WRITES(pwritev2, (int fd, const struct iovec *v, int n, __off_t o, int f), (fd, v, n, o, f))
WRITES(pwritev64v2, (int fd, const struct iovec *v, int n, __off64_t o, int f), (fd, v, n, o, f))

static int lazy_close(int fd)
{
	int error = before_close(fd);
	return closed(ty_sync_below.close(fd), error);
}

static int lazy___close(int fd)
{
	int error = before_close(fd);
	return closed(ty_sync_below.__close(fd), error);
}

#define REPLACES(name, params, args)                                                              \
	static int lazy_##name params                                                             \
	{                                                                                         \
		if (fd != to)                                                                     \
			before_close(to); /* dup2 has no way to say it */                         \
		return ty_sync_below.name args;                                                   \
	}
REPLACES(dup2, (int fd, int to), (fd, to))
REPLACES(__dup2, (int fd, int to), (fd, to))
REPLACES(dup3, (int fd, int to, int f), (fd, to, f))

void ty_lazy_flush_start(uint64_t interval_ns)
{
	interval = interval_ns;
	ty_sync_below.sync_file_range = ty_grant.sync_file_range;
	TY_SYNC_TAKE(fsync, lazy_fsync);
	TY_SYNC_TAKE(fdatasync, lazy_fdatasync);
	TY_SYNC_TAKE(write, lazy_write);
	TY_SYNC_TAKE(__write, lazy___write);
	TY_SYNC_TAKE(pwrite, lazy_pwrite);
	TY_SYNC_TAKE(pwrite64, lazy_pwrite64);
	TY_SYNC_TAKE(__pwrite64, lazy___pwrite64);
	TY_SYNC_TAKE(writev, lazy_writev);
	TY_SYNC_TAKE(pwritev, lazy_pwritev);
	TY_SYNC_TAKE(pwritev64, lazy_pwritev64);
	TY_SYNC_TAKE(pwritev2, lazy_pwritev2);
	TY_SYNC_TAKE(pwritev64v2, lazy_pwritev64v2);
	TY_SYNC_TAKE(close, lazy_close);
	TY_SYNC_TAKE(__close, lazy___close);
	TY_SYNC_TAKE(dup2, lazy_dup2);
	TY_SYNC_TAKE(__dup2, lazy___dup2);
	TY_SYNC_TAKE(dup3, lazy_dup3);
}

/* SPDX-License-Identifier: MIT
 * Which descriptors are accepted connections: one bit each, set by accept,
 * copied by dup and fork, cleared by close, also when those calls are passed
 * by.  Runs in the traced process.  Larger numbers are not followed.
 *
 * All relaxed: the program itself hands a descriptor from one thread to
 * another, and that orders the bits, too.
 *
 * A vfork child has its parent's memory but descriptors of its own.  Only its
 * pid tells it apart; it is asked for where an accepted connection is closed or
 * copied, and never in a process that started under seccomp. */
#include "preload/accepted.h"
#include "tarry/event.h"

#include <sys/prctl.h>

#define FDS 65536u
static _Atomic uint64_t accepted[FDS / 64];
uint32_t ty_may_call;

void ty_accepted_start(void)
{
	ty_may_call = prctl(PR_GET_SECCOMP) == 0;
}

int ty_in_vfork_child(void)
{
	int saved = errno;
	/* a child by fork that is not registered yet has a copy of its own */
	long pid = ty_self.arena && ty_may_call ? ty_real.syscall(SYS_getpid) : -1;
	errno = saved;
	return pid > 0 && (uint32_t)pid != ty_proc.pid;
}

/* Is any of [first, last] set?  Not afterwards, if they are to be cleared. */
static int look(uint64_t first, uint64_t last, int clear)
{
	uint64_t any = 0;
	for (uint64_t i = first / 64; i < FDS / 64 && i <= last / 64; i++) {
		uint64_t mask = UINT64_MAX;
		if (i == first / 64)
			mask &= UINT64_MAX << first % 64;
		if (i == last / 64)
			mask &= UINT64_MAX >> (63 - last % 64);
		uint64_t set = atomic_load_explicit(&accepted[i], memory_order_relaxed) & mask;
		if (set && clear)
			atomic_fetch_and_explicit(&accepted[i], ~mask, memory_order_relaxed);
		any |= set;
	}
	return any != 0;
}

int ty_accepted(int fd)
{
	return fd >= 0 && look((uint64_t)fd, (uint64_t)fd, 0);
}

int ty_accepted_closing(uint64_t object)
{
	uint64_t first = object, last = object;
	if (object >> 62 == 2) { /* TY_FD_RANGE; a negative number has all upper bits set */
		first = object >> 31 & UINT32_MAX;
		last = object & 0x7fffffff;
	}
	if (first > last || !look(first, last, 0))
		return 0;
	if (ty_in_vfork_child())
		return 1;
	look(first, last, 1);
	return 0;
}

int ty_accepted_opened(unsigned cls, uint64_t object, uint64_t result)
{
	int is = cls == TY_CLASS_ACCEPT || look(object, object, 0);
	if (result >= FDS || (cls == TY_CLASS_DUP && object == result) || (!is && !look(result, result, 0)))
		return 0;
	if (cls != TY_CLASS_ACCEPT && ty_in_vfork_child()) /* none accepts before it execs */
		return 1;
	if (is)
		atomic_fetch_or_explicit(&accepted[result / 64], 1ull << result % 64, memory_order_relaxed);
	else
		look(result, result, 1);
	return 0;
}

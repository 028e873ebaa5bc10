/* SPDX-License-Identifier: MIT
 * Irregular wrappers: raw system calls, fcntl, and what returns nothing.  Runs
 * in the traced process. */
#include "preload/accepted.h"
#include "preload/grant.h"
#include "preload/object.h"
#include "preload/path.h"
#include "preload/wait.h"
#include "policies/queue.h"

#include <linux/futex.h>
#include <stdarg.h>
#include <sys/prctl.h>

#define INLINE __attribute__((always_inline)) static inline

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

/* ---- syscall() ----
 * All seven words go through, whatever the number: a lost sixth argument turns
 * a futex wait into a spin.  Declared under another name because the header's
 * prototype is variadic. */
TY_EXPORT long ty_syscall(long n, long a, long b, long c, long d, long e, long f) __asm__("syscall");

#define FORWARD() TY_GRANT(syscall)(n, a, b, c, d, e, f)

/* What a raw call is, as an op: a wait, a wake, an IO call, or none of ours. */
enum kind { OTHER, LOCKLIKE, WAKES, IO_CALL };
INLINE enum kind classify(long n, long futex_op, enum ty_op *op)
{
	switch (n) {
	case SYS_futex:
		switch (futex_op & FUTEX_CMD_MASK) {
		case FUTEX_WAIT:
		case FUTEX_WAIT_BITSET:
			*op = TY_OP_futex_wait;
			return LOCKLIKE;
		case FUTEX_LOCK_PI:
		case FUTEX_LOCK_PI2:
		case FUTEX_WAIT_REQUEUE_PI:
			*op = TY_OP_futex_lock;
			return LOCKLIKE;
		case FUTEX_WAKE:
		case FUTEX_WAKE_BITSET:
		case FUTEX_WAKE_OP:
		case FUTEX_REQUEUE:
		case FUTEX_CMP_REQUEUE:
		case FUTEX_CMP_REQUEUE_PI:
		case FUTEX_UNLOCK_PI:
			*op = TY_OP_futex_wake;
			return WAKES;
		}
		return OTHER;
	case SYS_fdatasync:
		*op = TY_OP_sys_fdatasync;
		return IO_CALL;
	case SYS_fsync:
	case SYS_msync:
	case SYS_syncfs:
	case SYS_sync_file_range:
		*op = TY_OP_sys_fsync;
		return IO_CALL;
#ifdef SYS_io_uring_enter
	case SYS_io_uring_enter:
		*op = TY_OP_sys_io_uring_enter;
		return IO_CALL;
#endif
	}
	return OTHER;
}

long ty_syscall(long n, long a, long b, long c, long d, long e, long f)
{
	enum ty_op op = TY_OP_syscall;
	enum kind kind = classify(n, b, &op);
	if (TY_UNLIKELY(n == SYS_seccomp || (n == SYS_prctl && a == PR_SET_SECCOMP)))
		ty_queue_sandbox();
	struct ty_thread *t = ty_enter();
	if (!t)
		return FORWARD();
	unsigned flags = b & FUTEX_PRIVATE_FLAG ? 0 : TY_F_SHARED;
	struct ty_wait w;
	long r;
	switch (kind) {
	case LOCKLIKE:
		ty_wait_begin(&w, t, op, (uint64_t)a, (uint64_t)b << 32 | (uint32_t)c, flags, TY_FRAME_REF);
		r = FORWARD();
		ty_wait_end(&w, r < 0 ? errno : 0);
		return r;
	case IO_CALL:
		ty_io_begin(&w, t, op, n == SYS_msync ? (uint64_t)a : (uint64_t)(int64_t)(int)a, TY_FRAME_REF);
		r = FORWARD();
		ty_io_end(&w, r);
		return r;
	case WAKES:
		if (ty_somebody_waits((uint64_t)a, flags != 0)) {
			uint64_t when = ty_now();
			r = FORWARD();
			ty_wake(t, op, (uint64_t)a, (uint32_t)c, flags, when, TY_FRAME_REF);
			return r;
		}
		break;
	case OTHER:
		break;
	}
	ty_count(t, op);
	return FORWARD();
}

/* ---- sandboxes ----
 * A process that is about to say which system calls it may make. */
TY_EXPORT int ty_prctl(int option, long a, long b, long c, long d) __asm__("prctl");

int ty_prctl(int option, long a, long b, long c, long d)
{
	struct ty_thread *t = ty_enter();
	if (t)
		ty_count(t, TY_OP_prctl);
	if (option == PR_SET_SECCOMP)
		ty_queue_sandbox();
	return TY_GRANT(prctl)(option, a, b, c, d);
}

/* ---- fcntl ----
 * The third argument is forwarded as a word whether there is one or not, as
 * libc's own does. */
INLINE long fcntl_recorded(int fd, int cmd, void *arg, enum ty_op op, int (*real)(int, int, ...))
{
	struct ty_thread *t;
	switch (cmd) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		op = TY_OP_fcntl_dupfd;
		break;
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		break;
	default:
		if ((t = ty_enter()))
			ty_count(t, op);
		return real(fd, cmd, arg);
	}
	if (!(t = ty_enter())) {
		long made = real(fd, cmd, arg);
		if (made >= 0 && op == TY_OP_fcntl_dupfd)
			ty_accepted_closing((uint64_t)made); /* of what was passed by nothing is known */
		return made;
	}
	struct ty_wait w;
	ty_io_begin(&w, t, op, TY_OBJ(fd), TY_FRAME_REF);
	int r = real(fd, cmd, arg);
	ty_io_end(&w, r);
	return r;
}

#define FCNTL(name)                                                                               \
	TY_EXPORT int name(int fd, int cmd, ...);                                                 \
	TY_EXPORT int name(int fd, int cmd, ...)                                                  \
	{                                                                                         \
		va_list ap;                                                                       \
		va_start(ap, cmd);                                                                \
		void *arg = va_arg(ap, void *);                                                   \
		va_end(ap);                                                                       \
		return (int)fcntl_recorded(fd, cmd, arg, TY_OP_##name, TY_GRANT(name));           \
	}
FCNTL(fcntl)
FCNTL(__fcntl)
FCNTL(fcntl64)

/* ---- no result ---- */

TY_EXPORT void sync(void)
{
	struct ty_thread *t = ty_enter();
	if (!t) {
		TY_GRANT(sync)();
		return;
	}
	struct ty_wait w;
	ty_io_begin(&w, t, TY_OP_sync, TY_FD_NONE, TY_FRAME_REF);
	TY_GRANT(sync)();
	ty_io_end(&w, 0);
}

TY_EXPORT void closefrom(int a)
{
	struct ty_thread *t = ty_enter();
	if (!t) {
		ty_accepted_closing(TY_FD_RANGE(a, ~0u));
		TY_GRANT(closefrom)(a);
		return;
	}
	struct ty_wait w;
	ty_io_begin(&w, t, TY_OP_closefrom, TY_FD_RANGE(a, ~0u), TY_FRAME_REF);
	TY_GRANT(closefrom)(a);
	ty_io_end(&w, 0);
}

TY_EXPORT void thrd_yield(void)
{
	struct ty_thread *t = ty_enter();
	if (t)
		ty_count(t, TY_OP_thrd_yield);
	TY_GRANT(thrd_yield)();
}

/* ---- modules ---- */

TY_EXPORT int dlclose(void *h)
{
	struct ty_thread *t = ty_enter();
	if (t)
		ty_count(t, TY_OP_dlclose);
	ty_module_close_begin(t); /* also while recording is off: addresses change hands all the same */
	int r = TY_GRANT(dlclose)(h);
	ty_module_close_end();
	return r;
}

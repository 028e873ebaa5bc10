/* SPDX-License-Identifier: MIT
 * Signals sent by this process: they end waits of the one they go to, as
 * PostgreSQL's latches do.  Runs in the traced process, in signal handlers
 * too. */
#include "preload/wait.h"

#include <signal.h>

/* The call's own handler may have run meanwhile, and forked: whose slot it is
 * now is asked again. */
#define SENDS(name, target, sig, params, args)                                                    \
	TY_EXPORT int name params;                                                                \
	TY_EXPORT int name params                                                                 \
	{                                                                                         \
		struct ty_thread *t = ty_enter();                                                 \
		if (!t)                                                                           \
			return TY_REAL(name) args;                                                \
		uint64_t when = ty_now();                                                         \
		int r = ty_real.name args;                                                        \
		if (!(t = ty_enter()))                                                            \
			return r;                                                                 \
		if (r == 0 && (sig) != 0 && (target) > 0)                                         \
			ty_wake(t, TY_OP_##name, (uint64_t)(target), (uint32_t)(sig), 0, when, TY_FRAME_REF); \
		else                                                                              \
			ty_count(t, TY_OP_##name);                                                \
		return r;                                                                         \
	}

SENDS(kill, pid, sig, (pid_t pid, int sig), (pid, sig))
SENDS(sigqueue, pid, sig, (pid_t pid, int sig, union sigval v), (pid, sig, v))
SENDS(tgkill, tid, sig, (pid_t pid, pid_t tid, int sig), (pid, tid, sig))

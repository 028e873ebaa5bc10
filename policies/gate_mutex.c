/* SPDX-License-Identifier: MIT
 * The gate of mutexes: what the wrappers try first, and call when that fails or
 * nothing is recorded.  Runs in the traced process.
 *
 * Left to libc at once: a mutex in shared memory (others may come to it past this
 * process) and every robust one, which libc marks as if it were; one that the
 * caller has already (its kind says what becomes of that),
 * and deadlines that glibc refuses.  trylock of the application stays its own:
 * it waits for nobody.  What unlocks is in unlock.c. */
#include "policies/gate.h"
#include "preload/grant.h"
#include "preload/object.h"

bool ty_gated;

static int try_first(pthread_mutex_t *m)
{
	return TY_UNLIKELY(ty_queue_any(m)) ? EBUSY : ty_real.pthread_mutex_trylock(m);
}

static int try_first_c11(mtx_t *m)
{
	return TY_UNLIKELY(ty_queue_any(m)) ? thrd_busy : ty_real.mtx_trylock(m);
}

static int attempt(const struct ty_gate *g)
{
	pthread_mutex_t *m = g->object;
	return TY_TRY_OK(m) ? ty_real.pthread_mutex_trylock(m) : ENOTRECOVERABLE;
}

static int ask(struct ty_gate *g)
{
	const pthread_mutex_t *m = g->object;
	int r;
	if (!ty_queue_any(m) && ty_gate_took(r = g->attempt(g)))
		return r;
	struct ty_object o = ty_object_mutex(m);
	g->owner = (uint32_t)o.owner;
	g->tid = ty_tid_from_libc();
	g->opened = !(m->__data.__kind & TY_MUTEX_ROBUST_OR_PI); /* the next one lends its owner priority from the lock itself */
	if (o.flags & TY_F_SHARED || (g->owner && g->owner == g->tid))
		return g->lock(g);
	return ty_gate(g);
}

#define GATE(name, type, params, ok, on_clock, until, args)                                       \
	static int lock_##name(const struct ty_gate *g)                                           \
	{                                                                                         \
		type *m = g->object;                                                              \
		return ty_real.name args;                                                         \
	}                                                                                         \
	static int gate_##name params                                                             \
	{                                                                                         \
		struct ty_gate g = { .object = m, .op = TY_OP_##name, .clock = (on_clock), .deadline = (until), \
				     .frame = (uintptr_t)TY_FP, .lock = lock_##name, .attempt = attempt }; \
		return (ok) ? ask(&g) : lock_##name(&g);                                          \
	}
GATE(pthread_mutex_lock, pthread_mutex_t, (pthread_mutex_t *m), 1, 0, NULL, (m))
GATE(__pthread_mutex_lock, pthread_mutex_t, (pthread_mutex_t *m), 1, 0, NULL, (m))
GATE(pthread_mutex_timedlock, pthread_mutex_t, (pthread_mutex_t *m, const struct timespec *t), ty_deadline_ok(t),
     CLOCK_REALTIME, t, (m, g->deadline))
GATE(pthread_mutex_clocklock, pthread_mutex_t, (pthread_mutex_t *m, clockid_t c, const struct timespec *t),
     ty_clock_ok(c) && ty_deadline_ok(t), c, t, (m, g->clock, g->deadline))
/* glibc's mtx_t is a mutex of one of the usual kinds */
GATE(mtx_lock, mtx_t, (mtx_t *m), 1, 0, NULL, (m))
GATE(mtx_timedlock, mtx_t, (mtx_t *m, const struct timespec *t), ty_deadline_ok(t), CLOCK_REALTIME, t, (m, g->deadline))

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "a mutex by another name");

#define PUT(name) TY_PUT(ty_grant, name, gate_##name)

void ty_gate_mutex_start(void)
{
	static const enum ty_op ops[] = { TY_OP_pthread_mutex_lock,      TY_OP___pthread_mutex_lock,
					  TY_OP_pthread_mutex_timedlock, TY_OP_pthread_mutex_clocklock,
					  TY_OP_mtx_lock,                TY_OP_mtx_timedlock };
	if (!ty_order_named(ops, sizeof ops / sizeof *ops, false))
		return;
	ty_gated = true;
	PUT(pthread_mutex_lock), PUT(__pthread_mutex_lock), PUT(pthread_mutex_timedlock), PUT(pthread_mutex_clocklock);
	PUT(mtx_lock), PUT(mtx_timedlock);
	TY_PUT(ty_first, pthread_mutex_trylock, try_first);
	TY_PUT(ty_first, mtx_trylock, try_first_c11);
}

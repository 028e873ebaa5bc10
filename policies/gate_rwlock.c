/* SPDX-License-Identifier: MIT
 * The gate of reader-writer locks.  Runs in the traced process.
 *
 * With a reader all readers that are queued are let in: they share the lock.  A
 * thread that has a read lock, of whatever rwlock, passes the gate by: glibc lets
 * it in beside other readers, and before the gate it could wait for a writer that
 * waits for it.  How many it has is counted per thread, where the wrappers see
 * it; a lock that was taken past them is found by a look, which costs the bound.
 *
 * Left to libc at once, besides: locks in shared memory, one that the caller has
 * for writing, and deadlines that glibc refuses. */
#include "policies/gate.h"
#include "preload/grant.h"
#include "preload/object.h"

static __thread uint32_t reads; /* read locks of this thread */

static int read_lock(int r)
{
	if (r == 0)
		reads++;
	return r;
}

static int try_first_rd(pthread_rwlock_t *l)
{
	return TY_UNLIKELY(ty_queue_any(l)) ? EBUSY : read_lock(ty_real.pthread_rwlock_tryrdlock(l));
}

static int try_first_wr(pthread_rwlock_t *l)
{
	return TY_UNLIKELY(ty_queue_any(l)) ? EBUSY : ty_real.pthread_rwlock_trywrlock(l);
}

static int attempt(const struct ty_gate *g)
{
	return (g->reader ? ty_real.pthread_rwlock_tryrdlock : ty_real.pthread_rwlock_trywrlock)(g->object);
}

static int ask(struct ty_gate *g)
{
	const pthread_rwlock_t *l = g->object;
	int r;
	if (!ty_queue_any(l) && ty_gate_took(r = attempt(g)))
		return r;
	struct ty_object o = ty_object_rwlock(l);
	g->owner = (uint32_t)o.owner;
	g->tid = ty_tid_from_libc();
	if (o.flags & TY_F_SHARED || (g->reader && reads) || (g->owner && g->owner == g->tid))
		return g->lock(g);
	return ty_gate(g);
}

#define GATE(name, params, shares, result, ok, on_clock, until, args)                             \
	static int lock_##name(const struct ty_gate *g)                                           \
	{                                                                                         \
		pthread_rwlock_t *l = g->object;                                                  \
		return ty_real.name args;                                                         \
	}                                                                                         \
	static int gate_##name params                                                             \
	{                                                                                         \
		struct ty_gate g = { .object = l, .op = TY_OP_##name, .reader = (shares), .clock = (on_clock), \
				     .deadline = (until), .frame = (uintptr_t)TY_FP, .lock = lock_##name, \
				     .attempt = attempt };                                        \
		return result((ok) ? ask(&g) : lock_##name(&g));                                  \
	}
#define AS_IT_IS(r) (r)
#define READS(name, params, ...) GATE(name, params, true, read_lock, __VA_ARGS__)
#define WRITES(name, params, ...) GATE(name, params, false, AS_IT_IS, __VA_ARGS__)
#define ON_CLOCK ty_clock_ok(c) && ty_deadline_ok(t), c, t, (l, g->clock, g->deadline)
#define REALTIME ty_deadline_ok(t), CLOCK_REALTIME, t, (l, g->deadline)
READS(pthread_rwlock_rdlock, (pthread_rwlock_t *l), 1, 0, NULL, (l))
READS(__pthread_rwlock_rdlock, (pthread_rwlock_t *l), 1, 0, NULL, (l))
READS(pthread_rwlock_timedrdlock, (pthread_rwlock_t *l, const struct timespec *t), REALTIME)
READS(pthread_rwlock_clockrdlock, (pthread_rwlock_t *l, clockid_t c, const struct timespec *t), ON_CLOCK)
WRITES(pthread_rwlock_wrlock, (pthread_rwlock_t *l), 1, 0, NULL, (l))
WRITES(__pthread_rwlock_wrlock, (pthread_rwlock_t *l), 1, 0, NULL, (l))
WRITES(pthread_rwlock_timedwrlock, (pthread_rwlock_t *l, const struct timespec *t), REALTIME)
WRITES(pthread_rwlock_clockwrlock, (pthread_rwlock_t *l, clockid_t c, const struct timespec *t), ON_CLOCK)

/* ---- only counted: the application's own tries, and unlock ---- */

static int gate_pthread_rwlock_tryrdlock(pthread_rwlock_t *l)
{
	return read_lock(ty_real.pthread_rwlock_tryrdlock(l));
}

static int gate___pthread_rwlock_tryrdlock(pthread_rwlock_t *l)
{
	return read_lock(ty_real.__pthread_rwlock_tryrdlock(l));
}

/* Looked at while it is still ours.  A lock that is let go by another thread than
 * the one that took it leaves the count of one too high, which makes its reads
 * native, and may leave the other's too low, which costs looks. */
static void read_unlock(const pthread_rwlock_t *l)
{
	if (reads && l->__data.__cur_writer == 0)
		reads--;
}

static int gate_pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	read_unlock(l);
	return ty_real.pthread_rwlock_unlock(l);
}

static int gate___pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	read_unlock(l);
	return ty_real.__pthread_rwlock_unlock(l);
}

#define PUT(name) TY_PUT(ty_grant, name, gate_##name)

void ty_gate_rwlock_start(void)
{
	static const enum ty_op ops[] = { TY_OP_pthread_rwlock_rdlock,      TY_OP___pthread_rwlock_rdlock,
					  TY_OP_pthread_rwlock_timedrdlock, TY_OP_pthread_rwlock_clockrdlock,
					  TY_OP_pthread_rwlock_wrlock,      TY_OP___pthread_rwlock_wrlock,
					  TY_OP_pthread_rwlock_timedwrlock, TY_OP_pthread_rwlock_clockwrlock };
	if (!ty_order_named(ops, sizeof ops / sizeof *ops, false))
		return;
	PUT(pthread_rwlock_rdlock), PUT(__pthread_rwlock_rdlock);
	PUT(pthread_rwlock_timedrdlock), PUT(pthread_rwlock_clockrdlock);
	PUT(pthread_rwlock_wrlock), PUT(__pthread_rwlock_wrlock);
	PUT(pthread_rwlock_timedwrlock), PUT(pthread_rwlock_clockwrlock);
	PUT(pthread_rwlock_tryrdlock), PUT(__pthread_rwlock_tryrdlock);
	PUT(pthread_rwlock_unlock), PUT(__pthread_rwlock_unlock);
	TY_PUT(ty_first, pthread_rwlock_tryrdlock, try_first_rd);
	TY_PUT(ty_first, pthread_rwlock_trywrlock, try_first_wr);
}

/* SPDX-License-Identifier: MIT
 * Condition variables under an order.  Runs in the traced process.
 *
 * A waiter queues before it lets the mutex go, so whoever takes that mutex and
 * signals afterwards finds it.  It sleeps on a semaphore of its own, which the
 * one that picks it posts exactly once.  Once granted it never touches the
 * condition variable again: that may be destroyed by then.
 *
 * Some waiters may be libc's own (no rule, or the program calls past this
 * library), and a signal may come past it.  So a signal that finds both kinds goes
 * to both, a broadcast always does, and a queued waiter looks for itself after a
 * bound: to its program a spurious wake-up, which every wait may have.  If it
 * comes back without having let the mutex go, nothing had been missed: it keeps its
 * place and sleeps longer.  Where much is missed, waits are left to libc.
 *
 * No mutex is asked for anything but lock and unlock, so its kind keeps its
 * meaning; the lock goes through ty_grant and may have an order itself. */
#include "policies/order.h"
#include "policies/age.h"
#include "policies/cond.h"
#include "policies/gate.h"
#include "policies/select.h"
#include "policies/unlock.h"
#include "preload/grant.h"
#include "preload/object.h"

#define MOST_DOUBLED 5 /* 32-fold */
#define MISSED_IN 100u /* grants: one in so many, and its waits are left to libc */

struct call {
	pthread_cond_t *c;
	pthread_mutex_t *m;
	clockid_t clock;
	const struct timespec *until; /* NULL: for ever */
	struct ty_waiter *w;          /* NULL: libc's own wait */
	bool idle;
};

/* ---- the steps of a wait ---- */

/* A wait looked for itself and found what it waited for: nobody had signalled it. */
TY_NOINLINE void ty_cond_was_missed(void)
{
	struct ty_order_tls *s = &ty_order_tls;
	TY_ORDER_COUNT_UP(ty_order_stat((const void *)s->object, s->rule, s->op), bounded);
	s->doubled = 0;
	s->object = 0;
}

static void choose(struct call *a, enum ty_op op)
{
	if (ty_order_tls.object && (ty_order_tls.object != (uintptr_t)a->c || ty_order_tls.mutex != a->m))
		ty_cond_was_missed();
	uint32_t rule = ty_select(op, a->c, &a->idle);
	if (a->idle)
		ty_age_idle();
	if (rule == TY_NO_RULE || ty_object_cond(a->c).flags & TY_F_SHARED)
		return;
	/* Its signals come past this library: libc's own waiters hear them. */
	struct ty_order_stat *s = ty_order_stat(a->c, rule, op);
	a->w = ty_order_passed_by(s, MISSED_IN) ? NULL : ty_waiter_new(a->c, rule, op, (uintptr_t)a);
	if (a->w)
		return;
	ty_order_tls.object = 0;
	TY_ORDER_COUNT_UP(s, native);
}

static void begin(struct call *a, enum ty_op op)
{
	choose(a, op);
	if (!a->w)
		ty_unlock_inside(a->m);
}

static int end(const struct call *a, int r)
{
	if (a->idle)
		ty_age_busy();
	return r;
}

/* The place of the wait that this one goes on with. */
static void find_place(struct ty_waiter *w)
{
	struct ty_order_tls *s = &ty_order_tls;
	if (s->object && s->age == w->age) {
		w->seq = s->seq;
		s->doubled += s->doubled < MOST_DOUBLED;
	} else {
		s->doubled = 0;
	}
	s->object = 0;
}

static void keep_place(const struct ty_waiter *w, const void *mutex)
{
	struct ty_order_tls *s = &ty_order_tls;
	s->rule = w->rule;
	s->op = w->op;
	s->seq = w->seq;
	s->age = w->age;
	s->mutex = mutex;
	s->object = w->object;
}

static void queue_up(struct ty_waiter *w)
{
	struct ty_locked l;
	w->age = ty_age_at((const void *)w->object);
	find_place(w);
	ty_queue_lock(&l, (const void *)w->object);
	ty_queue_add(&l, w);
	ty_queue_unlock(&l);
}

/* Takes it out of the queue.  What it was granted meanwhile and cannot use is
 * another's. */
static void give_up(struct ty_waiter *w)
{
	if (ty_waiter_leave(w)) {
		struct ty_locked l;
		ty_queue_lock(&l, (const void *)w->object);
		ty_queue_pass(&l, (const void *)w->object, false);
		ty_queue_unlock(&l);
	}
	ty_waiter_done(w);
}

/* A cancelled wait: the program's own handlers find the mutex locked. */
static void cancelled(void *arg)
{
	struct call *a = arg;
	give_up(a->w);
	ty_real.pthread_mutex_lock(a->m);
}

/* The cancellation point.  True: granted, and the post taken. */
static bool asleep(struct call *a, const struct timespec *until)
{
	int r;
	pthread_cleanup_push(cancelled, a);
	do
		r = ty_real.sem_clockwait(&a->w->grant, a->clock, until);
	while (r && errno == EINTR);
	pthread_cleanup_pop(0);
	return r == 0;
}

static int ordered(struct call *a)
{
	int saved = errno;
	struct timespec until;
	struct ty_waiter *w = a->w;
	queue_up(w);
	int r = ty_unlock(a->m);
	if (r) {
		give_up(w);
		return r;
	}
	bool deadline = ty_waiter_until(&until, ty_waiter_bound(), a->clock, a->until);
	bool granted = asleep(a, &until) || ty_waiter_leave(w);
	if (granted)
		ty_age_given((const void *)w->object, w->given_age);
	else if (deadline)
		r = ETIMEDOUT;
	else
		keep_place(w, a->m);
	ty_waiter_done(w);
	int locked = ty_grant.pthread_mutex_lock(a->m);
	errno = saved;
	return locked ? locked : r;
}

static int cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	struct call a = { .c = c, .m = m, .clock = CLOCK_MONOTONIC };
	begin(&a, TY_OP_pthread_cond_wait);
	return end(&a, a.w ? ordered(&a) : ty_real.pthread_cond_wait(c, m));
}

/* What libc refuses before it looks at anything is left to it. */
static int cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t)
{
	if (!ty_deadline_ok(t))
		return ty_real.pthread_cond_timedwait(c, m, t);
	struct call a = { .c = c, .m = m, .until = t };
	a.clock = c->__data.__wrefs & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
	begin(&a, TY_OP_pthread_cond_timedwait);
	return end(&a, a.w ? ordered(&a) : ty_real.pthread_cond_timedwait(c, m, t));
}

static int cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t k, const struct timespec *t)
{
	if (!ty_deadline_ok(t) || !ty_clock_ok(k))
		return ty_real.pthread_cond_clockwait(c, m, k, t);
	struct call a = { .c = c, .m = m, .clock = k, .until = t };
	begin(&a, TY_OP_pthread_cond_clockwait);
	return end(&a, a.w ? ordered(&a) : ty_real.pthread_cond_clockwait(c, m, k, t));
}

/* ---- signals ---- */

/* Somebody waits in libc itself.  Not read again once a waiter is granted. */
static bool native_waiters(const pthread_cond_t *c)
{
	return __atomic_load_n(&c->__data.__wrefs, __ATOMIC_RELAXED) >> 3 != 0;
}

/* Grants one or all of those who are queued, in the order that their rule picks. */
static bool grant(const void *object, bool all)
{
	struct ty_locked l;
	uint32_t n;
	uint64_t age = ty_age_at(object);
	ty_queue_lock(&l, object);
	struct ty_waiter *first = ty_queue_of(&l, object, false, &n);
	bool any = first != NULL;
	while (first) {
		struct ty_waiter *w = ty_queue_pick(&l, first, n--, false), **at = &first;
		while (*at != w)
			at = &(*at)->peer;
		*at = all ? w->peer : NULL;
		w->given_age = age;
		ty_queue_grant(&l, w);
		if (!all)
			break;
	}
	ty_queue_unlock(&l);
	return any;
}

static int cond_signal(pthread_cond_t *c)
{
	if (!ty_queue_any(c))
		return ty_real.pthread_cond_signal(c);
	bool native = native_waiters(c);
	int r = native ? ty_real.pthread_cond_signal(c) : 0;
	if (!grant(c, false) && !native) /* the bucket is another's */
		r = ty_real.pthread_cond_signal(c);
	return r;
}

static int cond_broadcast(pthread_cond_t *c)
{
	if (!ty_queue_any(c))
		return ty_real.pthread_cond_broadcast(c);
	int r = ty_real.pthread_cond_broadcast(c);
	grant(c, true);
	return r;
}

/* ---- C11: the same objects under other names ---- */

#define COND(c) ((pthread_cond_t *)(void *)(c))
#define MUTEX(m) ((pthread_mutex_t *)(void *)(m))
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t) && sizeof(mtx_t) == sizeof(pthread_mutex_t), "one is the other");

static int c11(int r)
{
	return r == 0 ? thrd_success : r == ETIMEDOUT ? thrd_timedout : r == EBUSY ? thrd_busy :
	       r == ENOMEM ? thrd_nomem : thrd_error;
}

static int cnd_wait_(cnd_t *c, mtx_t *m)
{
	struct call a = { .c = COND(c), .m = MUTEX(m), .clock = CLOCK_MONOTONIC };
	begin(&a, TY_OP_cnd_wait);
	return end(&a, a.w ? c11(ordered(&a)) : ty_real.cnd_wait(c, m));
}

static int cnd_timedwait_(cnd_t *c, mtx_t *m, const struct timespec *t)
{
	if (!ty_deadline_ok(t))
		return ty_real.cnd_timedwait(c, m, t);
	struct call a = { .c = COND(c), .m = MUTEX(m), .clock = CLOCK_REALTIME, .until = t };
	begin(&a, TY_OP_cnd_timedwait);
	return end(&a, a.w ? c11(ordered(&a)) : ty_real.cnd_timedwait(c, m, t));
}

static int cnd_signal_(cnd_t *c)
{
	return c11(cond_signal(COND(c)));
}

static int cnd_broadcast_(cnd_t *c)
{
	return c11(cond_broadcast(COND(c)));
}

/* ---- installation ---- */

void ty_cond_install(void)
{
	static const enum ty_op ops[] = { TY_OP_pthread_cond_wait, TY_OP_pthread_cond_timedwait,
					  TY_OP_pthread_cond_clockwait, TY_OP_cnd_wait, TY_OP_cnd_timedwait };
	bool named = ty_order_named(ops, sizeof ops / sizeof *ops, true);
	if (!named && !ty_gated)
		return;
	ty_unlock_install();
	TY_PUT(ty_grant, pthread_cond_wait, cond_wait);
	TY_PUT(ty_grant, pthread_cond_timedwait, cond_timedwait);
	TY_PUT(ty_grant, pthread_cond_clockwait, cond_clockwait);
	TY_PUT(ty_grant, cnd_wait, cnd_wait_);
	TY_PUT(ty_grant, cnd_timedwait, cnd_timedwait_);
	if (!named) /* waits that let a mutex go */
		return;
	TY_PUT(ty_grant, pthread_cond_signal, cond_signal);
	TY_PUT(ty_grant, pthread_cond_broadcast, cond_broadcast);
	TY_PUT(ty_grant, cnd_signal, cnd_signal_);
	TY_PUT(ty_grant, cnd_broadcast, cnd_broadcast_);
}

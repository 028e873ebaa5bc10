/* SPDX-License-Identifier: MIT
 * Irregular wrappers: what releases or signals, condition variables,
 * semaphores, once.  Runs in the traced process.  The rule of the releasing
 * half: look at the object and the clock before the real call, record after
 * it, and never read the object again. */
#include "preload/grant.h"
#include "preload/object.h"
#include "preload/wait.h"
#include "policies/queue.h"

#define INLINE __attribute__((always_inline)) static inline /* the frame is the exported function's */

/* ---- releases ---- */

/* Does somebody sleep on a mutex that the caller owns, or before its gate? */
INLINE int mutex_waited(const pthread_mutex_t *m)
{
	return ty_mutex_contended(m) || (ty_queue_listed(m) && !ty_mutex_stays(m));
}

#define WAITED(obj) ty_somebody_waits(TY_OBJ(obj), TY_OBJECT(obj)(obj).flags != 0)

/* The usual release, nobody waits, is a count and a jump; anything else, and what may
 * be, goes by a tail call to a function that stands in its place. */
#define RELEASES_AS(fn, name, type, maybe, waited, extra)                                             \
	static TY_NOINLINE int slow_##name(type *p)                                               \
	{                                                                                         \
		struct ty_thread *t = ty_enter();                                                 \
		if (!t)                                                                           \
			return TY_GRANT(name)(p);                                                 \
		if (!(waited)) {                                                                  \
			ty_count(t, TY_OP_##name);                                                \
			return ty_grant.name(p);                                                  \
		}                                                                                 \
		unsigned flags = TY_OBJECT(p)(p).flags | (extra);                                 \
		uint64_t when = ty_now();                                                         \
		int r = ty_grant.name(p);                                                         \
		if (r == 0)                                                                       \
			ty_wake(t, TY_OP_##name, TY_OBJ(p), 0, flags, when, TY_FRAME_REF);        \
		return r;                                                                         \
	}                                                                                         \
	TY_EXPORT int fn(type *p);                                                                \
	TY_EXPORT int fn(type *p)                                                                 \
	{                                                                                         \
		struct ty_thread *t = ty_enter_fast();                                            \
		if (TY_UNLIKELY(!t || (maybe)))                                                  \
			return slow_##name(p);                                                    \
		ty_count(t, TY_OP_##name);                                                        \
		return ty_grant.name(p);                                                          \
	}
#define RELEASES(name, type, waited, extra) RELEASES_AS(name, name, type, waited, waited, extra)
#define ANY_GATE (atomic_load_explicit(&ty_gate_count.listed, memory_order_relaxed) != 0)
#define RELEASES_MUTEX(name) \
	RELEASES_AS(name, name, pthread_mutex_t, ANY_GATE || ty_mutex_contended(p), mutex_waited(p), 0)

RELEASES_MUTEX(pthread_mutex_unlock)
RELEASES_MUTEX(__pthread_mutex_unlock)
RELEASES(mtx_unlock, mtx_t, WAITED(p), 0)
RELEASES(pthread_rwlock_unlock, pthread_rwlock_t, WAITED(p), 0)
RELEASES(__pthread_rwlock_unlock, pthread_rwlock_t, WAITED(p), 0)
RELEASES(sem_post, sem_t, WAITED(p), 0)
RELEASES(cnd_signal, cnd_t, WAITED(p), 0)
RELEASES(cnd_broadcast, cnd_t, WAITED(p), TY_F_BROADCAST)

/* ---- condition variables ---- */

#ifdef __x86_64__
#define VERSIONED(name, to, version) __asm__(".symver " #name "," #to "@" version ",remove")
#define COND(name) ty_##name
#else
#define VERSIONED(name, to, version) _Static_assert(1, "")
#define COND(name) name
#endif

/* A cond wait releases its mutex: whoever sleeps on that is woken from here.
 * Looked at as late as may be, for a waiter that comes during the walk. */
INLINE void releases_mutex(struct ty_wait *w, struct ty_thread *t, enum ty_op op, const pthread_mutex_t *m)
{
	if (TY_LIKELY(!mutex_waited(m)))
		return;
	unsigned flags = ty_object_mutex(m).flags;
	if (w->t)
		ty_wait_wakes(w, TY_OBJ(m), flags);
	else /* condition waits are not recorded, wakes perhaps */
		ty_wake(t, op, TY_OBJ(m), 0, flags, ty_now(), TY_FRAME_REF);
}

#define COND_WAIT(fn, op, ptype, mtype, params, args, err)                                        \
	TY_EXPORT int fn params;                                                                  \
	TY_EXPORT int fn params                                                                   \
	{                                                                                         \
		struct ty_thread *t_ = ty_enter();                                                \
		if (!t_)                                                                          \
			return TY_GRANT(op) args;                                                 \
		struct ty_wait w_;                                                                \
		ty_wait_begin(&w_, t_, TY_OP_##op, TY_OBJ(c), TY_OBJ(m), TY_OBJECT(c)(c).flags, TY_FRAME_REF); \
		releases_mutex(&w_, t_, TY_OP_##op, (const pthread_mutex_t *)(const void *)m);    \
		int r_ = TY_GRANT(op) args;                                                       \
		ty_wait_end(&w_, err(r_));                                                        \
		return r_;                                                                        \
	}

COND_WAIT(COND(pthread_cond_wait), pthread_cond_wait, pthread_cond_t, pthread_mutex_t,
	  (pthread_cond_t *c, pthread_mutex_t *m), (c, m), ty_err_pthread)
COND_WAIT(COND(pthread_cond_timedwait), pthread_cond_timedwait, pthread_cond_t, pthread_mutex_t,
	  (pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t), (c, m, t), ty_err_pthread)
COND_WAIT(pthread_cond_clockwait, pthread_cond_clockwait, pthread_cond_t, pthread_mutex_t,
	  (pthread_cond_t *c, pthread_mutex_t *m, clockid_t k, const struct timespec *t), (c, m, k, t), ty_err_pthread)
COND_WAIT(cnd_wait, cnd_wait, cnd_t, mtx_t, (cnd_t *c, mtx_t *m), (c, m), ty_err_c11)
COND_WAIT(cnd_timedwait, cnd_timedwait, cnd_t, mtx_t, (cnd_t *c, mtx_t *m, const struct timespec *t), (c, m, t),
	  ty_err_c11)

RELEASES_AS(COND(pthread_cond_signal), pthread_cond_signal, pthread_cond_t, WAITED(p), WAITED(p), 0)
RELEASES_AS(COND(pthread_cond_broadcast), pthread_cond_broadcast, pthread_cond_t, WAITED(p), WAITED(p), TY_F_BROADCAST)

VERSIONED(ty_pthread_cond_wait, pthread_cond_wait, "@GLIBC_2.3.2");
VERSIONED(ty_pthread_cond_timedwait, pthread_cond_timedwait, "@GLIBC_2.3.2");
VERSIONED(ty_pthread_cond_signal, pthread_cond_signal, "@GLIBC_2.3.2");
VERSIONED(ty_pthread_cond_broadcast, pthread_cond_broadcast, "@GLIBC_2.3.2");

/* ---- semaphores ---- */

/* sem_wait acts on a pending cancel before it takes a token; trying first
 * would swallow the cancel, so that test comes first here too. */
#define SEM_WAIT(name, ok, params, args)                                                          \
	TY_EXPORT int name params;                                                                \
	TY_EXPORT int name params                                                                 \
	{                                                                                         \
		struct ty_thread *t_ = ty_enter();                                                \
		if (!t_ || !(ok))                                                                 \
			return TY_GRANT(name) args;                                               \
		pthread_testcancel();                                                             \
		int saved_ = errno;                                                               \
		if (TY_GRANT(sem_trywait)(s) == 0) {                                              \
			ty_count(t_, TY_OP_##name);                                               \
			return 0;                                                                 \
		}                                                                                 \
		errno = saved_;                                                                   \
		struct ty_wait w_;                                                                \
		ty_wait_begin(&w_, t_, TY_OP_##name, TY_OBJ(s), 0, ty_object_sem(s).flags | TY_F_CONTENDED, TY_FRAME_REF); \
		int r_ = TY_GRANT(name) args;                                                     \
		ty_wait_end(&w_, r_ ? errno : 0);                                                 \
		return r_;                                                                        \
	}
SEM_WAIT(sem_wait, 1, (sem_t *s), (s))
SEM_WAIT(sem_timedwait, ty_deadline_ok(t), (sem_t *s, const struct timespec *t), (s, t))
SEM_WAIT(sem_clockwait, ty_deadline_ok(t) && ty_clock_ok(k), (sem_t *s, clockid_t k, const struct timespec *t), (s, k, t))

/* ---- once, join ---- */

/* Three states: done (2): nothing to wait for.  Being run by another thread
 * (bit 0): a wait.  Else this thread runs the initialiser, whose own waits are
 * its own, so no guard is held over it. */
INLINE int once(enum ty_op op, int word, const void *object, struct ty_wait *w)
{
	struct ty_thread *t = ty_enter();
	if (!t)
		return 0;
	if (word == 2 || !(word & 1)) {
		ty_count(t, op);
		return 0;
	}
	ty_wait_begin(w, t, op, TY_OBJ(object), 0, TY_F_CONTENDED, TY_FRAME_REF);
	return 1;
}

#define ONCE_WORD(o) __atomic_load_n((const int *)(const void *)(o), __ATOMIC_ACQUIRE)

TY_EXPORT int pthread_once(pthread_once_t *o, void (*f)(void))
{
	struct ty_wait w;
	int waits = once(TY_OP_pthread_once, ONCE_WORD(o), o, &w);
	int r = TY_GRANT(pthread_once)(o, f);
	if (waits)
		ty_wait_end(&w, r);
	return r;
}

TY_EXPORT int __pthread_once(pthread_once_t *o, void (*f)(void));
TY_EXPORT int __pthread_once(pthread_once_t *o, void (*f)(void))
{
	struct ty_wait w;
	int waits = once(TY_OP___pthread_once, ONCE_WORD(o), o, &w);
	int r = TY_GRANT(__pthread_once)(o, f);
	if (waits)
		ty_wait_end(&w, r);
	return r;
}

TY_EXPORT void call_once(once_flag *o, void (*f)(void))
{
	struct ty_wait w;
	int waits = once(TY_OP_call_once, ONCE_WORD(o), o, &w);
	TY_GRANT(call_once)(o, f);
	if (waits)
		ty_wait_end(&w, 0);
}

TY_EXPORT int thrd_join(thrd_t t, int *r)
{
	struct ty_thread *self = ty_enter();
	if (!self)
		return TY_GRANT(thrd_join)(t, r);
	struct ty_wait w;
	ty_wait_begin(&w, self, TY_OP_thrd_join, TY_OBJ(t), 0, 0, TY_FRAME_REF);
	int result = TY_GRANT(thrd_join)(t, r);
	ty_wait_end(&w, ty_err_c11(result));
	return result;
}

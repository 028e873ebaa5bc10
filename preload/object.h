/* SPDX-License-Identifier: MIT
 * What an object says about itself, read before a call blocks on it or
 * releases it and never afterwards: public layouts of glibc's headers only. */
#ifndef TY_OBJECT_H
#define TY_OBJECT_H

#include "preload/rules.h"
#include "tarry/event.h"

#define TY_MUTEX_ROBUST_OR_PI (16 | 32)
#define TY_MUTEX_PSHARED 128
#define TY_FUTEX_WAITERS 0x80000000u
#define TY_FUTEX_TID 0x3fffffffu

struct ty_object {
	uint64_t owner; /* tid, a hint; 0 unknown */
	uint16_t flags; /* TY_F_SHARED */
};

static inline struct ty_object ty_object_none(const volatile void *p)
{
	(void)p;
	return (struct ty_object){ 0, 0 };
}
static inline struct ty_object ty_object_mutex(const pthread_mutex_t *m)
{
	int kind = m->__data.__kind;
	uint32_t word = (uint32_t)m->__data.__lock;
	return (struct ty_object){ kind & TY_MUTEX_ROBUST_OR_PI ? word & TY_FUTEX_TID : (uint32_t)m->__data.__owner,
				   kind & TY_MUTEX_PSHARED ? TY_F_SHARED : 0 };
}
static inline struct ty_object ty_object_rwlock(const pthread_rwlock_t *l)
{
	return (struct ty_object){ (uint32_t)l->__data.__cur_writer, l->__data.__shared ? TY_F_SHARED : 0 };
}
static inline struct ty_object ty_object_cond(const pthread_cond_t *c)
{
	return (struct ty_object){ 0, c->__data.__wrefs & 1 ? TY_F_SHARED : 0 };
}
static inline struct ty_object ty_object_sem(const sem_t *s)
{
	int shared; /* second half of glibc's struct new_sem: 0 private, 128 shared */
	memcpy(&shared, (const char *)s + 8, sizeof shared);
	return (struct ty_object){ 0, shared ? TY_F_SHARED : 0 };
}
#define TY_OBJECT(p)                                                                              \
	_Generic((p), pthread_mutex_t *: ty_object_mutex, pthread_rwlock_t *: ty_object_rwlock,   \
		 pthread_cond_t *: ty_object_cond, sem_t *: ty_object_sem, default: ty_object_none)

/* May a try come before the real lock?  Not on a robust mutex that is beyond
 * recovery (owner INT_MAX - 1): glibc 2.36's trylock reports that and keeps the lock
 * word, and the next lock would hang instead of reporting it too. */
static inline int ty_try_mutex(const pthread_mutex_t *m)
{
	return !(m->__data.__kind & 16) || m->__data.__owner != 0x7ffffffe;
}
static inline int ty_try_any(const volatile void *p)
{
	(void)p;
	return 1;
}
#define TY_TRY_OK(p) _Generic((p), pthread_mutex_t *: ty_try_mutex, default: ty_try_any)(p)

/* Would an unlock by its owner leave it locked? */
static inline int ty_mutex_stays(const pthread_mutex_t *m)
{
	return (m->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE_NP && m->__data.__count > 1;
}
/* Does somebody sleep on a mutex that the caller owns?  A recursive one that
 * stays locked releases nobody. */
static inline int ty_mutex_contended(const pthread_mutex_t *m)
{
	int kind = m->__data.__kind;
	uint32_t word = (uint32_t)m->__data.__lock;
	int waited = kind & TY_MUTEX_ROBUST_OR_PI ? (word & TY_FUTEX_WAITERS) != 0 : word == 2;
	return waited && !ty_mutex_stays(m);
}

/* Deadlines and clocks that glibc may refuse before it looks at the object:
 * those calls are left to it. */
static inline int ty_deadline_ok(const struct timespec *t)
{
	return t && (unsigned long)t->tv_nsec < 1000000000ul;
}
static inline int ty_clock_ok(clockid_t c)
{
	return c == CLOCK_REALTIME || c == CLOCK_MONOTONIC;
}

/* Results as errno values. */
static inline int ty_err_pthread(int r) { return r > 0 ? r : 0; } /* < 0: PTHREAD_BARRIER_SERIAL_THREAD */
static inline int ty_err_c11(int r)
{
	return r == thrd_success ? 0 : r == thrd_busy ? EBUSY : r == thrd_timedout ? ETIMEDOUT :
	       r == thrd_nomem ? ENOMEM : EINVAL;
}
#define TY_ERR_OF(p) _Generic((p), mtx_t *: ty_err_c11, default: ty_err_pthread)

#define TY_OBJ(o) ((uint64_t)(uintptr_t)(o))
#define TY_FD_POLL(p, n) ((p) && (n) == 1 ? (uint64_t)(int64_t)(p)->fd : TY_FD_NONE)

#endif

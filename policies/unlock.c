/* SPDX-License-Identifier: MIT
 * What stands in for the functions that unlock a mutex, under an order of mutexes or
 * of condition variables.  Runs in the traced process.
 *
 * After the real call the mutex may be gone: its address is only a number then. */
#include "policies/unlock.h"
#include "policies/cond.h"
#include "policies/gate.h"
#include "preload/grant.h"
#include "preload/object.h"

static inline void before(const void *mutex)
{
	if (TY_UNLIKELY(ty_order_tls.object) && ty_order_tls.mutex == mutex)
		ty_cond_was_missed();
}

/* Asked before: may somebody before its gate have it after the call? */
static inline bool lets_go(const void *mutex)
{
	return ty_gated && !ty_mutex_stays(mutex);
}

static inline void after(const void *mutex)
{
	if (TY_UNLIKELY(ty_queue_listed(mutex)))
		ty_gate_open(mutex);
}

#define UNLOCK(name, type)                     \
	static int name##_(type *m)            \
	{                                      \
		before(m);                     \
		bool opens = lets_go(m);       \
		int r = ty_real.name(m);       \
		if (TY_LIKELY(r == 0) && opens) \
			after(m);              \
		return r;                      \
	}
UNLOCK(pthread_mutex_unlock, pthread_mutex_t)
UNLOCK(__pthread_mutex_unlock, pthread_mutex_t)
UNLOCK(mtx_unlock, mtx_t)
_Static_assert(thrd_success == 0, "0 is success for all of them");

int ty_unlock(pthread_mutex_t *m)
{
	return pthread_mutex_unlock_(m);
}

void ty_unlock_inside(const pthread_mutex_t *m)
{
	if (lets_go(m))
		after(m);
}

void ty_unlock_install(void)
{
	TY_PUT(ty_grant, pthread_mutex_unlock, pthread_mutex_unlock_);
	TY_PUT(ty_grant, __pthread_mutex_unlock, __pthread_mutex_unlock_);
	TY_PUT(ty_grant, mtx_unlock, mtx_unlock_);
}

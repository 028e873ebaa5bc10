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

/* Asked before the call: who comes to an empty queue later is a head himself. */
static inline bool opens(const void *mutex)
{
	return ty_queue_listed(mutex) && !ty_mutex_stays(mutex) && !ty_gate_led(mutex);
}

#define UNLOCK(name, type)                          \
	static int name##_(type *m)                 \
	{                                           \
		before(m);                          \
		bool open = opens(m);               \
		int r = ty_real.name(m);            \
		if (TY_UNLIKELY(open) && r == 0)    \
			ty_gate_open(m);            \
		return r;                           \
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
	if (opens(m))
		ty_gate_open(m);
}

void ty_unlock_install(void)
{
	TY_PUT(ty_grant, pthread_mutex_unlock, pthread_mutex_unlock_);
	TY_PUT(ty_grant, __pthread_mutex_unlock, __pthread_mutex_unlock_);
	TY_PUT(ty_grant, mtx_unlock, mtx_unlock_);
}

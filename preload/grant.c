/* SPDX-License-Identifier: MIT
 * Fills the tables of what the wrappers call.  Runs in the traced process, in
 * the constructor. */
#include "preload/grant.h"

struct ty_real ty_grant;
struct ty_first ty_first;

#define SAME(to, name) TY_PUT(to, name, ty_real.name)

void ty_grant_start(void)
{
#define TY_W(ret, name, ver, need, cls, body, params, args, obj, try) SAME(ty_grant, name);
#include "tarry/wrap.def"
	SAME(ty_first, pthread_mutex_trylock);
	SAME(ty_first, pthread_rwlock_tryrdlock);
	SAME(ty_first, pthread_rwlock_trywrlock);
	SAME(ty_first, pthread_spin_trylock);
	SAME(ty_first, mtx_trylock);
}

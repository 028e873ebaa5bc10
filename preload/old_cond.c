/* SPDX-License-Identifier: MIT
 * The condition variables of very old x86-64 binaries (GLIBC_2.2.5: one pointer
 * wide).  An unversioned wrapper would catch their callers too and hand the
 * small object to functions that write 48 bytes, so both versions are exported
 * and these go straight to the functions of their own version.  A wait lets a
 * mutex go, which may have a gate. */
#include "preload/rules.h"
#include "policies/unlock.h"

#ifdef __x86_64__

#define OLD(name, params, args, before)                                                           \
	TY_EXPORT int ty_old_##name params;                                                       \
	TY_EXPORT int ty_old_##name params                                                        \
	{                                                                                         \
		static int(*real) params; /* the same value whoever stores it */                  \
		int(*f) params = __atomic_load_n(&real, __ATOMIC_RELAXED);                        \
		if (!f) {                                                                         \
			f = (int(*) params)dlvsym(RTLD_NEXT, #name, "GLIBC_2.2.5");               \
			__atomic_store_n(&real, f, __ATOMIC_RELAXED);                             \
		}                                                                                 \
		before;                                                                           \
		return f args;                                                                    \
	}                                                                                         \
	__asm__(".symver ty_old_" #name "," #name "@GLIBC_2.2.5,remove")

OLD(pthread_cond_wait, (void *c, pthread_mutex_t *m), (c, m), ty_unlock_inside(m));
OLD(pthread_cond_timedwait, (void *c, pthread_mutex_t *m, const struct timespec *t), (c, m, t), ty_unlock_inside(m));
OLD(pthread_cond_signal, (void *c), (c), (void)0);
OLD(pthread_cond_broadcast, (void *c), (c), (void)0);

#endif

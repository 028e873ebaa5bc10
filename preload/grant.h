/* SPDX-License-Identifier: MIT
 * What the wrappers call: the real functions, or in the place of some of them
 * those of policies/, which call the real ones in their turn.  Nothing else in
 * the library goes through here.
 *
 * Written by the constructor only, before ty_self.arena is set; a hook that
 * runs earlier finds NULL and goes to the real function. */
#ifndef TY_GRANT_H
#define TY_GRANT_H

#include "preload/real.h"

#pragma GCC visibility push(hidden)

extern struct ty_real ty_grant;

/* What a wrapper tries before it waits.  Apart from ty_grant, where the same name
 * stands for the application's own try: that one queues for nothing and may
 * overtake whoever does. */
struct ty_first {
	int (*pthread_mutex_trylock)(pthread_mutex_t *m);
	int (*pthread_rwlock_tryrdlock)(pthread_rwlock_t *l);
	int (*pthread_rwlock_trywrlock)(pthread_rwlock_t *l);
	int (*pthread_spin_trylock)(pthread_spinlock_t *s);
	int (*mtx_trylock)(mtx_t *m);
};
extern struct ty_first ty_first;

/* Both become the real functions, which are resolved. */
void ty_grant_start(void);
/* fn into a place of a table, as TY_GRANT reads it: another library's constructor may
 * have threads that look.  Relaxed: whichever function they find is right. */
#define TY_PUT(table, name, fn) __atomic_store_n(&(table).name, fn, __ATOMIC_RELAXED)

/* From anywhere at any time; a hook that has its slot may use ty_grant.name. */
#define TY_GRANT(name)                                                                           \
	(__extension__({                                                                         \
		__typeof__(ty_grant.name) grant_ = __atomic_load_n(&ty_grant.name, __ATOMIC_RELAXED); \
		TY_LIKELY(grant_) ? grant_ : TY_REAL(name);                                      \
	}))

#pragma GCC visibility pop

#endif

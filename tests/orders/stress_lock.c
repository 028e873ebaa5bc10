/* SPDX-License-Identifier: MIT
 *
 * Mutexes of all kinds, and locks of readers and writers, under stress: who has
 * one is alone (or among readers), and every call returns what the kind says.
 */
#include "stress.h"

static struct mutex {
	pthread_mutex_t lock;
	unsigned owner; /* 0: nobody */
	uint64_t first, second;
} mutexes[KINDS];

void init_mutex(pthread_mutex_t *m, enum kind k)
{
	static const int type[KINDS] = {[RECURSIVE] = PTHREAD_MUTEX_RECURSIVE, [CHECKING] = PTHREAD_MUTEX_ERRORCHECK,
					[ADAPTIVE] = PTHREAD_MUTEX_ADAPTIVE_NP};
	pthread_mutexattr_t a;
	pthread_mutexattr_init(&a);
	IS_OK(pthread_mutexattr_settype(&a, type[k]));
	if (k == ROBUST)
		IS_OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
	if (k == INHERITING)
		IS_OK(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT));
	if (k == SHARED)
		IS_OK(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
	IS_OK(pthread_mutex_init(m, &a));
	pthread_mutexattr_destroy(&a);
}

/* One of the ways to lock; false: it was not to be had. */
static bool lock_somehow(struct worker *w, struct mutex *m, int *error)
{
	struct timespec until;
	clockid_t clock = CLOCK_REALTIME;
	switch (random_next(&w->random) % 6) {
	case 0:
		*error = pthread_mutex_trylock(&m->lock);
		CHECK(*error == 0 || *error == EBUSY || *error == EOWNERDEAD);
		return *error != EBUSY;
	case 1:
		until = soon(w, clock);
		*error = pthread_mutex_timedlock(&m->lock, &until);
		break;
	case 2:
		/* a mutex that inherits priorities knows only REALTIME */
		clock = m == &mutexes[INHERITING] ? CLOCK_REALTIME : CLOCK_MONOTONIC;
		until = soon(w, clock);
		*error = pthread_mutex_clocklock(&m->lock, clock, &until);
		break;
	default:
		*error = pthread_mutex_lock(&m->lock);
		CHECK(*error == 0 || *error == EOWNERDEAD);
		return true;
	}
	CHECK(*error == 0 || *error == EOWNERDEAD || (*error == ETIMEDOUT && has_come(clock, &until)));
	return *error != ETIMEDOUT;
}

static void inside(struct worker *w, struct mutex *m)
{
	CHECK(m->owner == 0 && m->first == m->second);
	m->owner = w->id;
	m->first++;
	dawdle(w);
	CHECK(m->owner == w->id);
	m->second++;
	m->owner = 0;
}

static void mutex(struct worker *w)
{
	enum kind k = random_next(&w->random) % KINDS;
	struct mutex *m = &mutexes[k];
	int error;
	if (k == CHECKING)
		CHECK(pthread_mutex_unlock(&m->lock) == EPERM);
	if (!lock_somehow(w, m, &error))
		return;
	if (error == EOWNERDEAD) {
		CHECK(k == ROBUST);
		IS_OK(pthread_mutex_consistent(&m->lock));
	}
	if (k == CHECKING)
		CHECK(pthread_mutex_lock(&m->lock) == EDEADLK);
	if (k == RECURSIVE)
		IS_OK(pthread_mutex_lock(&m->lock));
	inside(w, m);
	if (k == RECURSIVE)
		IS_OK(pthread_mutex_unlock(&m->lock));
	IS_OK(pthread_mutex_unlock(&m->lock));
}

static void *die_with_it(void *m)
{
	struct mutex *r = m;
	int e = pthread_mutex_lock(&r->lock);
	CHECK(e == 0 || e == EOWNERDEAD);
	if (e == EOWNERDEAD)
		IS_OK(pthread_mutex_consistent(&r->lock));
	return NULL;
}

static void robust_death(struct worker *w)
{
	pthread_t t;
	(void)w;
	IS_OK(pthread_create(&t, NULL, die_with_it, &mutexes[ROBUST]));
	IS_OK(pthread_join(t, NULL));
}

/* ---- readers and writers ---- */
#define RWLOCKS 2 /* the second prefers writers */

static struct rw {
	pthread_rwlock_t lock;
	_Atomic unsigned readers, writers;
	uint64_t first, second;
} rwlocks[RWLOCKS];

static bool rw_lock(struct worker *w, struct rw *r, bool writer)
{
	clockid_t clock = one_in(w, 2) ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	struct timespec until = soon(w, clock);
	int e;
	switch (random_next(&w->random) % 5) {
	case 0:
		e = (writer ? pthread_rwlock_trywrlock : pthread_rwlock_tryrdlock)(&r->lock);
		CHECK(e == 0 || e == EBUSY);
		return e == 0;
	case 1:
		if (clock == CLOCK_REALTIME && one_in(w, 2))
			e = (writer ? pthread_rwlock_timedwrlock : pthread_rwlock_timedrdlock)(&r->lock, &until);
		else
			e = (writer ? pthread_rwlock_clockwrlock : pthread_rwlock_clockrdlock)(&r->lock, clock, &until);
		CHECK(e == 0 || (e == ETIMEDOUT && has_come(clock, &until)));
		return e == 0;
	default:
		IS_OK((writer ? pthread_rwlock_wrlock : pthread_rwlock_rdlock)(&r->lock));
		return true;
	}
}

static void rw_read(struct worker *w)
{
	unsigned which = (unsigned)(random_next(&w->random) % RWLOCKS);
	struct rw *r = &rwlocks[which];
	if (!rw_lock(w, r, false))
		return;
	atomic_fetch_add(&r->readers, 1);
	bool twice = which == 0 && one_in(w, 3); /* allowed where readers are preferred */
	if (twice)
		IS_OK(pthread_rwlock_rdlock(&r->lock));
	CHECK(atomic_load(&r->writers) == 0 && r->first == r->second);
	dawdle(w);
	CHECK(atomic_load(&r->writers) == 0 && r->first == r->second);
	if (twice)
		IS_OK(pthread_rwlock_unlock(&r->lock));
	atomic_fetch_sub(&r->readers, 1);
	IS_OK(pthread_rwlock_unlock(&r->lock));
}

static void rw_write(struct worker *w)
{
	struct rw *r = &rwlocks[random_next(&w->random) % RWLOCKS];
	if (!rw_lock(w, r, true))
		return;
	CHECK(atomic_fetch_add(&r->writers, 1) == 0 && atomic_load(&r->readers) == 0);
	CHECK(pthread_rwlock_wrlock(&r->lock) == EDEADLK);
	r->first++;
	dawdle(w);
	r->second++;
	CHECK(atomic_load(&r->readers) == 0 && atomic_fetch_sub(&r->writers, 1) == 1);
	IS_OK(pthread_rwlock_unlock(&r->lock));
}

void lock_open(void)
{
	pthread_rwlockattr_t ra;
	for (enum kind k = 0; k < KINDS; k++)
		init_mutex(&mutexes[k].lock, k);
	pthread_rwlockattr_init(&ra);
	IS_OK(pthread_rwlock_init(&rwlocks[0].lock, &ra));
	IS_OK(pthread_rwlockattr_setkind_np(&ra, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP));
	IS_OK(pthread_rwlock_init(&rwlocks[1].lock, &ra));
}

void lock_check(void)
{
	for (enum kind k = 0; k < KINDS; k++) {
		int e = pthread_mutex_trylock(&mutexes[k].lock); /* nobody has it */
		CHECK(e == 0 || (e == EOWNERDEAD && k == ROBUST));
		if (e == EOWNERDEAD)
			IS_OK(pthread_mutex_consistent(&mutexes[k].lock));
		CHECK(mutexes[k].owner == 0 && mutexes[k].first == mutexes[k].second);
		IS_OK(pthread_mutex_unlock(&mutexes[k].lock));
	}
	for (unsigned i = 0; i < RWLOCKS; i++) {
		IS_OK(pthread_rwlock_trywrlock(&rwlocks[i].lock));
		CHECK(rwlocks[i].first == rwlocks[i].second);
		IS_OK(pthread_rwlock_unlock(&rwlocks[i].lock));
	}
}

const struct operation lock_operations[] = {
	{"mutex", mutex, 30},
	{"robust_death", robust_death, 1},
	{"rw_read", rw_read, 12},
	{"rw_write", rw_write, 6},
	{NULL, NULL, 0}};

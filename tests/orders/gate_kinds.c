/* SPDX-License-Identifier: MIT
 * What calls return for every kind of mutex while others queue for it.  Prints
 * the same with and without a gate. */
#include "gate.h"

#include <threads.h>

enum { GUESTS = 9 };
static struct guest guest[GUESTS];

static void locks(struct guest *g)
{
	here(g);
	g->result = pthread_mutex_lock(g->arg);
	if (g->result == 0)
		IS(pthread_mutex_unlock(g->arg), 0);
}

static void timed(struct guest *g, struct timespec until)
{
	here(g);
	g->result = pthread_mutex_timedlock(g->arg, &until);
	if (g->result == 0)
		IS(pthread_mutex_unlock(g->arg), 0);
}

static void clocked(struct guest *g, clockid_t clock, struct timespec until)
{
	here(g);
	g->result = pthread_mutex_clocklock(g->arg, clock, &until);
	if (g->result == 0)
		IS(pthread_mutex_unlock(g->arg), 0);
}

static void waits_long(struct guest *g) { timed(g, in(CLOCK_REALTIME, 1000)); }
static void came_late(struct guest *g) { timed(g, (struct timespec){ 1, 0 }); }
static void says_nonsense(struct guest *g) { timed(g, (struct timespec){ 1, 1000000000 }); }
static void monotonic(struct guest *g) { clocked(g, CLOCK_MONOTONIC, in(CLOCK_MONOTONIC, 1000)); }
static void no_such_clock(struct guest *g) { clocked(g, 77, in(CLOCK_MONOTONIC, 1000)); }
static void a_moment(struct guest *g)
{
	struct timespec t = in(CLOCK_REALTIME, 0);
	t.tv_nsec += 30000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	timed(g, t);
}
static void tries(struct guest *g)
{
	here(g);
	g->result = pthread_mutex_trylock(g->arg);
}
static void unlocks(struct guest *g) /* not its own */
{
	here(g);
	g->result = pthread_mutex_unlock(g->arg);
}

static void contend(const char *name, pthread_mutex_t *m, int type, bool checks_owner)
{
	static void (*const calls[GUESTS])(struct guest *) = { locks,         waits_long,    monotonic, locks, came_late,
							       says_nonsense, no_such_clock, tries,     a_moment };
	struct guest other;
	IS(pthread_mutex_lock(m), 0);
	for (int i = 0; i < GUESTS; i++)
		invite(&guest[i], calls[i], m, i);
	until(&guest[4].has); /* it may sleep for a moment, too */
	if (type == PTHREAD_MUTEX_RECURSIVE) {
		IS(pthread_mutex_lock(m), 0);
		IS(pthread_mutex_trylock(m), 0);
		IS(pthread_mutex_unlock(m), 0);
		IS(pthread_mutex_unlock(m), 0);
	}
	if (type == PTHREAD_MUTEX_ERRORCHECK) {
		struct timespec long_from_now = in(CLOCK_REALTIME, 1000);
		IS(pthread_mutex_lock(m), EDEADLK);
		IS(pthread_mutex_timedlock(m, &long_from_now), EDEADLK);
	}
	if (checks_owner) {
		invite(&other, unlocks, m, 0);
		farewell(&other);
		IS(other.result, EPERM);
	}
	until(&guest[GUESTS - 1].has);
	IS(pthread_mutex_unlock(m), 0);
	printf("%s:", name);
	for (int i = 0; i < GUESTS; i++) {
		farewell(&guest[i]);
		printf(" %d", guest[i].result);
	}
	printf("\n");
	IS(pthread_mutex_destroy(m), 0);
}

/* ---- an owner that dies ---- */

static bool repairs;

static void inherits(struct guest *g)
{
	here(g);
	g->result = pthread_mutex_lock(g->arg);
	if (g->result == EOWNERDEAD && repairs)
		IS(pthread_mutex_consistent(g->arg), 0);
	if (g->result != ENOTRECOVERABLE)
		IS(pthread_mutex_unlock(g->arg), 0);
}

static void dies(struct guest *g)
{
	IS(pthread_mutex_lock(g->arg), 0);
	here(g);
	g->result = 0;
	atomic_store(&g->has, true);
	until(&g->may_go);
}

static void owner_dies(const char *name, pthread_mutex_t *m)
{
	struct guest owner;
	int dead = 0, lost = 0, fine = 0;
	int heirs = repairs ? 4 : 1; /* glibc does not wake all who wait for one that is lost */
	invite(&owner, dies, m, 0);
	for (int i = 0; i < heirs; i++)
		invite(&guest[i], inherits, m, i);
	atomic_store(&owner.may_go, true);
	farewell(&owner);
	for (int i = 0; i < heirs; i++) {
		farewell(&guest[i]);
		dead += guest[i].result == EOWNERDEAD;
		lost += guest[i].result == ENOTRECOVERABLE;
		fine += guest[i].result == 0;
	}
	printf("%s, owner dies, %s: %d told, %d lost, %d fine, then %d\n", name, repairs ? "repaired" : "left so", dead,
	       lost, fine, pthread_mutex_lock(m));
	if (repairs)
		IS(pthread_mutex_unlock(m), 0);
}

static void init(pthread_mutex_t *m, int type, int protocol, int robust)
{
	pthread_mutexattr_t a;
	IS(pthread_mutexattr_init(&a), 0);
	IS(pthread_mutexattr_settype(&a, type), 0);
	IS(pthread_mutexattr_setprotocol(&a, protocol), 0);
	IS(pthread_mutexattr_setrobust(&a, robust), 0);
	IS(pthread_mutex_init(m, &a), 0);
}

/* ---- C11 ---- */

static void c11_locks(struct guest *g)
{
	here(g);
	g->result = mtx_lock(g->arg);
	if (g->result == thrd_success)
		IS(mtx_unlock(g->arg), thrd_success);
}

static void c11_timed(struct guest *g)
{
	struct timespec t = g->number % 2 ? in(CLOCK_REALTIME, 1000) : (struct timespec){ 1, 0 };
	here(g);
	g->result = mtx_timedlock(g->arg, &t);
	if (g->result == thrd_success)
		IS(mtx_unlock(g->arg), thrd_success);
}

static void c11(const char *name, int type)
{
	mtx_t m;
	IS(mtx_init(&m, type), thrd_success);
	IS(mtx_lock(&m), thrd_success);
	for (int i = 0; i < GUESTS; i++)
		invite(&guest[i], i % 3 && type & mtx_timed ? c11_timed : c11_locks, &m, i);
	for (int i = 2; i < GUESTS && type & mtx_timed; i += 2) /* who came late may sleep for a moment, too */
		if (i % 3)
			until(&guest[i].has);
	if (type & mtx_recursive) {
		IS(mtx_lock(&m), thrd_success);
		IS(mtx_unlock(&m), thrd_success);
	}
	IS(mtx_unlock(&m), thrd_success);
	printf("%s:", name);
	for (int i = 0; i < GUESTS; i++) {
		farewell(&guest[i]);
		printf(" %d", guest[i].result);
	}
	printf("\n");
	mtx_destroy(&m);
}

int main(void)
{
	static const struct {
		const char *name;
		int type;
	} types[] = { { "normal", PTHREAD_MUTEX_NORMAL },
		      { "recursive", PTHREAD_MUTEX_RECURSIVE },
		      { "errorcheck", PTHREAD_MUTEX_ERRORCHECK } };
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		for (int inherit = 0; inherit < 2; inherit++)
			for (int robust = 0; robust < 2; robust++) {
				char name[64];
				pthread_mutex_t m;
				int protocol = inherit ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE;
				snprintf(name, sizeof name, "%s%s%s", types[i].name, inherit ? " inherit" : "",
					 robust ? " robust" : "");
				init(&m, types[i].type, protocol, robust);
				contend(name, &m, types[i].type, robust || types[i].type != PTHREAD_MUTEX_NORMAL);
				for (int r = 0; robust && r < 2; r++) {
					repairs = r;
					init(&m, types[i].type, protocol, robust);
					owner_dies(name, &m);
				}
			}
	pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
	contend("adaptive", &adaptive, PTHREAD_MUTEX_NORMAL, false);
	c11("plain", mtx_plain);
	c11("timed recursive", mtx_timed | mtx_recursive);
	return 0;
}

/* SPDX-License-Identifier: MIT
 * Who gets a lock after whom: gate_order ORDER.  Threads come one by one, with
 * requests that were begun in another order than they come in. */
#include "gate.h"

#include <dlfcn.h>
#include <threads.h>
#include "tarry/tarry.h"

enum { GUESTS = 9 };
static const int rank[GUESTS] = { 4, 7, 2, 8, 0, 5, 3, 6, 1 }; /* whose request is how old, 0: oldest */
static struct guest guest[GUESTS + 32];
static int log_[GUESTS], logged;

/* A request of its own for each number; begun now, carried by nobody. */
static void begin(int number)
{
	struct timespec was, now;
	tarry_request_begin((uint64_t)number, NULL);
	tarry_request_pause((uint64_t)number);
	clock_gettime(CLOCK_MONOTONIC, &was);
	do /* no two are of one age */
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_nsec / 1000 == was.tv_nsec / 1000);
}

/* ---- one queue, four kinds of lock ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, timed_mutex = PTHREAD_MUTEX_INITIALIZER;
static mtx_t c11;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;

static void lock_mutex(void) { IS(pthread_mutex_lock(&mutex), 0); }
static void unlock_mutex(void) { IS(pthread_mutex_unlock(&mutex), 0); }
static void lock_timed(void)
{
	struct timespec t = in(CLOCK_MONOTONIC, 1000);
	IS(pthread_mutex_clocklock(&timed_mutex, CLOCK_MONOTONIC, &t), 0);
}
static void unlock_timed(void) { IS(pthread_mutex_unlock(&timed_mutex), 0); }
static void lock_c11(void) { IS(mtx_lock(&c11), thrd_success); }
static void unlock_c11(void) { IS(mtx_unlock(&c11), thrd_success); }
static void lock_rw(void) { IS(pthread_rwlock_wrlock(&rw), 0); }
static void unlock_rw(void) { IS(pthread_rwlock_unlock(&rw), 0); }

static const struct kind {
	const char *name;
	void (*lock)(void), (*unlock)(void);
} kinds[] = { { "mutex", lock_mutex, unlock_mutex },
	      { "timed mutex", lock_timed, unlock_timed },
	      { "c11", lock_c11, unlock_c11 },
	      { "rwlock, writers", lock_rw, unlock_rw } };

static void comes(struct guest *g)
{
	const struct kind *k = g->arg;
	tarry_request_resume((uint64_t)g->number);
	here(g);
	k->lock();
	log_[logged++] = g->number;
	k->unlock();
	tarry_request_end((uint64_t)g->number);
}

/* What the order is by definition: the first one is at the lock already; then of
 * those who are there whoever comes first by the order, unless somebody was passed
 * over twice as often as there are. */
static int better(const char *order, int a, int b)
{
	return strcmp(order, "eldest") == 0   ? rank[a] < rank[b] :
	       strcmp(order, "largest") == 0  ? rank[a] < rank[b] :
	       strcmp(order, "youngest") == 0 ? rank[a] > rank[b] :
						a < b;
}

static int next_by(const char *order, bool *there, int *passed)
{
	int n = 0, best = -1;
	for (int i = 0; i < GUESTS; i++)
		n += there[i];
	for (int i = 0; i < GUESTS && n > 1 && best < 0; i++)
		if (there[i] && passed[i] >= 2 * n)
			best = i;
	for (int i = 0, forced = best >= 0; i < GUESTS && !forced; i++)
		if (there[i] && (best < 0 || better(order, i, best)))
			best = i;
	for (int i = 0; i < best; i++)
		passed[i] += there[i];
	there[best] = false;
	return best;
}

static void one_queue(const char *order, const struct kind *k)
{
	bool there[GUESTS];
	int passed[GUESTS] = { 0 };
	for (int r = 0; r < GUESTS; r++)
		for (int i = 0; i < GUESTS; i++)
			if (rank[i] == r)
				begin(i);
	logged = 0;
	k->lock();
	for (int i = 0; i < GUESTS; i++) {
		invite(&guest[i], comes, (void *)(uintptr_t)k, i);
		there[i] = i != 0;
	}
	k->unlock();
	for (int i = 0; i < GUESTS; i++)
		farewell(&guest[i]);
	IS(logged, GUESTS);
	IS(log_[0], 0);
	if (strcmp(order, "random") == 0) {
		for (int i = 0; i < GUESTS; i++)
			there[log_[i]] = true;
		for (int i = 0; i < GUESTS; i++)
			CHECK(there[i]);
		return;
	}
	for (int i = 1; i < GUESTS; i++) {
		int want = next_by(order, there, passed);
		if (log_[i] != want)
			fprintf(stderr, "%s: number %d is %d, not %d\n", k->name, i, log_[i], want);
		IS(log_[i], want);
	}
}

/* ---- unlocked, and locked still ---- */

static pthread_mutex_t nested = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void comes_to_nested(struct guest *g)
{
	tarry_request_resume((uint64_t)g->number);
	here(g);
	IS(pthread_mutex_lock(&nested), 0);
	if (g->number == 0) {
		IS(pthread_mutex_lock(&nested), 0);
		IS(pthread_mutex_unlock(&nested), 0);
		atomic_store(&g->has, true);
		until(&g->may_go);
	}
	log_[logged++] = g->number;
	IS(pthread_mutex_unlock(&nested), 0);
	tarry_request_end((uint64_t)g->number);
}

/* Number 0 had the choice of number 1 when it unlocked for the first time, and lets
 * the lock go when number 2 is there as well, which is older. */
static void still_locked(void)
{
	for (int i = 2; i >= 0; i--)
		begin(i);
	logged = 0;
	IS(pthread_mutex_lock(&nested), 0);
	invite(&guest[0], comes_to_nested, NULL, 0);
	invite(&guest[1], comes_to_nested, NULL, 1);
	IS(pthread_mutex_unlock(&nested), 0);
	until(&guest[0].has);
	invite(&guest[2], comes_to_nested, NULL, 2);
	atomic_store(&guest[0].may_go, true);
	for (int i = 0; i < 3; i++)
		farewell(&guest[i]);
	IS(log_[1], 2);
	IS(log_[2], 1);
}

/* ---- let go by a condition wait of a very old binary ---- */

#ifdef __x86_64__
static int (*old_wait)(void **c, pthread_mutex_t *m), (*old_signal)(void **c);
static void *old_cond;
static int came;

static void waits_for_all(struct guest *g)
{
	here(g);
	lock_mutex();
	if (g->number == 0)
		while (came < 4)
			IS(old_wait(&old_cond, &mutex), 0);
	else if (++came == 4)
		IS(old_signal(&old_cond), 0);
	unlock_mutex();
}

static void old_binary(void)
{
	*(void **)&old_wait = dlvsym(RTLD_DEFAULT, "pthread_cond_wait", "GLIBC_2.2.5");
	*(void **)&old_signal = dlvsym(RTLD_DEFAULT, "pthread_cond_signal", "GLIBC_2.2.5");
	CHECK(old_wait && old_signal);
	lock_mutex();
	for (int i = 0; i < 5; i++)
		invite(&guest[i], waits_for_all, NULL, i);
	unlock_mutex();
	for (int i = 0; i < 5; i++)
		farewell(&guest[i]);
}
#else
static void old_binary(void) {}
#endif

/* ---- the bound of being passed over ---- */

static _Atomic int turns;

static void takes_a_turn(struct guest *g)
{
	tarry_request_resume((uint64_t)g->number);
	here(g);
	lock_mutex();
	g->result = atomic_fetch_add(&turns, 1);
	atomic_store(&g->has, true);
	until(&g->may_go);
	unlock_mutex();
	tarry_request_end((uint64_t)g->number);
}

/* Under `youngest` somebody always comes who is younger than the first that
 * queued.  At each choice `crowd` are there. */
static void bound(int crowd)
{
	int came = 0, last = 2 * crowd + 2;
	atomic_store(&turns, 0);
	lock_mutex();
	for (; came < crowd; came++) { /* number 0 goes to the lock itself, 1 is the one */
		begin(came);
		invite(&guest[came], takes_a_turn, NULL, came);
	}
	unlock_mutex();
	for (int turn = 0; turn < last; turn++) {
		struct guest *in = NULL;
		while (!in)
			for (int i = 0; i < came && !in; i++)
				if (atomic_load(&guest[i].has) && !atomic_load(&guest[i].may_go))
					in = &guest[i];
		if (came < 3 * crowd + 1) { /* who has the lock chooses when he lets it go */
			begin(came);
			invite(&guest[came], takes_a_turn, NULL, came);
			came++;
		}
		atomic_store(&in->may_go, true);
	}
	for (int i = 0; i < came; i++)
		atomic_store(&guest[i].may_go, true);
	for (int i = 0; i < came; i++)
		farewell(&guest[i]);
	/* number 0, then 2 * crowd who passed the one by, then the one */
	IS(guest[1].result, 2 * crowd + 1);
}

/* ---- behind whom most wait ---- */

static pthread_mutex_t held[GUESTS];
static struct guest behind[2 * GUESTS];

static void comes_with_a_lock(struct guest *g)
{
	IS(pthread_mutex_lock(&held[g->number]), 0);
	tarry_request_resume((uint64_t)g->number);
	atomic_store(&g->has, true);
	here(g);
	until(&g->may_go);
	atomic_store(&g->has, false);
	atomic_store(&g->asks, true);
	lock_mutex();
	log_[logged++] = g->number;
	unlock_mutex();
	IS(pthread_mutex_unlock(&held[g->number]), 0);
	tarry_request_end((uint64_t)g->number);
}

static void waits_behind(struct guest *g)
{
	pthread_mutex_t *m = &held[g->number];
	here(g);
	IS(pthread_mutex_lock(m), 0);
	IS(pthread_mutex_unlock(m), 0);
}

static void largest(void)
{
	static const int followers[6] = { 0, 1, 0, 3, 0, 2 }, want[6] = { 0, 3, 5, 1, 4, 2 };
	int n = 0;
	for (int i = 5; i >= 0; i--) /* the later, the older */
		begin(i);
	lock_mutex();
	for (int i = 0; i < 6; i++) {
		IS(pthread_mutex_init(&held[i], NULL), 0);
		invite(&guest[i], comes_with_a_lock, NULL, i);
		for (int k = 0; k < followers[i]; k++)
			invite(&behind[n++], waits_behind, NULL, i);
	}
	logged = 0;
	for (int i = 0; i < 6; i++) {
		atomic_store(&guest[i].may_go, true);
		until(&guest[i].asks);
		until_waiting(&guest[i]);
	}
	unlock_mutex();
	for (int i = 0; i < 6; i++)
		farewell(&guest[i]);
	for (int i = 0; i < n; i++)
		farewell(&behind[i]);
	for (int i = 0; i < 6; i++)
		IS(log_[i], want[i]);
}

int main(int argc, char **argv)
{
	const char *order = argc > 1 ? argv[1] : "";
	IS(mtx_init(&c11, mtx_plain), thrd_success);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		one_queue(order, &kinds[i]);
	if (strcmp(order, "youngest") == 0)
		for (int crowd = 2; crowd <= 8; crowd *= 2)
			bound(crowd);
	if (strcmp(order, "largest") == 0)
		largest();
	if (strcmp(order, "eldest") == 0)
		still_locked();
	old_binary();
	puts("ok");
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Every interleaving of a few waiters and signallers, through the code of
 * policies/queue.c, waiter.c and cond.c itself.
 *
 * Each actor runs on a stack of its own and stops before every step that others
 * can see: the mutex, a section with the bucket locked, a post, a sleep.  From
 * each state all actors that can go on are tried, a sleeper also with its deadline,
 * its bound or a cancellation, and a section with every order of picking; a state
 * is all memory that the actors and the queue use, and is entered once.  So what
 * holds in the states that were reached holds for every order of steps and every
 * order of grants.  What is left out is that memory is weakly ordered; all of it
 * is used under the bucket's lock, but for a hint that the mutex orders.
 * "more" as an argument plays larger ones, too.
 *
 * Asked of every state: nobody is posted twice or without having been granted.
 * Of every state in which nobody can go on but by a deadline or the bound: nobody
 * sleeps while there is something to take.  In the end: the queue is empty and all
 * waiters are given back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

/* What the headers below poison. */
static void *take(size_t size)
{
	void *p = malloc(size);
	if (!p)
		abort();
	return p;
}
static void drop(void *p)
{
	free(p);
}
static void say(const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	fflush(stdout);
}

#include "tests/unit/orders_world.h"

/* A cancelled wait runs this handler and never returns. */
#undef pthread_cleanup_push
#undef pthread_cleanup_pop
#define pthread_cleanup_push(fn, arg) \
	do {                          \
		cleanup_set(fn, arg)
#define pthread_cleanup_pop(run)       \
		cleanup_set(NULL, NULL); \
	} while (0)
static void cleanup_set(void (*fn)(void *), void *arg);

#include "policies/cond.c"
#include "policies/unlock.c"

#define ACTORS 5
#define STACK 6144
#define BELOW 192 /* of a stack in use lies below the frame that stopped, at most */
#define SEEDS 6

enum step { START, STEP, LOCK, SECTION, POST, SLEEP, TAKE, NATIVE_SLEEP, DONE };
enum { GO, TIME, CANCEL, SEED }; /* choices of a step; SEED + k: with the k-th generator */

struct actor {
	jmp_buf at;
	char *frame;              /* of the function that stopped there */
	enum step step;
	int choice, error;
	uint32_t *sem;            /* of POST, SLEEP, TAKE */
	void (*cleanup)(void *);
	void *cleanup_arg;
	struct ty_order_tls tls;
	enum { WAITER, TIMED, NATIVE, SIGNALS, SIGNALS_LATE, BROADCASTS } role;
};

/* All that changes, but for stacks, bucket and pool. */
static struct model {
	struct actor actor[ACTORS];
	int n, owner; /* of the mutex; -1: nobody */
	int items, native_waiting, native_tokens;
	int looks, timeouts, cancels; /* how many there may still be */
	pthread_cond_t cond;
	pthread_mutex_t mutex;
} m;
static char stacks[ACTORS][STACK] __attribute__((aligned(64)));
static int me;
static jmp_buf scheduler;
static ucontext_t entry; /* where an actor that has not begun begins */
static uint64_t seeds[SEEDS];
static const char *wrong; /* what was found */

static void cleanup_set(void (*fn)(void *), void *arg)
{
	m.actor[me].cleanup = fn;
	m.actor[me].cleanup_arg = arg;
}

/* ---- what the code stands on ---- */

static TY_NOINLINE int stop(enum step step, void *sem)
{
	struct actor *a = &m.actor[me];
	a->step = step;
	a->sem = sem;
	a->error = errno;
	a->frame = TY_FP;
	if (!_setjmp(a->at))
		_longjmp(scheduler, 1);
	errno = m.actor[me].error;
	return m.actor[me].choice;
}

static long model_syscall(long n, ...)
{
	if (n == SYS_futex)
		wrong = "a bucket was locked already";
	va_list ap;
	va_start(ap, n);
	va_arg(ap, long);
	const uint64_t *mask = va_arg(ap, void *);
	if (n == SYS_rt_sigprocmask && *mask == ~0ull) {
		int choice = stop(SECTION, NULL);
		if (choice >= SEED)
			bucket_of(&m.cond)->random[0] = seeds[choice - SEED];
	}
	va_end(ap);
	return 0;
}

static struct ty_waiter *waiter_of(const void *sem)
{
	return (struct ty_waiter *)(uintptr_t)((const char *)sem - offsetof(struct ty_waiter, grant));
}

static int model_post(sem_t *sem)
{
	stop(POST, sem);
	uint32_t *value = (void *)sem;
	if (*value != 0 || waiter_of(sem)->state != TY_W_GRANTED)
		wrong = "posted twice, or nobody who was granted";
	++*value;
	return 0;
}

static int model_take(sem_t *sem)
{
	stop(TAKE, sem);
	--*(uint32_t *)(void *)sem;
	return 0;
}

static int lock_model(pthread_mutex_t *mutex)
{
	(void)mutex;
	stop(LOCK, NULL);
	m.owner = me;
	return 0;
}

/* Goes with the step before it: until then others can only do what they can do
 * afterwards, too. */
static int unlock_model(pthread_mutex_t *mutex)
{
	(void)mutex;
	if (m.owner != me)
		wrong = "unlocked by another";
	m.owner = -1;
	return 0;
}

static void ended(void)
{
	if (ty_order_tls.top)
		wrong = "a waiter was not given back";
	stop(DONE, NULL);
}

static int model_sleep(sem_t *sem, clockid_t clock, const struct timespec *t)
{
	(void)clock, (void)t;
	struct actor *a = &m.actor[me];
	switch (stop(SLEEP, sem)) {
	case TIME:
		errno = ETIMEDOUT;
		return -1;
	case CANCEL:
		a->cleanup(a->cleanup_arg);
		if (m.owner != me)
			wrong = "cancelled without the mutex";
		ty_unlock(&m.mutex); /* the program's own handler */
		ended();
	}
	--*(uint32_t *)(void *)sem;
	return 0;
}

static int native_wait(pthread_cond_t *c, pthread_mutex_t *mutex)
{
	stop(STEP, NULL);
	c->__data.__wrefs += 8;
	m.native_waiting++;
	m.owner = -1;
	stop(NATIVE_SLEEP, NULL);
	m.native_tokens--;
	m.native_waiting--;
	c->__data.__wrefs -= 8;
	return lock_model(mutex);
}

static int native_signal(pthread_cond_t *c)
{
	(void)c;
	stop(STEP, NULL);
	m.native_tokens += m.native_tokens < m.native_waiting;
	return 0;
}

static int native_broadcast(pthread_cond_t *c)
{
	(void)c;
	stop(STEP, NULL);
	m.native_tokens = m.native_waiting;
	return 0;
}

uint32_t ty_select(enum ty_op op, const void *o, bool *idle)
{
	(void)op, (void)o;
	*idle = false;
	return m.actor[me].role == NATIVE ? TY_NO_RULE : 0;
}
int ty_clock(clockid_t clock, struct timespec *t)
{
	(void)clock;
	t->tv_sec = t->tv_nsec = 0;
	return 1;
}
void ty_age_given(const void *o, uint64_t age) { (void)o, (void)age; }
void ty_age_idle(void) {}
void ty_age_busy(void) {}

/* ---- actors ---- */

static void waits(void)
{
	static const struct timespec soon = { 0, 1 };
	lock_model(&m.mutex);
	int r = 0;
	while (m.items == 0 && r == 0) {
		r = m.actor[me].role == TIMED ? cond_timedwait(&m.cond, &m.mutex, &soon) : cond_wait(&m.cond, &m.mutex);
		if (m.owner != me)
			wrong = "a wait returned without the mutex";
	}
	m.items -= r == 0; /* one that is late looks at nothing, so it may not have been granted */
	ty_unlock(&m.mutex);
}

static void signals(int role, int waiters)
{
	lock_model(&m.mutex);
	m.items += role == BROADCASTS ? waiters : 1;
	if (role == SIGNALS)
		cond_signal(&m.cond);
	ty_unlock(&m.mutex);
	stop(STEP, NULL);
	if (role == SIGNALS_LATE)
		cond_signal(&m.cond);
	if (role == BROADCASTS)
		cond_broadcast(&m.cond);
}

static void run_actor(void)
{
	int role = m.actor[me].role, waiters = 0;
	for (int i = 0; i < m.n; i++)
		waiters += m.actor[i].role < SIGNALS;
	if (role < SIGNALS)
		waits();
	else
		signals(role, waiters);
	ended();
}

/* ---- states ---- */

/* The lower end of what an actor has on its stack. */
static char *lowest(int i)
{
	return m.actor[i].step == START ? stacks[i] + STACK : m.actor[i].frame - BELOW;
}

/* One for each step of the present trail. */
#define DEEPEST 128
#define STATE_SIZE (sizeof m + sizeof(struct ty_bucket) + ACTORS * sizeof *pool + sizeof arrivals + sizeof stacks)
static char *states[DEEPEST];

/* The pieces of a state, one after the other. */
static size_t pieces(char *copy, void (*each)(char *copy, void *live, size_t size))
{
	size_t done = 0;
#define PIECE(p, size) (each(copy + done, (void *)(p), (size)), done += (size))
	PIECE(&m, sizeof m);
	PIECE(bucket_of(&m.cond), sizeof(struct ty_bucket));
	PIECE(pool, ACTORS * sizeof *pool);
	PIECE(&arrivals, sizeof arrivals);
	for (int i = 0; i < m.n; i++)
		PIECE(lowest(i), (size_t)(stacks[i] + STACK - lowest(i)));
	return done;
}
static void save_piece(char *copy, void *live, size_t size) { memcpy(copy, live, size); }
static void load_piece(char *copy, void *live, size_t size) { memcpy(live, copy, size); }

static uint64_t hash_now;
static void hash_piece(char *copy, void *live, size_t size)
{
	(void)copy;
	uint64_t word;
	for (const char *p = live; size >= 8; p += 8, size -= 8) {
		memcpy(&word, p, 8);
		hash_now = (hash_now ^ word) * 0x9e3779b97f4a7c15ULL;
		hash_now ^= hash_now >> 29;
	}
}

/* Hashes of the states that were entered. */
static struct {
	uint64_t *slot;
	size_t size, used;
} seen;

static bool enter(uint64_t hash)
{
	if (seen.used * 2 >= seen.size) {
		size_t size = seen.size ? seen.size * 2 : 1 << 16;
		uint64_t *old = seen.slot;
		seen.slot = take(size * 8);
		memset(seen.slot, 0, size * 8);
		for (size_t i = 0; i < seen.size; i++) {
			size_t at = old[i] % size;
			while (old[i] && seen.slot[at])
				at = (at + 1) % size;
			if (old[i])
				seen.slot[at] = old[i];
		}
		drop(old);
		seen.size = size;
	}
	hash += !hash;
	size_t at = hash % seen.size;
	for (; seen.slot[at]; at = (at + 1) % seen.size)
		if (seen.slot[at] == hash)
			return false;
	seen.slot[at] = hash;
	seen.used++;
	return true;
}

/* ---- search ---- */

static uint32_t queued(void)
{
	return atomic_load(&bucket_of(&m.cond)->queued);
}

/* What actor i may do now; fills choices, most come first. */
static int choices_of(int i, int choice[SEEDS])
{
	const struct actor *a = &m.actor[i];
	int n = 0;
	switch (a->step) {
	case DONE:
		return 0;
	case LOCK:
		choice[n] = GO;
		return m.owner < 0;
	case TAKE:
		choice[n] = GO;
		return *a->sem > 0;
	case NATIVE_SLEEP:
		choice[n] = GO;
		return m.native_tokens > 0;
	case SECTION:
		for (int k = 0; k < (queued() > 1 ? SEEDS : 1); k++)
			choice[n++] = SEED + k;
		return n;
	case SLEEP:
		if (*a->sem > 0)
			choice[n++] = GO;
		if (a->role == TIMED ? m.timeouts : m.looks)
			choice[n++] = TIME;
		if (m.cancels)
			choice[n++] = CANCEL;
		return n;
	default:
		choice[n] = GO;
		return 1;
	}
}

static void resume(int i, int choice)
{
	struct actor *a = &m.actor[i];
	me = i;
	a->choice = choice;
	if (a->step == SLEEP && choice == TIME)
		*(a->role == TIMED ? &m.timeouts : &m.looks) -= 1;
	if (a->step == SLEEP && choice == CANCEL)
		m.cancels--;
	ty_order_tls = a->tls;
	memset(stacks[i], 0, (size_t)(lowest(i) - stacks[i])); /* what lies there depends on the way here */
	if (!_setjmp(scheduler)) {
		if (a->step != START)
			_longjmp(a->at, 1);
		entry.uc_stack.ss_sp = stacks[i];
		entry.uc_stack.ss_size = STACK;
		makecontext(&entry, run_actor, 0);
		setcontext(&entry);
	}
	a->tls = ty_order_tls;
}

/* Nobody can go on but by waiting for time to pass. */
static void check_quiet(void)
{
	bool all = true;
	for (int i = 0; i < m.n; i++) {
		const struct actor *a = &m.actor[i];
		all &= a->step == DONE;
		if ((a->step == SLEEP || a->step == NATIVE_SLEEP) && m.items > 0)
			wrong = "asleep, and there is something to take";
		if (a->step == LOCK || a->step == TAKE)
			wrong = "stuck";
	}
	if (!all)
		return;
	if (queued() || bucket_of(&m.cond)->first)
		wrong = "somebody is left in the queue";
	for (int i = 0; i < ACTORS; i++)
		if (pool[i].used)
			wrong = "a waiter was not given back";
}

static int deepest;
static char trail[4096]; /* of the first fault */

static void explore(int depth, const char *so_far)
{
	CU_ASSERT_FATAL(depth < DEEPEST);
	char *s = states[depth] ? states[depth] : (states[depth] = take(STATE_SIZE));
	pieces(s, save_piece);
	bool quiet = true;
	if (depth > deepest)
		deepest = depth;
	for (int i = 0; i < m.n && !wrong; i++) {
		int choice[SEEDS], n = choices_of(i, choice);
		for (int k = 0; k < n && !wrong; k++) {
			char path[1024];
			enum step step = m.actor[i].step;
			quiet &= step == SLEEP && choice[k] != GO;
			resume(i, choice[k]);
			snprintf(path, sizeof path, "%s %d:%d/%d", so_far, i, step, choice[k]);
			if (wrong && !trail[0])
				snprintf(trail, sizeof trail, "%s", path);
			hash_now = 0;
			pieces(NULL, hash_piece);
			if (!wrong && enter(hash_now))
				explore(depth + 1, path);
			/* the state has the stack pointers, and these say how much of each stack it has */
			memcpy(&m, s, sizeof m);
			pieces(s, load_piece);
		}
	}
	if (quiet && !wrong) {
		check_quiet();
		if (wrong)
			snprintf(trail, sizeof trail, "%s", so_far);
	}
}

/* Orders of picking from three and then from the two that are left: all six. */
static void find_seeds(void)
{
	uint32_t found = 0;
	for (uint64_t s = 1; found != 63; s++) {
		uint64_t state = ty_mix(s) | 1;
		uint32_t three = below(&state, 3), two = below(&state, 2);
		if (!(found >> (three * 2 + two) & 1))
			seeds[three * 2 + two] = ty_mix(s) | 1;
		found |= 1u << (three * 2 + two);
	}
}

/* roles: waiters (w; t: with a deadline; n: libc's own) and signallers (s: with
 * the mutex held; l: after it; b: broadcast). */
static void play(const char *roles, int looks, int timeouts, int cancels)
{
	order_all(TY_ORDER_random, 1);
	ty_orders = NULL; /* counters are no part of the state */
	ty_real.syscall = model_syscall;
	ty_real.sem_post = model_post;
	ty_real.sem_wait = model_take;
	ty_real.sem_clockwait = model_sleep;
	ty_real.pthread_mutex_lock = ty_grant.pthread_mutex_lock = lock_model;
	ty_real.pthread_mutex_unlock = unlock_model;
	ty_real.pthread_cond_wait = native_wait;
	ty_real.pthread_cond_signal = native_signal;
	ty_real.pthread_cond_broadcast = native_broadcast;
	memset(&m, 0, sizeof m);
	memset(stacks, 0, sizeof stacks);
	seen.used = 0;
	if (seen.slot)
		memset(seen.slot, 0, seen.size * 8);
	wrong = NULL;
	deepest = 0;
	trail[0] = 0;
	ty_queue_epoch();
	m.owner = -1;
	m.looks = looks;
	m.timeouts = timeouts;
	m.cancels = cancels;
	m.n = (int)strlen(roles);
	for (int i = 0; i < m.n; i++) {
		struct actor *a = &m.actor[i];
		a->role = (unsigned)(strchr("wtnslb", roles[i]) - "wtnslb");
		a->tls.home = (uint32_t)i + 1;
	}
	for (int i = 0; i < m.n; i++)
		resume(i, GO); /* to its first step */
	explore(0, "");
	say("  %s, %d looks, %d deadlines, %d cancels: %zu states, %d steps deep%s%s%s\n", roles, looks, timeouts, cancels,
	    seen.used, deepest, wrong ? ": " : "", wrong ? wrong : "", trail);
	CU_ASSERT_PTR_NULL(wrong);
}

/* ---- what is played ---- */

static void test_signals(void)
{
	play("wwwsl", 0, 0, 0);
	play("wwwll", 0, 0, 0);
	play("wwwlb", 0, 0, 0);
}

static void test_cancels(void)
{
	play("wwwsl", 0, 0, 1);
	play("wwl", 0, 0, 1);
	play("wwsb", 0, 0, 2);
}

static void test_deadlines(void)
{
	play("tts", 0, 2, 1); /* more who wait than is given: who is late must leave it to the other */
	play("ttsl", 0, 2, 2);
	play("wtsl", 2, 2, 2);
}

static void test_looks(void)
{
	play("wwsl", 2, 0, 2);
}

static void test_native(void)
{
	play("wwnsl", 0, 0, 1);
	play("wnnlb", 0, 0, 1);
}

/* Some minutes. */
static void test_more(void)
{
	play("wwwss", 0, 0, 3);
	play("wwwsl", 1, 0, 1);
	play("wwwlb", 1, 0, 1);
	play("tttsl", 0, 2, 1);
	play("wtnsl", 1, 1, 1);
}

static bool cannot(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
	return true;
#elif defined __has_feature
	return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
	return false;
#endif
}

int main(int argc, char **argv)
{
	if (cannot()) {
		say("sanitizers do not follow stacks that are copied\n");
		return 77;
	}
	getcontext(&entry);
	find_seeds();
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("order model", NULL, NULL);
	CU_add_test(s, "signals", test_signals);
	CU_add_test(s, "cancels", test_cancels);
	CU_add_test(s, "deadlines", test_deadlines);
	CU_add_test(s, "looks", test_looks);
	CU_add_test(s, "libc's own waiters", test_native);
	if (argc > 1 && strcmp(argv[1], "more") == 0)
		CU_add_test(s, "more", test_more);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	drop(seen.slot);
	for (int i = 0; i < DEEPEST; i++)
		drop(states[i]);
	return CU_get_number_of_failures() != 0;
}

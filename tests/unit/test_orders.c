/* SPDX-License-Identifier: MIT
 *
 * Queue, waiters and picks of policies/: each order against queues worked out by
 * hand, the bound of being passed over, the generator, places in the queue, what
 * jumps and forks leave behind. */
#include "tests/unit/orders_world.h"

static char object[2];

/* Each test's waiters: those of one thread, whose frames lie one below the other,
 * as if each ran in a handler on top of the one before. */
static struct ty_waiter *waits(const void *o, uint64_t age, uint32_t tid)
{
	static uintptr_t frame;
	if (!ty_order_tls.top)
		frame = 1u << 30;
	struct ty_waiter *w = ty_waiter_new(o, 0, TY_OP_pthread_cond_wait, frame -= 16);
	CU_ASSERT_PTR_NOT_NULL_FATAL(w);
	w->age = age;
	w->tid = tid;
	struct ty_locked l;
	ty_queue_lock(&l, o);
	ty_queue_add(&l, w);
	ty_queue_unlock(&l);
	return w;
}

static struct ty_waiter *grants(const void *o, bool fair)
{
	struct ty_locked l;
	uint32_t n;
	ty_queue_lock(&l, o);
	struct ty_waiter *first = ty_queue_of(&l, o, false, &n), *w = NULL;
	if (first) {
		w = ty_queue_pick(&l, first, n, fair);
		ty_queue_grant(&l, w);
	}
	ty_queue_unlock(&l);
	return w;
}

static int posts(struct ty_waiter *w)
{
	int n = -1;
	sem_getvalue(&w->grant, &n);
	return n;
}

/* Grants all, and says in which order: the numbers of the waiters. */
static const char *order_of(const uint64_t *ages, int n)
{
	static char text[16];
	struct ty_waiter *w[8];
	for (int i = 0; i < n; i++)
		w[i] = waits(object, ages[i], (uint32_t)(100 + i));
	for (int k = 0; k < n; k++) {
		struct ty_waiter *g = grants(object, false);
		for (int i = 0; i < n; i++)
			if (w[i] == g)
				text[k] = (char)('0' + i);
		CU_ASSERT(g->state == TY_W_GRANTED && posts(g) == 1);
	}
	text[n] = 0;
	CU_ASSERT_PTR_NULL(grants(object, false));
	while (ty_order_tls.top)
		ty_waiter_done(ty_order_tls.top);
	return text;
}

static void test_picks(void)
{
	static const uint64_t ages[] = { 50, 30, 0, 70, 30, 0 };
	order_all(TY_ORDER_fcfs, 0);
	CU_ASSERT_STRING_EQUAL(order_of(ages, 6), "012345");
	order_all(TY_ORDER_eldest, 0); /* equal ones as they came, unknown ones last */
	CU_ASSERT_STRING_EQUAL(order_of(ages, 6), "140325");
	order_all(TY_ORDER_youngest, 0);
	CU_ASSERT_STRING_EQUAL(order_of(ages, 6), "301425");
	order_all(TY_ORDER_largest, 0); /* nobody behind anybody: the eldest */
	CU_ASSERT_STRING_EQUAL(order_of(ages, 6), "140325");
	const struct ty_order_stat *s = ty_order_stat(object, 0, TY_OP_pthread_cond_wait);
	CU_ASSERT(s->waits == 6 && s->grants == 6 && s->choices == 5 && s->reordered == 3 && s->most == 6);
	CU_ASSERT(s->forced == 0 && s->object == (uintptr_t)object && s->op == TY_OP_pthread_cond_wait);
}

/* Behind thread 102 wait three, behind 101 two, one of whom then goes elsewhere. */
static void test_largest(void)
{
	order_all(TY_ORDER_largest, 0);
	static const uint64_t ages[] = { 10, 20, 30 };
	static const uint32_t behind[] = { 102, 102, 102, 101, 101 };
	struct ty_waiter *w[3], *o[5];
	for (int i = 0; i < 3; i++)
		w[i] = waits(object, ages[i], (uint32_t)(100 + i));
	struct ty_locked l;
	ty_queue_lock(&l, object + 1);
	for (int i = 0; i < 5; i++) {
		o[i] = ty_waiter_new(object + 1, 0, TY_OP_pthread_mutex_lock, 1000 - (uintptr_t)i);
		ty_queue_behind(&l, o[i], behind[i]); /* before it is queued: counts with it */
		ty_queue_add(&l, o[i]);
	}
	CU_ASSERT(ty_queue_weight(102) == 3 && ty_queue_weight(101) == 2 && ty_queue_weight(100) == 0 && !ty_queue_weight(0));
	ty_queue_unlock(&l);
	CU_ASSERT_PTR_EQUAL(grants(object, false), w[2]);
	ty_queue_lock(&l, object + 1);
	ty_queue_behind(&l, o[3], 100); /* and after it */
	ty_queue_behind(&l, o[4], 0);
	CU_ASSERT(ty_queue_weight(101) == 0 && ty_queue_weight(100) == 1);
	ty_queue_remove(&l, o[3]);
	ty_queue_grant(&l, o[0]);
	ty_queue_unlock(&l);
	CU_ASSERT(ty_queue_weight(102) == 2 && ty_queue_weight(100) == 0);
	CU_ASSERT_PTR_EQUAL(grants(object, false), w[0]); /* nobody behind either: the elder */
}

/* Whoever has the hash of another thread does not get its weight: threads of all
 * numbers, who come and go in turn. */
static void test_weights(void)
{
	enum { THREADS = 1000 };
	for (int round = 0; round < 3; round++) {
		for (uint32_t tid = 1; tid <= THREADS; tid++)
			for (uint32_t i = 0; i < tid % 4; i++)
				ty_queue_weigh(tid * 37, true);
		for (uint32_t tid = 1; tid <= THREADS; tid++) {
			CU_ASSERT(ty_queue_weight(tid * 37) == tid % 4);
			CU_ASSERT(ty_queue_weight(tid * 37 + 1) == 0);
		}
		for (uint32_t tid = THREADS; tid; tid--)
			for (uint32_t i = 0; i < tid % 4; i++)
				ty_queue_weigh(tid * 37, false);
		for (uint32_t tid = 1; tid <= THREADS; tid++)
			CU_ASSERT(ty_queue_weight(tid * 37) == 0);
	}
}

/* Two objects of one bucket do not see each other. */
static void test_bucket(void)
{
	order_all(TY_ORDER_fcfs, 0);
	static char many[BUCKETS * 64];
	const char *a = many, *b = many + 1;
	while (bucket_of(a) != bucket_of(b))
		CU_ASSERT_FATAL(++b < many + sizeof many);
	struct ty_waiter *w[5];
	CU_ASSERT(!ty_queue_any(a));
	for (int i = 0; i < 5; i++)
		w[i] = waits(i % 2 ? b : a, 0, 0);
	CU_ASSERT(ty_queue_any(a));
	struct ty_locked l;
	uint32_t n;
	ty_queue_lock(&l, a);
	CU_ASSERT(ty_queue_of(&l, a, false, &n) == w[0] && n == 3 && w[0]->peer == w[2] && w[2]->peer == w[4] && !w[4]->peer);
	CU_ASSERT(ty_queue_of(&l, b, false, &n) == w[1] && n == 2 && w[1]->peer == w[3] && !w[3]->peer);
	w[0]->head = true; /* at the real lock: not to be picked */
	CU_ASSERT(ty_queue_of(&l, a, false, &n) == w[2] && n == 2);
	ty_queue_remove(&l, w[2]);
	ty_queue_remove(&l, w[2]);
	CU_ASSERT(w[2]->state == TY_W_NEW && ty_queue_of(&l, a, false, &n) == w[4] && n == 1);
	ty_queue_add(&l, w[2]); /* with the place it had */
	CU_ASSERT(ty_queue_of(&l, a, false, &n) == w[2] && n == 2 && w[2]->peer == w[4]);
	ty_queue_unlock(&l);
	CU_ASSERT_PTR_EQUAL(grants(b, false), w[1]);
	CU_ASSERT(w[3]->passed == 0 && w[2]->passed == 0 && w[0]->passed == 0);
	CU_ASSERT(ty_order_stat(a, 0, 0) != ty_order_stat(b, 0, 0));
}

/* A mutex is gone as soon as it is unlocked: where it was may be a condition variable
 * when its gate is opened, and a mutex where a condition variable was signalled. */
static void test_reused(void)
{
	order_all(TY_ORDER_fcfs, 0);
	struct ty_waiter *w = waits(object, 0, 0), *g = waits(object, 0, 0);
	g->gate = true;
	ty_gate_open(object);
	CU_ASSERT(!w->head && posts(w) == 0 && g->head && posts(g) == 1);
	g->head = false;
	CU_ASSERT_PTR_EQUAL(grants(object, false), w);
	CU_ASSERT(posts(w) == 1 && g->passed == 0);
	CU_ASSERT_PTR_NULL(grants(object, false));
}

/* Newcomers are always younger: without the bound the first would wait for ever. */
static void test_fair(void)
{
	uint32_t most[2] = { 0, 0 };
	for (int fair = 0; fair < 2; fair++) {
		order_all(TY_ORDER_youngest, 0);
		uint64_t age = 1;
		for (int i = 0; i < 4; i++)
			waits(object, age++, 0);
		for (int i = 0; i < 200; i++) {
			struct ty_waiter *g = grants(object, fair);
			if (g->passed > most[fair])
				most[fair] = g->passed;
			waits(object, age++, 0);
		}
		for (struct ty_waiter *w = bucket_of(object)->first; w; w = w->next)
			if (w->passed > most[fair])
				most[fair] = w->passed;
		CU_ASSERT((ty_order_stat(object, 0, 0)->forced != 0) == fair);
	}
	CU_ASSERT(most[0] == 200);
	CU_ASSERT(most[1] == 8); /* 2n, and no more */
}

static void random_sequence(uint64_t seed, char *text, int n)
{
	order_all(TY_ORDER_random, seed);
	for (int i = 0; i < 4; i++)
		waits(object, 0, (uint32_t)i);
	for (int i = 0; i < n; i++) {
		struct ty_waiter *g = grants(object, false);
		text[i] = (char)('0' + g->tid);
		waits(object, 0, g->tid);
	}
	text[n] = 0;
}

static void test_random(void)
{
	char a[65], b[65], c[65];
	random_sequence(1, a, 64);
	random_sequence(1, b, 64);
	random_sequence(2, c, 64);
	CU_ASSERT_STRING_EQUAL(a, b);
	CU_ASSERT_STRING_NOT_EQUAL(a, c);
	/* Equal chances: chi square of 4000 picks of 5, 4 degrees of freedom, 0.1 % beyond 18.5. */
	struct ty_waiter w[5];
	uint64_t state = ty_mix(7) | 1;
	int hits[5] = { 0 };
	double chi = 0;
	for (int i = 0; i < 5; i++)
		w[i].peer = i < 4 ? &w[i + 1] : NULL;
	for (int i = 0; i < 4000; i++)
		hits[ty_pick_random(w, &(struct ty_pick){ &state }) - w]++;
	for (int i = 0; i < 5; i++)
		chi += (hits[i] - 800.0) * (hits[i] - 800.0) / 800.0;
	CU_ASSERT(chi < 18.5);
}

/* No more waiters than places, and a place that is given back is there again. */
static void test_pool(void)
{
	order_all(TY_ORDER_fcfs, 0);
	uintptr_t frame = 1u << 30;
	uint32_t n = 0;
	while (ty_waiter_new(object, 0, 0, frame -= 16))
		n++;
	CU_ASSERT(n >= WAITERS - PROBES && n <= WAITERS);
	struct ty_waiter *w = ty_order_tls.top;
	ty_waiter_done(w);
	CU_ASSERT_PTR_EQUAL(ty_waiter_new(object, 0, 0, frame), w);
	CU_ASSERT_PTR_NULL(ty_waiter_new(object, 0, 0, frame - 16));
	while (ty_order_tls.top)
		ty_waiter_done(ty_order_tls.top);
}

/* Somebody else's waiter, that the test keeps when the thread's chain is cut. */
static struct ty_waiter *of_another(const void *o)
{
	struct ty_order_tls mine = ty_order_tls;
	memset(&ty_order_tls, 0, sizeof ty_order_tls);
	struct ty_waiter *w = ty_waiter_new(o, 0, 0, 1u << 20);
	struct ty_locked l;
	ty_queue_lock(&l, o);
	ty_queue_add(&l, w);
	ty_queue_unlock(&l);
	ty_order_tls = mine;
	return w;
}

/* A handler jumps out of a wait: the next wait of that thread, further up the
 * stack, takes the old one out.  Had it been granted, another is. */
static void test_jump(void)
{
	order_all(TY_ORDER_fcfs, 0);
	struct ty_locked l;
	struct ty_waiter *gone = ty_waiter_new(object, 0, 0, 1000);
	ty_queue_lock(&l, object);
	ty_queue_add(&l, gone);
	ty_queue_unlock(&l);
	struct ty_waiter *other = of_another(object);
	struct ty_waiter *nested = ty_waiter_new(object + 1, 0, 0, 900); /* a handler on top of it */
	CU_ASSERT(gone->state == TY_W_QUEUED && nested->outer == gone);
	ty_waiter_done(nested);
	CU_ASSERT_PTR_EQUAL(grants(object, false), gone);
	struct ty_waiter *later = ty_waiter_new(object + 1, 0, 0, 1000);
	CU_ASSERT(ty_order_tls.top == later && !later->outer);
	CU_ASSERT(other->state == TY_W_GRANTED && posts(other) == 1);
	/* a head that is gone lets the next one in, too; a queued one takes nothing along */
	struct ty_waiter *heir = of_another(object), *second = of_another(object);
	ty_queue_lock(&l, object + 1);
	later->object = (uintptr_t)object;
	ty_queue_unlock(&l);
	ty_queue_lock(&l, object);
	ty_queue_add(&l, later);
	later->gate = later->head = heir->gate = second->gate = true;
	ty_queue_unlock(&l);
	struct ty_waiter *last = ty_waiter_new(object, 0, 0, 2000);
	CU_ASSERT(heir->head && posts(heir) == 1 && !second->head && posts(second) == 0);
	ty_queue_lock(&l, object);
	ty_queue_add(&l, last);
	ty_queue_unlock(&l);
	ty_waiter_done(ty_waiter_new(object, 0, 0, 3000));
	CU_ASSERT(!second->head && bucket_of(object)->queued == 2);
}

static void test_leave(void)
{
	order_all(TY_ORDER_fcfs, 0);
	struct ty_waiter *a = waits(object, 0, 0), *b = waits(object, 0, 0);
	CU_ASSERT_FALSE(ty_waiter_leave(a));
	CU_ASSERT_PTR_EQUAL(grants(object, false), b);
	CU_ASSERT_TRUE(ty_waiter_leave(b));
	CU_ASSERT(posts(b) == 0 && !ty_queue_any(object));
}

/* In a child there is nobody, whoever was queued, locked or about to post. */
static int child_of_fork(void)
{
	order_all(TY_ORDER_fcfs, 0);
	if (!ty_queue_start())
		return 1;
	struct ty_waiter *mine = waits(object, 0, 0), *granted = waits(object, 0, 0), *posted = waits(object, 0, 0);
	struct ty_locked l;
	struct ty_waiter *other = of_another(object);
	ty_queue_behind(&l, other, 77);
	granted->state = TY_W_GRANTED; /* and its thread has not come to post it */
	posted->state = TY_W_GRANTED;
	sem_post(&posted->grant);
	ty_queue_lock(&l, object); /* by another thread, at the instant of the fork */
	pid_t pid = fork();
	if (pid == 0) {
		uint64_t none = 0;
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, 8);
		if (ty_queue_any(object) || ty_queue_weight(77))
			_exit(2);
		if (ty_waiter_leave(mine) || mine->state != TY_W_NEW) /* nobody told the queue of the fork */
			_exit(3);
		ty_waiter_take(granted);
		mine->state = TY_W_QUEUED;
		ty_waiter_forked();
		if (mine->state != TY_W_NEW || posts(granted) != 1 || posts(posted) != 1)
			_exit(4);
		ty_waiter_take(granted);
		struct ty_waiter *fresh = ty_waiter_new(object, 0, 0, 16);
		if (!fresh || fresh == mine || fresh == granted || fresh == posted)
			_exit(5);
		ty_queue_lock(&l, object);
		ty_queue_add(&l, fresh);
		ty_queue_unlock(&l);
		_exit(grants(object, false) == fresh ? 0 : 6);
	}
	ty_queue_unlock(&l);
	int status = -1;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static void test_fork(void)
{
	CU_ASSERT_EQUAL(child_of_fork(), 0);
	CU_ASSERT_TRUE(ty_queue_any(object)); /* the parent's own are still there */
}

/* All signals, also those that libc keeps for itself, are out while a bucket is
 * locked, and as they were before afterwards. */
static void test_signals(void)
{
	order_all(TY_ORDER_fcfs, 0);
	uint64_t before = 0, inside = 0, after = 0;
	struct ty_locked l;
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &before, 8);
	ty_queue_lock(&l, object);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &inside, 8);
	ty_queue_unlock(&l);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &after, 8);
	uint64_t never = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1);
	CU_ASSERT_EQUAL(inside, ~never);
	CU_ASSERT_EQUAL(before, after);
}

/* A table of counters that is full counts the rest together, and says so. */
static void test_stat(void)
{
	order_all(TY_ORDER_fcfs, 0);
	ty_proc.image = 5;
	static char many[TY_ORDER_STATS * 2];
	struct ty_order_stat *shared = &orders_memory.stat[SHARED];
	uint32_t own = 0;
	for (size_t i = 0; i < sizeof many; i++) {
		struct ty_order_stat *s = ty_order_stat(many + i, 3, 4);
		CU_ASSERT_PTR_EQUAL(ty_order_stat(many + i, 3, 4), s);
		own += s != shared;
		if (s != shared)
			CU_ASSERT(s->object == (uintptr_t)(many + i) && s->image == 5 && s->rule == 3 && s->op == 4);
	}
	CU_ASSERT(own > SHARED / 2 && own <= SHARED);
	CU_ASSERT(shared->key == 1 && shared->object == 0);
}

int main(void)
{
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("orders", NULL, NULL);
	CU_add_test(s, "picks", test_picks);
	CU_add_test(s, "largest", test_largest);
	CU_add_test(s, "weights", test_weights);
	CU_add_test(s, "bucket", test_bucket);
	CU_add_test(s, "reused", test_reused);
	CU_add_test(s, "fair", test_fair);
	CU_add_test(s, "random", test_random);
	CU_add_test(s, "pool", test_pool);
	CU_add_test(s, "jump", test_jump);
	CU_add_test(s, "leave", test_leave);
	CU_add_test(s, "fork", test_fork);
	CU_add_test(s, "signals", test_signals);
	CU_add_test(s, "stat", test_stat);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	return CU_get_number_of_failures() != 0;
}

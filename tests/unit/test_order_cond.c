/* SPDX-License-Identifier: MIT
 *
 * One wait at a time through policies/cond.c, with a clock and a sleep that the
 * test plays: places and bounds over spurious wakes, what was missed, deadlines,
 * errors, and what is left to libc. */
#include "tests/unit/orders_world.h"

#include "policies/cond.c"
#include "policies/unlock.c"

static pthread_cond_t c;
static pthread_mutex_t m;
static struct timespec now, slept_until;
static clockid_t slept_by;
static int slept, native, lock_result, unlock_result, locks;
static bool orders_native;
static uint64_t given;
static char idles[8];
static struct ty_waiter *another, nobody = { .seq = UINT64_MAX }; /* another thread's waiter */
static int (*while_asleep)(sem_t *s); /* the errno that ends the sleep; 0: granted */

uint32_t ty_select(enum ty_op op, const void *o, bool *idle)
{
	*idle = op == TY_OP_cnd_wait;
	return orders_native ? TY_NO_RULE : 0;
}
int ty_clock(clockid_t clock, struct timespec *t)
{
	(void)clock;
	*t = now;
	return 1;
}
void ty_age_given(const void *o, uint64_t age) { given = age; }
void ty_age_idle(void) { strcat(idles, "i"); }
void ty_age_busy(void) { strcat(idles, "b"); }

static int play_sleep(sem_t *s, clockid_t clock, const struct timespec *t)
{
	slept++;
	slept_by = clock;
	slept_until = *t;
	int r = while_asleep(s);
	if (r) {
		errno = r;
		return -1;
	}
	return sem_trywait(s);
}
static int play_lock(pthread_mutex_t *mutex) { locks++; return lock_result; }
static int play_unlock(pthread_mutex_t *mutex) { locks--; return unlock_result; }
static int native_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) { native++; return 0; }
static int native_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *t) { native++; return EINVAL; }
static int native_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t k, const struct timespec *t)
{
	native++;
	return EINVAL;
}
static int native_signal(pthread_cond_t *cond) { native++; return 0; }

static void begin_test(void)
{
	order_all(TY_ORDER_fcfs, 0);
	memset(&c, 0, sizeof c);
	memset(&m, 0, sizeof m);
	ty_real.sem_clockwait = play_sleep;
	ty_real.pthread_mutex_lock = ty_grant.pthread_mutex_lock = play_lock;
	ty_real.pthread_mutex_unlock = play_unlock;
	ty_real.pthread_cond_wait = native_wait;
	ty_real.pthread_cond_timedwait = native_timedwait;
	ty_real.pthread_cond_clockwait = native_clockwait;
	ty_real.pthread_cond_signal = ty_real.pthread_cond_broadcast = native_signal;
	now = (struct timespec){ 1000, 999999999 };
	lock_result = unlock_result = slept = native = 0;
	locks = 1; /* the program has it */
	orders_native = false;
	given = 0;
	idles[0] = 0;
	another = &nobody;
}

static struct ty_order_stat *stat_of(const void *object)
{
	return ty_order_stat(object, 0, TY_OP_pthread_cond_wait);
}

static int late(sem_t *s)
{
	(void)s;
	return ETIMEDOUT;
}
static int signalled(sem_t *s)
{
	(void)s;
	age_now = 77;
	cond_signal(&c);
	age_now = 0;
	return 0;
}

/* It stays. */
static int another_comes(sem_t *s)
{
	struct ty_order_tls mine = ty_order_tls;
	struct ty_locked l;
	memset(&ty_order_tls, 0, sizeof ty_order_tls);
	another = ty_waiter_new(&c, 0, TY_OP_pthread_cond_wait, 16);
	ty_queue_lock(&l, &c);
	ty_queue_add(&l, another);
	ty_queue_unlock(&l);
	ty_order_tls = mine;
	return ETIMEDOUT;
}

static int first_is_mine, before_another, queued;
static int who_is_first(sem_t *s)
{
	struct ty_locked l;
	uint32_t n;
	ty_queue_lock(&l, &c);
	first_is_mine = ty_queue_of(&l, &c, false, &n) == ty_order_tls.top;
	before_another = ty_order_tls.top->seq < another->seq;
	queued = (int)n;
	ty_queue_unlock(&l);
	return ETIMEDOUT;
}

static void test_granted(void)
{
	begin_test();
	while_asleep = signalled;
	errno = 5;
	CU_ASSERT_EQUAL(cond_wait(&c, &m), 0);
	CU_ASSERT(errno == 5 && slept == 1 && locks == 1 && native == 0 && given == 77);
	CU_ASSERT(!ty_order_tls.top && !ty_order_tls.object && !ty_queue_any(&c));
	CU_ASSERT(slept_by == CLOCK_MONOTONIC && slept_until.tv_sec == 1001 && slept_until.tv_nsec == 99999999);
	CU_ASSERT(stat_of(&c)->waits == 1 && stat_of(&c)->grants == 1 && stat_of(&c)->bounded == 0);
}

/* It comes back before it lets the mutex go: in front of who came meanwhile. */
static void test_place(void)
{
	begin_test();
	while_asleep = another_comes;
	CU_ASSERT_EQUAL(cond_wait(&c, &m), 0);
	while_asleep = who_is_first;
	CU_ASSERT_EQUAL(cond_wait(&c, &m), 0);
	CU_ASSERT(first_is_mine && queued == 2);
	CU_ASSERT_EQUAL(cond_wait(&c, &m), 0);
	CU_ASSERT(first_is_mine && stat_of(&c)->bounded == 0);
	ty_unlock(&m), locks++; /* had found something: comes anew */
	CU_ASSERT_EQUAL(cond_wait(&c, &m), 0);
	CU_ASSERT(!first_is_mine && queued == 2 && stat_of(&c)->bounded == 1);
	CU_ASSERT_EQUAL(cond_wait(&c, &m), 0); /* another request: another place */
	age_now = 9;
	struct ty_waiter *before = another;
	while_asleep = another_comes;
	CU_ASSERT_EQUAL(cond_wait(&c, &m), 0);
	while_asleep = who_is_first;
	age_now = 10;
	CU_ASSERT_EQUAL(cond_wait(&c, &m), 0);
	CU_ASSERT(!before_another && queued == 3 && before != another);
	static pthread_cond_t other_cond;
	CU_ASSERT_EQUAL(cond_wait(&other_cond, &m), 0); /* nor after a wait elsewhere */
	CU_ASSERT_EQUAL(stat_of(&c)->bounded, 2);
	CU_ASSERT_EQUAL(cond_wait(&c, &m), 0);
	CU_ASSERT(!before_another);
}

static void test_bound(void)
{
	static const int64_t due[] = { 100, 200, 400, 800, 1600, 3200, 3200 };
	begin_test();
	now = (struct timespec){ 0, 0 };
	while_asleep = late;
	for (int i = 0; i < 7; i++) {
		cond_wait(&c, &m);
		CU_ASSERT_EQUAL(slept_until.tv_sec * 1000 + slept_until.tv_nsec / 1000000, due[i]);
	}
	while_asleep = signalled;
	cond_wait(&c, &m);
	while_asleep = late;
	cond_wait(&c, &m);
	CU_ASSERT_EQUAL(slept_until.tv_nsec, 100000000); /* from the beginning */
}

/* Too often missed: libc's own from then on. */
static void test_missed(void)
{
	begin_test();
	while_asleep = late;
	for (unsigned i = 0; i < MISSED; i++) {
		CU_ASSERT_EQUAL(native, 0);
		cond_wait(&c, &m);
		ty_unlock(&m), locks++;
	}
	CU_ASSERT(stat_of(&c)->bounded == MISSED && slept == MISSED);
	cond_wait(&c, &m);
	CU_ASSERT(native == 1 && slept == MISSED && stat_of(&c)->native == 1);
	stat_of(&c)->grants = MISSED * MISSED_IN; /* few of many */
	cond_wait(&c, &m);
	CU_ASSERT(native == 1 && slept == MISSED + 1);
}

static void test_deadline(void)
{
	begin_test();
	while_asleep = late;
	struct timespec t = { 1001, 50000000 };
	CU_ASSERT_EQUAL(cond_timedwait(&c, &m, &t), ETIMEDOUT);
	CU_ASSERT(slept_by == CLOCK_REALTIME && slept_until.tv_nsec == 50000000 && !ty_order_tls.object && locks == 1);
	t.tv_sec = 1002; /* beyond the bound: looks first */
	CU_ASSERT_EQUAL(cond_timedwait(&c, &m, &t), 0);
	CU_ASSERT(slept_until.tv_sec == 1001 && ty_order_tls.object == (uintptr_t)&c);
	t.tv_sec = 1001;
	CU_ASSERT_EQUAL(cond_clockwait(&c, &m, CLOCK_MONOTONIC, &t), ETIMEDOUT);
	CU_ASSERT_EQUAL(slept_by, CLOCK_MONOTONIC);
	c.__data.__wrefs = 2; /* pthread_condattr_setclock */
	CU_ASSERT_EQUAL(cond_timedwait(&c, &m, &t), ETIMEDOUT);
	CU_ASSERT_EQUAL(slept_by, CLOCK_MONOTONIC);
	while_asleep = signalled;
	CU_ASSERT_EQUAL(cond_timedwait(&c, &m, &t), 0);
	t.tv_nsec = 1000000000; /* what libc refuses it refuses itself */
	CU_ASSERT_EQUAL(cond_timedwait(&c, &m, &t), EINVAL);
	CU_ASSERT_EQUAL(cond_clockwait(&c, &m, CLOCK_MONOTONIC, &t), EINVAL);
	t.tv_nsec = 0;
	CU_ASSERT_EQUAL(cond_clockwait(&c, &m, CLOCK_BOOTTIME, &t), EINVAL);
	CU_ASSERT(native == 3 && locks == 1);
}

static void test_errors(void)
{
	begin_test();
	while_asleep = signalled;
	unlock_result = EPERM;
	CU_ASSERT_EQUAL(cond_wait(&c, &m), EPERM);
	CU_ASSERT(slept == 0 && locks == 0 && !ty_queue_any(&c) && !ty_order_tls.top);
	unlock_result = 0, locks = 1, lock_result = EOWNERDEAD;
	CU_ASSERT_EQUAL(cond_wait(&c, &m), EOWNERDEAD);
	CU_ASSERT_EQUAL(cnd_wait_((cnd_t *)(void *)&c, (mtx_t *)(void *)&m), thrd_error);
	lock_result = 0;
	CU_ASSERT_STRING_EQUAL(idles, "ib"); /* the rule says so of cnd_wait */
	CU_ASSERT_EQUAL(cnd_wait_((cnd_t *)(void *)&c, (mtx_t *)(void *)&m), thrd_success);
	while_asleep = late;
	struct timespec t = { 1000, 0 };
	CU_ASSERT_EQUAL(cnd_timedwait_((cnd_t *)(void *)&c, (mtx_t *)(void *)&m, &t), thrd_timedout);
}

static void test_native(void)
{
	begin_test();
	while_asleep = signalled;
	c.__data.__wrefs = 1; /* process-shared */
	cond_wait(&c, &m);
	CU_ASSERT(native == 1 && slept == 0);
	c.__data.__wrefs = 0;
	orders_native = true;
	cond_wait(&c, &m);
	CU_ASSERT(native == 2 && slept == 0);
	cond_signal(&c); /* nobody queued: libc's signal and nothing else */
	cond_broadcast(&c);
	CU_ASSERT_EQUAL(native, 4);
	another_comes(NULL);
	cond_signal(&c);
	CU_ASSERT(native == 4 && another->state == TY_W_GRANTED);
	another_comes(NULL);
	c.__data.__wrefs = 8; /* and one waits in libc */
	cond_signal(&c);
	CU_ASSERT(native == 5 && another->state == TY_W_GRANTED);
	another_comes(NULL);
	struct ty_waiter *one = another;
	another_comes(NULL);
	cond_broadcast(&c);
	CU_ASSERT(native == 6 && one->state == TY_W_GRANTED && another->state == TY_W_GRANTED);
}

static void test_install(void)
{
	begin_test();
	memset(&ty_grant, 0, sizeof ty_grant);
	ty_order_conf.rule[0].ops[TY_OP_pthread_mutex_lock / 64] |= 1ull << TY_OP_pthread_mutex_lock % 64;
	ty_cond_install();
	CU_ASSERT_PTR_NULL(ty_grant.pthread_cond_signal);
	ty_order_conf.rule[0].ops[TY_OP_cnd_wait / 64] |= 1ull << TY_OP_cnd_wait % 64;
	ty_cond_install();
	CU_ASSERT_PTR_EQUAL(ty_grant.pthread_cond_signal, cond_signal);
	CU_ASSERT_PTR_EQUAL(ty_grant.pthread_cond_wait, cond_wait);
	CU_ASSERT_PTR_NULL(ty_grant.pthread_mutex_trylock);
}

int main(void)
{
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("condition variables", NULL, NULL);
	CU_add_test(s, "granted", test_granted);
	CU_add_test(s, "place", test_place);
	CU_add_test(s, "bound", test_bound);
	CU_add_test(s, "missed", test_missed);
	CU_add_test(s, "deadline", test_deadline);
	CU_add_test(s, "errors", test_errors);
	CU_add_test(s, "native", test_native);
	CU_add_test(s, "install", test_install);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	return CU_get_number_of_failures() != 0;
}

/* SPDX-License-Identifier: MIT
 * Ages of what threads work on (policies/age.c), with a clock of its own: births
 * by descriptor, hand-overs, markers, idle sites. */
#include <CUnit/Basic.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long long clock_ns; /* even, as births are */
#include "preload/state.h"
#define ty_now() clock_ns
#include "policies/age.c"

void ty_age_calls_start(void) { }

static void begin_as(enum ty_order_kind order, uint32_t kind)
{
	static struct ty_order_conf conf;
	conf.rules = 1;
	conf.rule[0].order = order;
	conf.age = kind;
	on = false;
	memset(births, 0, sizeof births);
	memset(markers, 0, sizeof markers);
	set(0, NOBODY);
	clock_ns = 1000;
	ty_age_start(&conf);
}

static void at(unsigned long long when)
{
	clock_ns = when;
}

static void on_thread(void *(*fn)(void *))
{
	pthread_t t;
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t, NULL, fn, NULL), 0);
	pthread_join(t, NULL);
}

static void test_descriptor(void)
{
	begin_as(TY_ORDER_eldest, TY_AGE_REQUEST);
	CU_ASSERT_EQUAL(ty_age(), 0);
	ty_age_received(7, true);
	CU_ASSERT_EQUAL(ty_age(), 1000);
	at(2000);
	ty_age_received(7, true); /* the same request goes on */
	CU_ASSERT_EQUAL(ty_age(), 1000);
	ty_age_sent(7);
	ty_age_sent(7);
	CU_ASSERT_EQUAL(ty_age(), 1000); /* its answer, too */
	at(3000);
	ty_age_received(7, true);
	CU_ASSERT_EQUAL(ty_age(), 3000);
	ty_age_received(8, true); /* an event loop: works on what it received last */
	at(4000);
	ty_age_received(7, true);
	CU_ASSERT_EQUAL(ty_age(), 3000);
	ty_age_opened(7, -1); /* closed unanswered, the number is another connection's */
	ty_age_received(7, true);
	CU_ASSERT_EQUAL(ty_age(), 4000);
	ty_age_opened(9, 7);
	at(5000);
	ty_age_received(9, true);
	CU_ASSERT_EQUAL(ty_age(), 4000);
	ty_age_received(-1, true), ty_age_sent(-1), ty_age_opened(-1, 3);
	ty_age_received(1 << 20, true), ty_age_sent(1 << 20), ty_age_opened(4, 1 << 20), ty_age_opened(1 << 20, 4);
	CU_ASSERT_EQUAL(ty_age(), 4000);
}

static void test_peer(void)
{
	begin_as(TY_ORDER_eldest, TY_AGE_REQUEST);
	ty_age_received(7, true);
	at(2000);
	ty_age_received(20, false); /* what a database answers to us */
	CU_ASSERT_EQUAL(ty_age(), 1000);
	ty_age_sent(7);
	at(3000);
	ty_age_sent(20);
	ty_age_received(20, false); /* nothing else is open */
	CU_ASSERT_EQUAL(ty_age(), 3000);
}

static void *worker(void *unused)
{
	int queue[2], other[2];
	CU_ASSERT_EQUAL(ty_age(), 0);
	ty_age_given(queue, 0);
	CU_ASSERT_EQUAL(ty_age(), 0);
	ty_age_given(queue, 500);
	CU_ASSERT_EQUAL(ty_age(), 500);
	ty_age_given(other, 300); /* woken on the way by somebody else's request */
	CU_ASSERT_EQUAL(ty_age(), 500);
	ty_age_received(20, false);
	CU_ASSERT_EQUAL(ty_age(), 500);
	ty_age_given(queue, 600); /* the next job */
	CU_ASSERT_EQUAL(ty_age(), 600);
	CU_ASSERT_EQUAL(ty_age_at(other), 600); /* it waits and wakes elsewhere for that */
	CU_ASSERT_EQUAL(ty_age_at(queue), 0);   /* and is done with it */
	CU_ASSERT_EQUAL(ty_age(), 0);
	ty_age_given(queue, 600);
	CU_ASSERT_EQUAL(ty_age(), 600);
	ty_age_received(8, true);
	CU_ASSERT_EQUAL(ty_age(), clock_ns);
	CU_ASSERT_EQUAL(ty_age_at(queue), clock_ns); /* nobody handed it that */
	ty_age_given(queue, 700);
	CU_ASSERT_EQUAL(ty_age(), clock_ns);
	ty_age_sent(8);
	ty_age_given(queue, 700);
	CU_ASSERT_EQUAL(ty_age(), 700);
	ty_age_idle();
	ty_age_busy(); /* counts only where ages come from idle sites */
	CU_ASSERT_EQUAL(ty_age(), 0);
	return NULL;
}

static void test_given(void)
{
	begin_as(TY_ORDER_youngest, TY_AGE_REQUEST);
	on_thread(worker);
	CU_ASSERT_EQUAL(ty_age(), 0);
}

static void *resumes(void *unused)
{
	CU_ASSERT_EQUAL(ty_age(), 0);
	ty_age_mark(TY_MARK_RESUME, 99); /* never begun */
	CU_ASSERT_EQUAL(ty_age(), 0);
	ty_age_mark(TY_MARK_RESUME, 0);
	CU_ASSERT_EQUAL(ty_age(), 1000);
	ty_age_received(7, true);
	ty_age_given(&clock_ns, 1);
	CU_ASSERT_EQUAL(ty_age(), 1000);
	ty_age_mark(TY_MARK_END, 0);
	CU_ASSERT_EQUAL(ty_age(), 0);
	ty_age_mark(TY_MARK_RESUME, 0);
	CU_ASSERT_EQUAL(ty_age(), 0);
	return NULL;
}

static void test_marker(void)
{
	begin_as(TY_ORDER_eldest, TY_AGE_MARKER);
	ty_age_mark(TY_MARK_BEGIN, 0);
	CU_ASSERT_EQUAL(ty_age(), 1000);
	at(2000);
	ty_age_mark(TY_MARK_PAUSE, 5); /* not the one it carries */
	CU_ASSERT_EQUAL(ty_age(), 1000);
	ty_age_mark(TY_MARK_PAUSE, 0);
	CU_ASSERT_EQUAL(ty_age(), 0);
	ty_age_mark(TY_MARK_BEGIN, 1);
	CU_ASSERT_EQUAL(ty_age(), 2000);
	on_thread(resumes);
	CU_ASSERT_EQUAL(ty_age(), 2000);
}

/* Far more markers than there is room for: the newest are all there. */
static void test_many_markers(void)
{
	begin_as(TY_ORDER_eldest, TY_AGE_REQUEST);
	unsigned found = 0;
	for (uint64_t id = 0; id < 100000; id++) {
		at(2 * id + 2);
		ty_age_mark(TY_MARK_BEGIN, id);
		ty_age_mark(TY_MARK_PAUSE, id);
	}
	for (uint64_t id = 0; id < 100000; id++) {
		ty_age_mark(TY_MARK_RESUME, id);
		if (ty_age()) {
			CU_ASSERT_EQUAL(ty_age(), 2 * id + 2);
			found++;
			ty_age_mark(TY_MARK_END, id);
		}
		CU_ASSERT_EQUAL(ty_age(), 0);
		CU_ASSERT(id != 99999 || found > 0);
	}
	CU_ASSERT(found > MARKERS / 2 && found <= MARKERS);
	for (uint32_t i = 0; i < MARKERS; i++)
		CU_ASSERT_EQUAL(atomic_load(&markers[i].key), 0);
}

static void test_idle(void)
{
	begin_as(TY_ORDER_eldest, TY_AGE_IDLE);
	ty_age_idle();
	CU_ASSERT_EQUAL(ty_age(), 0);
	ty_age_given(&clock_ns, 5);
	CU_ASSERT_EQUAL(ty_age(), 0);
	at(3000);
	ty_age_busy();
	CU_ASSERT_EQUAL(ty_age(), 3000);
	ty_age_mark(TY_MARK_BEGIN, 1);
	ty_age_given(&clock_ns, 5);
	CU_ASSERT_EQUAL(ty_age(), 3000);
}

static void test_off(void)
{
	begin_as(TY_ORDER_fcfs, TY_AGE_REQUEST);
	ty_age_mark(TY_MARK_BEGIN, 1);
	ty_age_given(&clock_ns, 5);
	ty_age_idle(), ty_age_busy();
	CU_ASSERT_EQUAL(ty_age(), 0);
}

static void test_fork(void)
{
	begin_as(TY_ORDER_eldest, TY_AGE_REQUEST);
	ty_age_received(7, true);
	ty_age_mark(TY_MARK_BEGIN, 3);
	ty_age_mark(TY_MARK_PAUSE, 3);
	at(2000);
	pid_t kid = fork();
	if (kid == 0) {
		ty_age_received(7, true);
		uint64_t received = ty_age();
		ty_age_mark(TY_MARK_RESUME, 3);
		_exit(received == 1000 && ty_age() == 1000 ? 0 : 1);
	}
	int status = -1;
	waitpid(kid, &status, 0);
	CU_ASSERT_EQUAL(status, 0);
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("age", NULL, NULL);
	CU_add_test(s, "by descriptor", test_descriptor);
	CU_add_test(s, "a peer's answer", test_peer);
	CU_add_test(s, "hand-over", test_given);
	CU_add_test(s, "markers", test_marker);
	CU_add_test(s, "more markers than room", test_many_markers);
	CU_add_test(s, "idle sites", test_idle);
	CU_add_test(s, "no order that uses ages", test_off);
	CU_add_test(s, "after fork", test_fork);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed != 0;
}

/* SPDX-License-Identifier: MIT
 *
 * The drain against threads that are killed, left running, forked or exec'd, and
 * slots that are used again.
 */
#include "traced.h"

/* ---- death ---- */

static void killed_waiting(struct ty_arena *a, int go)
{
	struct traced x = claim(a, 0, IMAGE);
	atomic_store(&x.t->wait_begin, ty_now());
	atomic_store(&x.t->wait_object, 0x7000);
	atomic_store(&x.t->wait_path, 0);
	atomic_store(&x.t->wait_op, TY_OP_sem_wait);
	atomic_store(&x.t->wait_seq, 2);
	kill(getpid(), SIGKILL);
}

/* The record is committed, the end of the wait not published yet. */
static void killed_after(struct ty_arena *a, int go)
{
	struct traced y = claim(a, 1, IMAGE);
	put_wait(&y, TY_REC_WAIT, TY_OP_fsync, TY_F_NO_PATH, 5, 0x1000, 1);
	struct ty_rec_wait *w = (void *)ty_arena_chunk(a, y.c.chunk - 1)->data;
	atomic_store(&y.t->wait_begin, w->begin);
	atomic_store(&y.t->wait_op, TY_OP_fsync);
	atomic_store(&y.t->wait_seq, 2);
	kill(getpid(), SIGKILL);
}

static void test_killed(void)
{
	struct ty_summary sum;
	struct ty_recorder *r = begin("drain");
	pid_t pid = spawn(r, killed_waiting, NULL), other = spawn(r, killed_after, NULL);
	until_all_ended(r);
	waitpid(pid, NULL, 0);
	waitpid(other, NULL, 0);
	struct ty_store *s = finish(r, &sum);
	struct all a = read_all(s);
	size_t n, open = 0;
	for (size_t i = 0; i < a.n; i++)
		if (a.ev[i].kind == TY_EV_OPEN) {
			open++;
			CU_ASSERT_EQUAL(a.ev[i].op, TY_OP_sem_wait);
			CU_ASSERT_EQUAL(a.ev[i].object, 0x7000);
			CU_ASSERT(a.ev[i].end >= a.ev[i].begin);
		}
	CU_ASSERT_EQUAL(a.n, 2);
	CU_ASSERT_EQUAL(open, 1);
	const struct ty_process *p = ty_store_processes(s, &n);
	CU_ASSERT_EQUAL_FATAL(n, 2);
	CU_ASSERT_EQUAL(p[0].ended_waiting + p[1].ended_waiting, 1);
	free(a.ev);
	discard(s);
}

/* A recording that ends while the program goes on. */
/* ---- slots and processes ---- */

#define ROUNDS 150u

static void churn(struct ty_arena *a, int go)
{
	/* always the same slot: the next claim succeeds when it was given back */
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct ty_thread *t = ty_arena_thread(a, 0);
		while (atomic_load(&t->owner))
			sched_yield();
		struct traced x = claim(a, 0, IMAGE);
		for (int k = 0; k < 700; k++) /* three chunks */
			put_wait(&x, TY_REC_WAIT, TY_OP_fsync, TY_F_NO_PATH, 5, 0x1000, i);
		end_thread(&x);
	}
}

static void test_churn(void)
{
	struct ty_summary sum;
	struct ty_recorder *r = begin("drain");
	pid_t pid = spawn(r, churn, NULL);
	until_all_ended(r);
	waitpid(pid, NULL, 0);
	uint32_t linked = 0;
	for (uint32_t i = 0; i < r->arena.backed; i++)
		linked += r->arena.state[i] == TY_CHUNK_LINKED;
	CU_ASSERT_EQUAL(linked, 0);
	CU_ASSERT_EQUAL(ty_arena_ready(&r->arena) + r->arena.spares, r->arena.backed);
	struct ty_store *s = finish(r, &sum);
	struct all a = read_all(s);
	size_t n, per[ROUNDS] = { 0 };
	ty_store_threads(s, &n);
	CU_ASSERT_EQUAL(n, ROUNDS);
	CU_ASSERT_EQUAL(a.n, ROUNDS * 700u);
	for (size_t i = 0; i < a.n; i++)
		per[a.ev[i].thread]++;
	for (size_t i = 0; i < ROUNDS; i++)
		CU_ASSERT_EQUAL(per[i], 700);
	free(a.ev);
	discard(s);
}

static void two_images(struct ty_arena *a, int go)
{
	struct traced x = claim(a, 0, IMAGE);
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, TY_F_NO_PATH, 5, 0x1000, 1);
	/* exec: nobody says goodbye, a new image comes with the same pid */
	struct traced y = claim(a, 2, IMAGE + 1);
	put_process(&y, TY_P_EXEC, 1, "/bin/next");
	put_wait(&y, TY_REC_WAIT, TY_OP_fsync, TY_F_NO_PATH, 5, 0x1000, 3);
	while (atomic_load(&x.t->owner))
		sched_yield();
	wait_go(go);
}

static void test_exec(void)
{
	struct ty_summary sum;
	int release;
	struct ty_recorder *r = begin("drain");
	pid_t pid = spawn(r, two_images, &release);
	for (int i = 0; i < TURNS && (r->reg.count < 2 || r->reg.actives > 1); i++)
		ty_session_turn(r);
	CU_ASSERT_EQUAL(r->reg.actives, 1);
	CU_ASSERT_EQUAL(r->reg.alive, 1);
	close(release);
	until_all_ended(r);
	waitpid(pid, NULL, 0);
	struct ty_store *s = finish(r, &sum);
	size_t n;
	const struct ty_process *p = ty_store_processes(s, &n);
	CU_ASSERT_EQUAL_FATAL(n, 2);
	CU_ASSERT_TRUE(p[0].ended && p[1].ended);
	CU_ASSERT_EQUAL(p[0].pid, p[1].pid);
	CU_ASSERT_STRING_EQUAL(p[1].exe, "/bin/next");
	discard(s);
}

static void late_slot(struct ty_arena *a, int go)
{
	struct traced x = claim(a, 3000, IMAGE);
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, TY_F_NO_PATH, 5, 0x1000, 1);
	struct traced y = claim(a, 0, IMAGE + 1);
	for (int i = 0; i < 5000; i++)
		put_wait(&y, TY_REC_WAIT, TY_OP_fsync, TY_F_NO_PATH, 5, 0x1000, 2);
	while (atomic_load(&x.t->owner))
		sched_yield();
	put_wait(&y, TY_REC_WAIT, TY_OP_fsync, TY_F_NO_PATH, 5, 0x1000, 3);
	_exit(atomic_load(&y.t->owner) ? 0 : 1);
}

/* The slot from before the exec is found after the one from behind it. */
static void test_exec_late(void)
{
	struct ty_summary sum;
	int status;
	struct ty_recorder *r = begin("drain");
	pid_t pid = spawn(r, late_slot, NULL);
	until_all_ended(r);
	waitpid(pid, &status, 0);
	CU_ASSERT_EQUAL(status, 0); /* the live thread kept its slot */
	struct ty_store *s = finish(r, &sum);
	struct all a = read_all(s);
	size_t n;
	CU_ASSERT_EQUAL(a.n, 5002);
	ty_store_processes(s, &n);
	CU_ASSERT_EQUAL(n, 2);
	free(a.ev);
	discard(s);
}

static void forked(struct ty_arena *a, int go)
{
	uint32_t parent = (uint32_t)getpid();
	struct traced x = claim(a, 0, IMAGE);
	uint64_t frame = 0x10011;
	put_process(&x, TY_P_EXEC, 1, "/bin/parent");
	put_module(&x, 0, 0x10000, 0x20000, 0x10000, 7, "/lib/first.so");
	put_path(&x, PATH_A, 0, &frame, 1);
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, 0, 5, PATH_A, 1);
	pid_t kid = fork();
	if (kid == 0) {
		struct traced y = claim(a, 1, IMAGE);
		put_process(&y, TY_P_FORK, parent, "");
		put_wait(&y, TY_REC_WAIT, TY_OP_fsync, 0, 5, PATH_A, 2);
		_exit(0);
	}
	waitpid(kid, NULL, 0);
}

static void test_fork(void)
{
	struct ty_summary sum;
	struct ty_recorder *r = begin("drain");
	pid_t pid = spawn(r, forked, NULL);
	until_all_ended(r);
	waitpid(pid, NULL, 0);
	struct ty_store *s = finish(r, &sum);
	struct all a = read_all(s);
	size_t n;
	const struct ty_process *p = ty_store_processes(s, &n);
	CU_ASSERT_EQUAL_FATAL(n, 2);
	const struct ty_process *kid = &p[p[0].forked ? 0 : 1];
	CU_ASSERT_TRUE(kid->forked);
	CU_ASSERT_FATAL(kid->parent >= 0);
	CU_ASSERT_EQUAL(p[kid->parent].pid, (uint32_t)pid);
	CU_ASSERT_STRING_EQUAL(kid->exe, "/bin/parent");
	CU_ASSERT_EQUAL_FATAL(a.n, 2);
	CU_ASSERT_EQUAL(a.ev[0].path, a.ev[1].path); /* the parent's map serves the child */
	free(a.ev);
	discard(s);
}

int main(void)
{
	if (!forks_allowed())
		return 77;
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("life", NULL, NULL);
	CU_add_test(s, "killed threads leave open waits", test_killed);
	CU_add_test(s, "slots and chunks come back", test_churn);
	CU_add_test(s, "exec", test_exec);
	CU_add_test(s, "exec of a thread that was found late", test_exec_late);
	CU_add_test(s, "fork", test_fork);
	return run_tests();
}

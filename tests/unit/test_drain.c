/* SPDX-License-Identifier: MIT
 *
 * The drain against a traced side that the test plays itself: what comes out
 * in the store, what happens to garbage, to killed threads, to slots. */
#include "traced.h"

#include <sys/prctl.h>

#define IMAGE 0x1234567ull
#define PATH_A (1ull << 63 | 0xaaaa)
#define PATH_B (1ull << 63 | 0xbbbb)

typedef void child_fn(struct ty_arena *a, int go);

/* A child that runs fn and ends; `go` is the read end of a pipe to wait on. */
static pid_t spawn(struct ty_recorder *r, child_fn *fn, int *release)
{
	int p[2];
	CU_ASSERT_EQUAL_FATAL(pipe(p), 0);
	pid_t pid = fork();
	CU_ASSERT_FATAL(pid >= 0);
	if (pid == 0) {
		close_range(STDERR_FILENO + 1, (unsigned)p[0] - 1, 0); /* a sibling's end of its pipe too */
		close_range((unsigned)p[0] + 1, ~0u, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn(r->arena.a, p[0]);
		_exit(0);
	}
	close(p[0]);
	if (release)
		*release = p[1];
	else
		close(p[1]);
	return pid;
}

static void wait_go(int go)
{
	char c;
	while (read(go, &c, 1) < 0)
		;
}

/* ---- plain delivery ---- */

#define WAITS 5000u /* some dozen chunks */

static void deliver(struct ty_arena *a, int go)
{
	struct traced x = claim(a, 0, IMAGE);
	uint64_t frames[] = { 0x10011, 0x20022, 0x30033 | TY_FRAME_EXACT };
	put_process(&x, TY_P_EXEC, (uint32_t)getppid(), "/bin/made-up");
	put_module(&x, 0, 0x10000, 0x20000, 0x10000, 7, "/lib/first.so");
	put_module(&x, 0, 0x20000, 0x40000, 0, 8, "/lib/second.so");
	put_path(&x, PATH_A, 0, frames, 3);
	for (uint64_t i = 0; i < WAITS; i++)
		put_wait(&x, TY_REC_WAIT, TY_OP_fsync, i % 2 ? TY_F_NO_PATH : 0, 5, i % 2 ? 0x10101 : PATH_A, i);
	put_wait(&x, TY_REC_WAKE, TY_OP_sem_post, 0, 0x5000, PATH_A, 1);
	atomic_store(&x.t->fast[TY_OP_pthread_mutex_lock], 42);
	atomic_store(&x.t->loss[TY_LOSS_NESTED], 3);
	end_thread(&x);
}

static void test_delivery(void)
{
	struct ty_summary sum;
	struct ty_recorder *r = begin("drain");
	pid_t pid = spawn(r, deliver, NULL);
	until_all_ended(r);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < TURNS && r->modules.pending; i++)
		ty_session_turn(r);
	CU_ASSERT_EQUAL(r->arena.a->module_count, 2); /* files that are not there: published as having no rows */
	CU_ASSERT_EQUAL(r->arena.a->module[0].state, TY_MODULE_NO_ROWS);
	CU_ASSERT_EQUAL(atomic_load(&ty_arena_thread(r->arena.a, 0)->owner), 0);
	CU_ASSERT_EQUAL(ty_arena_thread(r->arena.a, 0)->serial, 1);
	struct ty_store *s = finish(r, &sum);
	CU_ASSERT_EQUAL(sum.lost, 0);
	struct all a = read_all(s);
	CU_ASSERT_EQUAL_FATAL(a.n, WAITS + 1);
	size_t n;
	const struct ty_path *paths = ty_store_paths(s, &n);
	for (size_t i = 0; i < WAITS; i++) {
		CU_ASSERT_EQUAL_FATAL(a.ev[i].aux, i);
		CU_ASSERT_EQUAL_FATAL(a.ev[i].kind, TY_EV_WAIT);
		CU_ASSERT_FATAL(a.ev[i].path < n);
		const struct ty_path *p = &paths[a.ev[i].path];
		CU_ASSERT_EQUAL_FATAL(p->count, i % 2 ? 1 : 3);
		CU_ASSERT_EQUAL_FATAL(p->flags, i % 2 ? TY_F_NO_PATH : 0);
		CU_ASSERT_EQUAL_FATAL(p->frames[0].offset, i % 2 ? 0x101 : 0x11);
	}
	const struct ty_path *p = &paths[a.ev[0].path];
	CU_ASSERT_EQUAL(p->frames[0].module, 0);
	CU_ASSERT_EQUAL(p->frames[1].module, 1);
	CU_ASSERT_EQUAL(p->frames[1].offset, 0x20022);
	CU_ASSERT_TRUE(p->frames[2].exact);
	CU_ASSERT_EQUAL(a.ev[WAITS].kind, TY_EV_WAKE);
	const struct ty_process *pr = ty_store_processes(s, &n);
	CU_ASSERT_EQUAL_FATAL(n, 1);
	CU_ASSERT_EQUAL(pr->pid, (uint32_t)pid);
	CU_ASSERT_STRING_EQUAL(pr->exe, "/bin/made-up");
	CU_ASSERT_TRUE(pr->ended);
	CU_ASSERT_FALSE(pr->ended_waiting);
	const struct ty_thread_info *t = ty_store_threads(s, &n);
	CU_ASSERT_EQUAL_FATAL(n, 1);
	CU_ASSERT_EQUAL(t->recorded[TY_OP_fsync], WAITS);
	CU_ASSERT_EQUAL(t->fast[TY_OP_pthread_mutex_lock], 42);
	CU_ASSERT_EQUAL(t->loss[TY_LOSS_NESTED], 3);
	CU_ASSERT(t->end != 0);
	free(a.ev);
	discard(s);
}

/* ---- a path in the ring of a thread that nobody has heard of ---- */

static void late_path(struct ty_arena *a, int go)
{
	uint64_t frame = 0x10011;
	struct traced far = claim(a, 3000, IMAGE);
	put_module(&far, 0, 0x10000, 0x20000, 0x10000, 7, "/lib/first.so");
	put_path(&far, PATH_B, 0, &frame, 1);
	pid_t kid = fork();
	if (kid == 0) {
		struct traced near = claim(a, 0, IMAGE);
		put_wait(&near, TY_REC_WAIT, TY_OP_fsync, 0, 5, PATH_B, 0);
		wait_go(go);
		_exit(0);
	}
	wait_go(go);
	waitpid(kid, NULL, 0);
}

static void test_path_elsewhere(void)
{
	struct ty_summary sum;
	int release;
	struct ty_recorder *r = begin("drain");
	pid_t pid = spawn(r, late_path, &release);
	for (int i = 0; i < TURNS && r->drained == 0; i++)
		ty_session_turn(r);
	for (int i = 0; i < 4; i++)
		ty_session_turn(r);
	CU_ASSERT_EQUAL(r->lost.path_missed, 0);
	CU_ASSERT_TRUE(ty_path_known(r, PATH_B));
	close(release);
	until_all_ended(r);
	waitpid(pid, NULL, 0);
	struct ty_store *s = finish(r, &sum);
	struct all a = read_all(s);
	size_t n;
	CU_ASSERT_EQUAL_FATAL(a.n, 1);
	const struct ty_path *p = ty_store_paths(s, &n);
	CU_ASSERT_EQUAL(p[a.ev[0].path].count, 1);
	CU_ASSERT_EQUAL(p[a.ev[0].path].flags, 0);
	free(a.ev);
	discard(s);
}

static void no_path(struct ty_arena *a, int go)
{
	struct traced x = claim(a, 0, IMAGE);
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, 0, 5, PATH_B, 0);
	end_thread(&x);
}

static void test_path_lost(void)
{
	struct ty_summary sum;
	struct ty_recorder *r = begin("drain");
	pid_t pid = spawn(r, no_path, NULL);
	until_all_ended(r);
	waitpid(pid, NULL, 0);
	struct ty_store *s = finish(r, &sum);
	struct all a = read_all(s);
	size_t n;
	CU_ASSERT_EQUAL_FATAL(a.n, 1);
	const struct ty_path *p = ty_store_paths(s, &n);
	CU_ASSERT_EQUAL(p[a.ev[0].path].count, 1);
	CU_ASSERT_EQUAL(p[a.ev[0].path].frames[0].module, -1);
	CU_ASSERT_EQUAL(p[a.ev[0].path].flags, TY_F_MISS);
	CU_ASSERT_PTR_NOT_NULL(strstr(ty_store_meta(s, "losses.recorder"), "\"path_missed\":1"));
	free(a.ev);
	discard(s);
}

/* ---- garbage ---- */

static int bad_case;

static void spoil(struct traced *x)
{
	uint64_t frames[TY_FRAMES_MAX + 1] = { 0 }, *w = NULL;
	struct ty_chunk *c = ty_arena_chunk(x->a, x->c.chunk - 1);
	switch (bad_case) {
	case 0: /* op beyond the table */
		put_wait(x, TY_REC_WAIT, TY_OP_COUNT, 0, 5, PATH_A, 0);
		break;
	case 1: /* unknown type */
		put_wait(x, TY_REC_COUNT, TY_OP_fsync, 0, 5, PATH_A, 0);
		break;
	case 2: /* more frames than there can be */
		put_path(x, PATH_A, 0, frames, TY_FRAMES_MAX + 1);
		break;
	case 3: /* a record of no words, and none follow */
		w = room(x, 8);
		ty_ring_commit(x->a, &x->c, 8);
		break;
	case 4: /* longer than what was committed */
		w = room(x, 16);
		w[0] = TY_WORD0(TY_REC_PATH, 0, 0, 0, 0);
		w[1] = 1ull << 60;
		ty_ring_commit(x->a, &x->c, 16);
		break;
	case 5: /* committed beyond the chunk */
		atomic_store(&c->committed, TY_CHUNK_DATA + 8);
		break;
	case 6: /* not a multiple of 8 */
		atomic_store(&c->committed, x->c.pos + 4);
		break;
	case 7: /* shrinks */
		atomic_store(&c->committed, 8);
		break;
	case 8: /* a chunk that is still in the queue */
		atomic_store(&c->next, atomic_load(&x->a->ready[atomic_load(&x->a->ready_take) % TY_READY]));
		break;
	case 9: /* itself: a ring without end */
		atomic_store(&c->next, x->c.chunk);
		break;
	case 10: /* no such chunk */
		atomic_store(&c->next, UINT32_MAX);
		break;
	case 11: /* a path that does not end */
		w = room(x, 8 * 20);
		memset(w, 'x', 8 * 20);
		w[0] = TY_WORD0(TY_REC_MODULE, 0, 0, 0, 0);
		w[1] = 20;
		w[3] = 0, w[4] = 1, w[5] = 2, w[6] = 1;
		ty_ring_commit(x->a, &x->c, 8 * 20);
		break;
	case 12: /* ends before it begins */
		w = room(x, sizeof(struct ty_rec_wait));
		w[0] = TY_WORD0(TY_REC_WAIT, 6, TY_OP_fsync, 0, 0);
		w[1] = ty_now();
		w[2] = w[1] - 1;
		ty_ring_commit(x->a, &x->c, sizeof(struct ty_rec_wait));
		break;
	case 13: /* ends next week */
		w = room(x, sizeof(struct ty_rec_wait));
		w[0] = TY_WORD0(TY_REC_WAIT, 6, TY_OP_fsync, 0, 0);
		w[1] = w[2] = ty_now() + 604800000000000ull;
		ty_ring_commit(x->a, &x->c, sizeof(struct ty_rec_wait));
		break;
	default: /* a stack piece that lies about its size */
		w = room(x, 80);
		w[0] = TY_WORD0(TY_REC_STACK, 0, 0, 0, 0);
		w[1] = 10;
		w[6] = 65536, w[7] = 0, w[8] = 65536;
		ty_ring_commit(x->a, &x->c, 80);
	}
}
#define BAD_CASES 15

static void bad_ring(struct ty_arena *a, int go)
{
	struct traced x = claim(a, 0, IMAGE);
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, TY_F_NO_PATH, 5, 0x1000, 1);
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, TY_F_NO_PATH, 5, 0x1000, 2);
	wait_go(go); /* until these were read */
	spoil(&x);
	end_thread(&x);
}

static void good_ring(struct ty_arena *a, int go)
{
	struct traced x = claim(a, 1, IMAGE);
	wait_go(go);
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, TY_F_NO_PATH, 5, 0x1000, 3);
	end_thread(&x);
}

static void test_garbage(void)
{
	for (bad_case = 0; bad_case < BAD_CASES; bad_case++) {
		struct ty_summary sum;
		int one, two;
		struct ty_recorder *r = begin("drain");
		pid_t pid = spawn(r, bad_ring, &one), other = spawn(r, good_ring, &two);
		for (int i = 0; i < TURNS && r->drained < 2; i++)
			ty_session_turn(r);
		CU_ASSERT_EQUAL(write(one, "x", 1), 1);
		CU_ASSERT_EQUAL(write(two, "x", 1), 1);
		close(one);
		close(two);
		until_all_ended(r);
		waitpid(pid, NULL, 0);
		waitpid(other, NULL, 0);
		CU_ASSERT_EQUAL(r->lost.bad_record, 1);
		CU_ASSERT_EQUAL(r->reg.actives, 0);
		CU_ASSERT_EQUAL(atomic_load(&ty_arena_thread(r->arena.a, 0)->owner), 0);
		struct ty_store *s = finish(r, &sum);
		struct all a = read_all(s);
		CU_ASSERT_EQUAL(a.n, 3);
		CU_ASSERT_EQUAL(sum.lost, 1);
		free(a.ev);
		discard(s);
	}
}

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
static void test_left_running(void)
{
	struct ty_summary sum;
	int release;
	struct ty_recorder *r = begin("drain");
	pid_t pid = spawn(r, late_path, &release);
	for (int i = 0; i < TURNS && r->drained == 0; i++)
		ty_session_turn(r);
	struct ty_store *s = finish(r, &sum);
	size_t n;
	const struct ty_process *p = ty_store_processes(s, &n);
	CU_ASSERT(n > 0);
	for (size_t i = 0; i < n; i++) {
		CU_ASSERT_FALSE(p[i].ended);
		CU_ASSERT_EQUAL(p[i].end, 0);
	}
	close(release);
	waitpid(pid, NULL, 0);
	discard(s);
}

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
	CU_ASSERT_EQUAL(ty_arena_thread(r->arena.a, 0)->serial, ROUNDS);
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

/* ---- generations, shared objects, marks ---- */

static void generations(struct ty_arena *a, int go)
{
	struct traced x = claim(a, 0, IMAGE);
	uint64_t frame = 0x50011;
	put_module(&x, 0, 0x10000, 0x20000, 0x10000, 7, "/lib/stays.so");
	put_module(&x, 1, 0x50000, 0x60000, 0x50000, 8, "/lib/plugin-a.so");
	put_path(&x, PATH_A, 1, &frame, 1);
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, 0, 5, PATH_A, 1);
	put_gen(&x, 2);
	put_module(&x, 2, 0x50000, 0x60000, 0x50000, 9, "/lib/plugin-b.so");
	uint64_t two[] = { 0x50011, 0x10011 };
	put_path(&x, PATH_B, 2, two, 2);
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, 0, 5, PATH_B, 2);
	end_thread(&x);
}

static void test_generations(void)
{
	struct ty_summary sum;
	struct ty_recorder *r = begin("drain");
	pid_t pid = spawn(r, generations, NULL);
	until_all_ended(r);
	waitpid(pid, NULL, 0);
	struct ty_store *s = finish(r, &sum);
	struct all a = read_all(s);
	size_t n;
	const struct ty_path *p = ty_store_paths(s, &n);
	const struct ty_module_info *m = ty_store_modules(s, &n);
	CU_ASSERT_EQUAL_FATAL(a.n, 2);
	CU_ASSERT_STRING_EQUAL(m[p[a.ev[0].path].frames[0].module].path, "/lib/plugin-a.so");
	CU_ASSERT_STRING_EQUAL(m[p[a.ev[1].path].frames[0].module].path, "/lib/plugin-b.so");
	CU_ASSERT_STRING_EQUAL(m[p[a.ev[1].path].frames[1].module].path, "/lib/stays.so");
	free(a.ev);
	discard(s);
}

static void *shared_page, *elsewhere;

static void shared_here(struct ty_arena *a, int go)
{
	struct traced x = claim(a, 0, IMAGE);
	put_wait(&x, TY_REC_WAIT, TY_OP_sem_wait, TY_F_SHARED, (uint64_t)(uintptr_t)shared_page + 64, 0x1000, 1);
	wait_go(go);
}

static void shared_there(struct ty_arena *a, int go)
{
	void *moved = mremap(shared_page, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere);
	if (moved == MAP_FAILED)
		_exit(1);
	struct traced y = claim(a, 1, IMAGE + 1);
	put_wait(&y, TY_REC_WAIT, TY_OP_sem_wait, TY_F_SHARED, (uint64_t)(uintptr_t)moved + 64, 0x1000, 2);
	put_wait(&y, TY_REC_WAIT, TY_OP_sem_wait, TY_F_SHARED, (uint64_t)(uintptr_t)moved + 128, 0x1000, 3);
	wait_go(go);
}

static void test_shared(void)
{
	struct ty_summary sum;
	int one, two;
	shared_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	elsewhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ty_recorder *r = begin("drain");
	pid_t p1 = spawn(r, shared_here, &one), p2 = spawn(r, shared_there, &two);
	for (int i = 0; i < TURNS && r->drained < 3; i++)
		ty_session_turn(r);
	close(one);
	close(two);
	until_all_ended(r);
	waitpid(p1, NULL, 0);
	waitpid(p2, NULL, 0);
	struct ty_store *s = finish(r, &sum);
	struct all a = read_all(s);
	uint64_t object[4] = { 0 };
	CU_ASSERT_EQUAL(a.n, 3);
	for (size_t i = 0; i < a.n; i++)
		object[a.ev[i].aux % 4] = a.ev[i].object;
	CU_ASSERT_NOT_EQUAL(shared_page, elsewhere);
	CU_ASSERT_EQUAL(object[1], object[2]); /* other addresses, one page, one offset */
	CU_ASSERT_NOT_EQUAL(object[2], object[3]);
	free(a.ev);
	discard(s);
	munmap(shared_page, 4096);
	munmap(elsewhere, 4096);
}

static void marks(struct ty_arena *a, int go)
{
	static const char *const cls[] = { "checkout", "browse", "checkout" };
	struct traced x = claim(a, 0, IMAGE);
	for (int i = 0; i < 3; i++) {
		struct ty_rec_mark *m = room(&x, sizeof *m);
		*m = (struct ty_rec_mark){ .w0 = TY_WORD0(TY_REC_MARK, sizeof *m / 8, TY_MARK_BEGIN, 0, 0),
					   .when = ty_now(), .id = (uint64_t)i };
		memcpy(m->cls, cls[i], strlen(cls[i]));
		ty_ring_commit(a, &x.c, sizeof *m);
	}
	end_thread(&x);
}

static void test_marks(void)
{
	struct ty_summary sum;
	struct ty_recorder *r = begin("drain");
	pid_t pid = spawn(r, marks, NULL);
	until_all_ended(r);
	waitpid(pid, NULL, 0);
	struct ty_store *s = finish(r, &sum);
	struct all a = read_all(s);
	CU_ASSERT_EQUAL_FATAL(a.n, 3);
	CU_ASSERT_EQUAL(a.ev[0].kind, TY_EV_MARK);
	CU_ASSERT_EQUAL(a.ev[0].op, TY_MARK_BEGIN);
	CU_ASSERT_STRING_EQUAL(ty_store_label(s, (uint32_t)a.ev[0].aux), "checkout");
	CU_ASSERT_STRING_EQUAL(ty_store_label(s, (uint32_t)a.ev[1].aux), "browse");
	CU_ASSERT_EQUAL(a.ev[0].aux, a.ev[2].aux);
	free(a.ev);
	discard(s);
}

int main(void)
{
#ifdef __SANITIZE_THREAD__
	/* Children are forked beside the recorder's threads, which ThreadSanitizer now and
	 * then deadlocks on; the recorder itself runs under it in the end-to-end tests. */
	puts("skipped: forks beside threads under ThreadSanitizer");
	return 77;
#endif
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("drain", NULL, NULL);
	CU_add_test(s, "events arrive whole and in order", test_delivery);
	CU_add_test(s, "a path in the ring of an unknown thread", test_path_elsewhere);
	CU_add_test(s, "a path that was lost", test_path_lost);
	CU_add_test(s, "garbage ends one ring and is counted", test_garbage);
	CU_add_test(s, "killed threads leave open waits", test_killed);
	CU_add_test(s, "a program that outlives its recording", test_left_running);
	CU_add_test(s, "slots and chunks come back", test_churn);
	CU_add_test(s, "exec", test_exec);
	CU_add_test(s, "exec of a thread that was found late", test_exec_late);
	CU_add_test(s, "fork", test_fork);
	CU_add_test(s, "generations of modules", test_generations);
	CU_add_test(s, "objects in shared memory", test_shared);
	CU_add_test(s, "marks and labels", test_marks);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed != 0;
}

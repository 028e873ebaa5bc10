/* SPDX-License-Identifier: MIT
 *
 * The drain against a traced side that the test plays itself: what comes out in
 * the store.
 */
#include "traced.h"

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

/* ---- a sample just after a wait ---- */

#define LONG_NS 700000000ull

static void long_wait(struct ty_arena *a, int go)
{
	struct traced x = claim(a, 0, IMAGE);
	wait_go(go);
	struct ty_rec_wait *w = room(&x, sizeof *w);
	*w = (struct ty_rec_wait){ TY_WORD0(TY_REC_WAIT, sizeof *w / 8, TY_OP_fsync, TY_F_NO_PATH, 0),
				   ty_now() - LONG_NS, 0, 5, 0x10101, 0 };
	w->end = w->begin + LONG_NS;
	commit(&x, sizeof *w);
	atomic_store(&x.t->fast[TY_OP_fsync], 1);
	wait_go(go);
	end_thread(&x);
}

static void test_sample(void)
{
	struct ty_summary sum;
	int release;
	struct ty_recorder *r = begin("drain");
	pid_t pid = spawn(r, long_wait, &release);
	struct ty_thread *t = ty_arena_thread(r->arena.a, 0);
	for (int i = 0; i < TURNS && !r->reg.slot[0].registered; i++)
		ty_session_turn(r);
	CU_ASSERT_TRUE_FATAL(r->reg.slot[0].registered);
	CU_ASSERT_EQUAL(r->reg.slot[0].last_waits, 0);
	CU_ASSERT_EQUAL_FATAL(write(release, "", 1), 1);
	while (atomic_load(&t->fast[TY_OP_fsync]) == 0) /* the wait is in the ring */
		sched_yield();
	ty_sample_slot(r, 0);
	CU_ASSERT_EQUAL(r->reg.slot[0].last_waits, LONG_NS);
	close(release);
	until_all_ended(r);
	waitpid(pid, NULL, 0);
	struct ty_store *s = finish(r, &sum);
	struct all a = read_all(s);
	CU_ASSERT_EQUAL(a.n, 1);
	free(a.ev);
	discard(s);
}

/* ---- a descriptor's number, used again before its first use is read ---- */

static void reused(struct ty_arena *a, int go)
{
	struct traced x = claim(a, 0, IMAGE);
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	put_wait(&x, TY_REC_WAIT, TY_OP_read, TY_F_NO_PATH, (uint64_t)fd, 0x10101, 0);
	uint64_t closing = ty_now();
	close(fd);
	if (open("/dev/null", O_RDONLY | O_CLOEXEC) != fd)
		_exit(98);
	struct ty_rec_wait *w = room(&x, sizeof *w);
	*w = (struct ty_rec_wait){ TY_WORD0(TY_REC_WAIT, sizeof *w / 8, TY_OP_close, TY_F_NO_PATH, 0),
				   closing, ty_now(), (uint64_t)fd, 0x10101, 0 };
	commit(&x, sizeof *w);
	put_wait(&x, TY_REC_WAIT, TY_OP_read, TY_F_NO_PATH, (uint64_t)fd, 0x10101, 0);
	atomic_store(&x.t->fast[TY_OP_fsync], 1);
	wait_go(go);
	end_thread(&x);
}

static void test_descriptor_reused(void)
{
	struct ty_summary sum;
	int release;
	size_t n;
	struct ty_recorder *r = begin("drain");
	pid_t pid = spawn(r, reused, &release);
	while (atomic_load(&ty_arena_thread(r->arena.a, 0)->fast[TY_OP_fsync]) == 0) /* all is in the ring */
		sched_yield();
	for (int i = 0; i < TURNS && r->drained < 3; i++)
		ty_session_turn(r);
	ty_session_turn(r);
	close(release);
	until_all_ended(r);
	waitpid(pid, NULL, 0);
	struct ty_store *s = finish(r, &sum);
	struct all a = read_all(s);
	CU_ASSERT_EQUAL_FATAL(a.n, 3);
	const struct ty_descriptor *d = ty_store_descriptors(s, &n);
	CU_ASSERT_EQUAL_FATAL(n, 1);
	CU_ASSERT_STRING_EQUAL(d[0].name, "/dev/null");
	CU_ASSERT_EQUAL(d[0].from, a.ev[2].begin); /* not that of the first read */
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

/* ---- generations, shared objects, marks ---- */

#define EVERY 1000u
#define LOADS (10 * EVERY) /* a program that loads and unloads plugins without end */
#define MAP(i) (0x7000000000000000ull + (i))

static void generations(struct ty_arena *a, int go)
{
	struct traced x = claim(a, 0, IMAGE);
	uint64_t frame = 0x50011, first = 0x10011, third = 0x90011;
	put_module(&x, 0, 0x10000, 0x20000, 0x10000, 7, "/lib/stays.so");
	put_map(&x, 1, MAP(1), IMAGE, 0x50000, 0x60000, 0x50000, 8, "/lib/plugin-a.so");
	put_path_in(&x, MAP(1), PATH_A, 1, &frame, 1);
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, 0, 5, PATH_A, 0);
	put_gen(&x, 2);
	put_map(&x, 2, MAP(2), MAP(1), 0x50000, 0x60000, 0x50000, 9, "/lib/plugin-b.so");
	uint64_t two[] = { 0x50011, 0x10011 };
	put_path_in(&x, MAP(2), PATH_B, 2, two, 2);
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, 0, 5, PATH_B, 1);
	/* in the wrong order, as from two threads */
	put_map(&x, 2, MAP(4), MAP(3), 0x90000, 0xa0000, 0x90000, 11, "/lib/plugin-d.so");
	put_map(&x, 2, MAP(3), MAP(2), 0x70000, 0x80000, 0x70000, 10, "/lib/plugin-c.so");
	uint64_t three[] = { 0x90011, 0x70011, 0x50011, 0x10011 };
	put_path_in(&x, MAP(4), PATH_B + 1, 2, three, 4);
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, 0, 5, PATH_B + 1, 2);
	for (uint64_t i = 5; i < LOADS; i++) {
		put_map(&x, i, MAP(i), MAP(i - 1), 0x50000, 0x58000 + i % 2 * 0x8000, 0x50000, (uint8_t)(8 + i % 2),
			i % 2 ? "/lib/plugin-b.so" : "/lib/plugin-a.so");
		if (i % EVERY == 0) { /* a walk is what finds a module, so there are paths in between */
			put_path_in(&x, MAP(i), 1ull << 63 | i, i, &frame, 1);
			put_wait(&x, TY_REC_WAIT, TY_OP_fsync, 0, 5, 1ull << 63 | i, 3);
		}
	}
	put_path_in(&x, MAP(LOADS - 1), PATH_B + 2, LOADS, three, 4);
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, 0, 5, PATH_B + 2, 4);
	/* a forked sibling says it once more, and callers without a path */
	put_map(&x, 1, MAP(1), IMAGE, 0x50000, 0x60000, 0x50000, 8, "/lib/plugin-a.so");
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, TY_F_NO_PATH, 5, first, 5);
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, TY_F_NO_PATH, 5, third, 6);
	/* a map over itself */
	put_map(&x, 1, MAP(LOADS), MAP(LOADS), 0x50000, 0x60000, 0x50000, 8, "/lib/plugin-a.so");
	/* two over each other */
	put_map(&x, 1, MAP(LOADS + 1), MAP(LOADS + 2), 0x50000, 0x60000, 0x50000, 8, "/lib/plugin-a.so");
	put_map(&x, 1, MAP(LOADS + 2), MAP(LOADS + 1), 0x50000, 0x60000, 0x50000, 8, "/lib/plugin-a.so");
	put_path_in(&x, MAP(LOADS + 2), PATH_B + 3, LOADS, two, 2);
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, 0, 5, PATH_B + 3, 7);
	end_thread(&x);
}

static const char *module_at(const struct ty_module_info *m, const struct ty_path *p, uint32_t frame)
{
	return frame < p->count && p->frames[frame].module >= 0 ? m[p->frames[frame].module].path : "";
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
	static const char *const want[][4] = {
		{ "/lib/plugin-a.so" },
		{ "/lib/plugin-b.so", "/lib/stays.so" },
		{ "/lib/plugin-d.so", "/lib/plugin-c.so", "/lib/plugin-b.so", "/lib/stays.so" },
		{ "/lib/plugin-a.so" },
		{ "/lib/plugin-d.so", "/lib/plugin-c.so", "/lib/plugin-b.so", "/lib/stays.so" },
		{ "/lib/stays.so" },
		{ "/lib/plugin-d.so" },
		{ "/lib/plugin-a.so", "/lib/stays.so" },
	};
	CU_ASSERT_EQUAL_FATAL(a.n, sizeof want / sizeof *want + LOADS / EVERY - 2);
	for (size_t i = 0; i < a.n; i++)
		for (uint32_t k = 0; k < 4 && want[a.ev[i].aux][k]; k++)
			CU_ASSERT_STRING_EQUAL(module_at(m, &p[a.ev[i].path], k), want[a.ev[i].aux][k]);
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
	/* and a wait that it ends in */
	atomic_store(&y.t->wait_begin, ty_now());
	atomic_store(&y.t->wait_object, (uint64_t)(uintptr_t)moved + 64);
	atomic_store(&y.t->wait_path, 0x1000);
	atomic_store(&y.t->wait_op, ty_wait_word(TY_OP_sem_wait, TY_F_SHARED));
	atomic_store(&y.t->wait_seq, 2);
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
	CU_ASSERT_EQUAL(a.n, 4);
	for (size_t i = 0; i < a.n; i++)
		object[a.ev[i].aux % 4] = a.ev[i].object;
	CU_ASSERT_NOT_EQUAL(shared_page, elsewhere);
	CU_ASSERT_EQUAL(object[1], object[2]); /* other addresses, one page, one offset */
	CU_ASSERT_NOT_EQUAL(object[2], object[3]);
	CU_ASSERT_EQUAL(object[0], object[1]); /* the open one */
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
		commit(&x, sizeof *m);
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
	if (!forks_allowed())
		return 77;
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("drain", NULL, NULL);
	CU_add_test(s, "events arrive whole and in order", test_delivery);
	CU_add_test(s, "a path in the ring of an unknown thread", test_path_elsewhere);
	CU_add_test(s, "a program that outlives its recording", test_left_running);
	CU_add_test(s, "a wait that has just ended is sampled", test_sample);
	CU_add_test(s, "a descriptor's number that was used again", test_descriptor_reused);
	CU_add_test(s, "a path that was lost", test_path_lost);
	CU_add_test(s, "generations of modules", test_generations);
	CU_add_test(s, "objects in shared memory", test_shared);
	CU_add_test(s, "marks and labels", test_marks);
	return run_tests();
}

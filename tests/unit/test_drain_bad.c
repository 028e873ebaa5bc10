/* SPDX-License-Identifier: MIT
 *
 * The drain against rings full of garbage: counted, given back, and the others go
 * on.
 */
#include "traced.h"

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
		commit(x, 8);
		break;
	case 4: /* longer than what was committed */
		w = room(x, 16);
		w[0] = TY_WORD0(TY_REC_PATH, 0, 0, 0, 0);
		w[1] = 1ull << 60;
		commit(x, 16);
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
		commit(x, 8 * 20);
		break;
	case 12: /* ends before it begins */
		w = room(x, sizeof(struct ty_rec_wait));
		w[0] = TY_WORD0(TY_REC_WAIT, 6, TY_OP_fsync, 0, 0);
		w[1] = ty_now();
		w[2] = w[1] - 1;
		commit(x, sizeof(struct ty_rec_wait));
		break;
	case 13: /* ends next week */
		w = room(x, sizeof(struct ty_rec_wait));
		w[0] = TY_WORD0(TY_REC_WAIT, 6, TY_OP_fsync, 0, 0);
		w[1] = w[2] = ty_now() + 604800000000000ull;
		commit(x, sizeof(struct ty_rec_wait));
		break;
	case 14: /* a path without frames */
		put_path(x, PATH_A, 0, frames, 0);
		break;
	default: /* a stack piece that lies about its size */
		w = room(x, 80);
		w[0] = TY_WORD0(TY_REC_STACK, 0, 0, 0, 0);
		w[1] = 10;
		w[6] = 65536, w[7] = 0, w[8] = 65536;
		commit(x, 80);
	}
}
#define BAD_CASES 16
#define AFTER 2000u /* six chunks */

/* What is wrong is a record, and the ring itself goes on. */
static bool ring_sound(void)
{
	return bad_case < 5 || bad_case > 10;
}

static void bad_ring(struct ty_arena *a, int go)
{
	struct traced x = claim(a, 0, IMAGE);
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, TY_F_NO_PATH, 5, 0x1000, 1);
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, TY_F_NO_PATH, 5, 0x1000, 2);
	wait_go(go); /* until these were read */
	spoil(&x);
	for (uint32_t i = 0; ring_sound() && i < AFTER; i++)
		put_wait(&x, TY_REC_WAIT, TY_OP_fsync, TY_F_NO_PATH, 5, 0x1000, i);
	end_thread(&x);
}

static void good_ring(struct ty_arena *a, int go)
{
	struct traced x = claim(a, 1, IMAGE);
	wait_go(go);
	put_wait(&x, TY_REC_WAIT, TY_OP_fsync, TY_F_NO_PATH, 5, 0x1000, 3);
	end_thread(&x);
}

static void check_given_back(const struct ty_recorder *r)
{
	uint32_t linked = 0;
	for (uint32_t i = 0; i < r->arena.backed; i++)
		linked += r->arena.state[i] == TY_CHUNK_LINKED;
	CU_ASSERT_EQUAL(linked, 0);
	if (!ring_sound())
		return;
	CU_ASSERT_EQUAL(ty_arena_ready(&r->arena) + r->arena.spares, r->arena.backed);
	CU_ASSERT(r->lost.bad_bytes >= AFTER * sizeof(struct ty_rec_wait));
	CU_ASSERT(r->lost.bad_bytes < (AFTER + 1) * sizeof(struct ty_rec_wait) + TY_FRAMES_MAX * 8 + 256);
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
		check_given_back(r);
		struct ty_store *s = finish(r, &sum);
		struct all a = read_all(s);
		CU_ASSERT_EQUAL(a.n, 3);
		CU_ASSERT_EQUAL(sum.lost, 1);
		free(a.ev);
		discard(s);
	}
}

int main(void)
{
	if (!forks_allowed())
		return 77;
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("garbage", NULL, NULL);
	CU_add_test(s, "garbage ends one ring and is counted", test_garbage);
	return run_tests();
}

/* SPDX-License-Identifier: MIT
 *
 * The drain and captured bytes: classes from the order on a connection, and
 * nothing of the bytes in the store.
 */
#include "traced.h"

/* ---- captured bytes ---- */

static void put_data(struct traced *x, unsigned op, unsigned flags, uint64_t fd, uint64_t b, uint64_t e, const char *text)
{
	struct ty_rec_wait *w = room(x, sizeof *w);
	size_t n = strlen(text);
	*w = (struct ty_rec_wait){ TY_WORD0(TY_REC_WAIT, sizeof *w / 8, op, TY_F_NO_PATH, 0), b, e, fd, 0x1234, n };
	commit(x, sizeof *w);
	struct ty_rec_bytes *r = room(x, sizeof *r);
	*r = (struct ty_rec_bytes){ .w0 = TY_WORD0(TY_REC_BYTES, sizeof *r / 8, op, flags, 0), .begin = b, .end = e,
				    .object = fd, .length = n };
	size_t most = flags & TY_BYTES_SENT ? TY_BYTES_MAX / 2 : TY_BYTES_MAX, k = n < most ? n : most;
	memcpy(r->data, text, k);
	if (flags & TY_BYTES_SENT)
		memcpy(r->data + TY_BYTES_MAX / 2, text + n - k, k);
	commit(x, sizeof *r);
}

/* Two threads serve one connection in turn.  The ring that is read first has
 * the second request: what comes when is told by the times. */
static void serve_in_turn(struct ty_arena *a, int go)
{
	struct traced x = claim(a, 0, IMAGE), y = { .a = a, .t = ty_arena_thread(a, 1) };
	uint64_t t = ty_now() - 1000000, none = 0;
	atomic_compare_exchange_strong(&y.t->owner, &none, (uint64_t)getpid() << 32 | 0x7fffffffu);
	y.t->image = IMAGE;
	y.t->birth = ty_now();
	atomic_store(&y.t->wait_op, UINT32_MAX);
	put_data(&x, TY_OP_recv, 0, 9, t + 300, t + 310, "*2\r\n$3\r\nGET\r\n$6\r\ns3cr3t\r\n");
	put_data(&x, TY_OP_send, TY_BYTES_SENT, 9, t + 320, t + 330, "$-1\r\n");
	put_data(&y, TY_OP_recv, 0, 9, t + 100, t + 110, "*3\r\n$3\r\n");
	put_data(&y, TY_OP_recv, 0, 9, t + 120, t + 130, "SET\r\n$6\r\ns3cr3t\r\n");
	put_data(&y, TY_OP_send, TY_BYTES_SENT, 9, t + 140, t + 320, "+OK\r\n"); /* returns after the next receive */
	atomic_store_explicit(&y.t->state, TY_THREAD_LIVE, memory_order_release);
	end_thread(&x);
	end_thread(&y);
}

/* An answer whose bytes were not taken, by a send and by sendfile: the next request is one. */
static void answer_unseen(struct ty_arena *a, int go)
{
	struct traced x = claim(a, 0, IMAGE);
	uint64_t t = ty_now() - 1000000;
	static const unsigned ops[] = { TY_OP_send, TY_OP_write, TY_OP_sendfile };
	for (unsigned i = 0; i < 3; i++, t += 100) {
		put_data(&x, TY_OP_recv, 0, 9, t, t + 10, i % 2 ? "*1\r\n$4\r\nINFO\r\n" : "*1\r\n$4\r\nPING\r\n");
		struct ty_rec_wait *w = room(&x, sizeof *w);
		*w = (struct ty_rec_wait){ TY_WORD0(TY_REC_WAIT, sizeof *w / 8, ops[i], TY_F_NO_PATH, 0), t + 20, t + 30,
					   9, 0x1234, 7 };
		commit(&x, sizeof *w);
	}
	put_data(&x, TY_OP_recv, 0, 9, t, t + 10, "*2\r\n$3\r\nGET\r\n$6\r\ns3cr3t\r\n");
	end_thread(&x);
}

static bool in_file(const char *path, const char *what)
{
	char *buf = malloc(1 << 20);
	FILE *f = fopen(path, "r");
	size_t n = buf && f ? fread(buf, 1, 1 << 20, f) : 0;
	bool found = n && memmem(buf, n, what, strlen(what));
	CU_ASSERT_TRUE(n > 0 && n < 1 << 20);
	free(buf);
	if (f)
		fclose(f);
	return found;
}

static void test_captured(void)
{
	struct ty_summary sum;
	struct ty_recorder *r = begin_with("drain", 32);
	pid_t pid = spawn(r, serve_in_turn, NULL);
	until_all_ended(r);
	waitpid(pid, NULL, 0);
	struct ty_store *s = finish(r, &sum);
	struct all a = read_all(s);
	size_t marks = 0;
	const char *cls[2] = { "", "" };
	for (size_t i = 0; i < a.n; i++) {
		if (a.ev[i].kind != TY_EV_MARK)
			continue;
		CU_ASSERT_EQUAL(a.ev[i].op, TY_MARK_CLASS);
		CU_ASSERT_EQUAL(a.ev[i].object, 9);
		/* right after the receive that told it, in its thread */
		CU_ASSERT_TRUE(i > 0 && a.ev[i - 1].end == a.ev[i].end && a.ev[i - 1].thread == a.ev[i].thread);
		if (marks < 2)
			cls[marks] = ty_store_label(s, (uint32_t)a.ev[i].aux);
		marks++;
	}
	CU_ASSERT_EQUAL(marks, 2);
	CU_ASSERT_STRING_EQUAL(cls[0], "SET");
	CU_ASSERT_STRING_EQUAL(cls[1], "GET");
	CU_ASSERT_EQUAL(a.n, 7);
	CU_ASSERT_FALSE(in_file(store_path, "s3cr3t"));
	CU_ASSERT_TRUE(in_file(store_path, "SET"));
	free(a.ev);
	discard(s);
}

static void test_answer_unseen(void)
{
	static const char *const want[] = { "PING", "INFO", "PING", "GET" };
	struct ty_summary sum;
	struct ty_recorder *r = begin_with("drain", 32);
	pid_t pid = spawn(r, answer_unseen, NULL);
	until_all_ended(r);
	waitpid(pid, NULL, 0);
	struct ty_store *s = finish(r, &sum);
	struct all a = read_all(s);
	size_t marks = 0;
	for (size_t i = 0; i < a.n; i++)
		if (a.ev[i].kind == TY_EV_MARK && marks++ < 4)
			CU_ASSERT_STRING_EQUAL(ty_store_label(s, (uint32_t)a.ev[i].aux), want[marks - 1]);
	CU_ASSERT_EQUAL(marks, 4);
	free(a.ev);
	discard(s);
}

/* Bytes that nobody asked for are no record that could be true. */
static void test_not_captured(void)
{
	struct ty_summary sum;
	struct ty_recorder *r = begin("drain");
	pid_t pid = spawn(r, serve_in_turn, NULL);
	until_all_ended(r);
	waitpid(pid, NULL, 0);
	CU_ASSERT_EQUAL(r->lost.bad_record, 2);
	struct ty_store *s = finish(r, &sum);
	struct all a = read_all(s);
	for (size_t i = 0; i < a.n; i++)
		CU_ASSERT_EQUAL(a.ev[i].kind, TY_EV_WAIT);
	free(a.ev);
	discard(s);
}

int main(void)
{
	if (!forks_allowed())
		return 77;
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("captured bytes", NULL, NULL);
	CU_add_test(s, "captured bytes become classes", test_captured);
	CU_add_test(s, "answers whose bytes were not taken", test_answer_unseen);
	CU_add_test(s, "bytes that nobody asked for", test_not_captured);
	return run_tests();
}

/* SPDX-License-Identifier: MIT
 *
 * Cutting requests: one case for each sentence of the rules.  Events are made
 * in the order of their ends, as a store gives them; times are in ns.  What
 * must stay true: requests found, their latencies and their time by operation,
 * to the nanosecond. */
#include <CUnit/Basic.h>
#include <stdio.h>

#include "analyze/cut.h"
#include "tarry/event.h"

enum { RECV, SEND, READ, WRITE, COPY, ACCEPT, CONNECT, CLOSE, SHUTDOWN, DUP, POLL, MUTEX, COND, FSYNC, NOPS };
static const struct ty_op_info ops[NOPS] = {
	[RECV] = { "recv", "recv", TY_CLASS_RECV },	    [SEND] = { "send", "send", TY_CLASS_SEND },
	[READ] = { "read", "read", TY_CLASS_READ },	    [WRITE] = { "write", "write", TY_CLASS_WRITE },
	[COPY] = { "sendfile", "copy", TY_CLASS_COPY },	    [ACCEPT] = { "accept4", "accept", TY_CLASS_ACCEPT },
	[CONNECT] = { "connect", "connect", TY_CLASS_CONNECT }, [CLOSE] = { "close", "close", TY_CLASS_CLOSE },
	[SHUTDOWN] = { "shutdown", "close", TY_CLASS_CLOSE }, [DUP] = { "dup2", "dup", TY_CLASS_DUP },
	[POLL] = { "epoll_wait", "poll", TY_CLASS_POLL },   [MUTEX] = { "pthread_mutex_lock", "mutex", TY_CLASS_MUTEX },
	[COND] = { "pthread_cond_wait", "cond", TY_CLASS_COND }, [FSYNC] = { "fdatasync", "sync", TY_CLASS_SYNC },
};

/* processes 0 (threads 0, 1, 2) and 1, its child (thread 3), and 2, not related (thread 4) */
static struct ty_process processes[3];
static struct ty_thread_info threads[5];
static struct ty_path paths[1];
static uint32_t group[1];
static uint8_t kind[1];
static bool match[1], match_op[NOPS];
static struct ty_ev events[20000];
static size_t nevents;
static struct run run;
static struct ty_cut cut;

static void begin(enum ty_rule rule)
{
	for (int i = 0; i < 3; i++)
		processes[i] = (struct ty_process){ .pid = 100u + (unsigned)i, .parent = -1, .start = 1 };
	processes[1].parent = 0;
	processes[1].forked = true;
	processes[1].start = 1000000;
	for (unsigned i = 0; i < 5; i++)
		threads[i] = (struct ty_thread_info){ .process = i < 3 ? 0 : i - 2, .tid = 100 + i };
	paths[0] = (struct ty_path){ 0 };
	nevents = 0;
	memset(match_op, 0, sizeof match_op);
	run = (struct run){ .rule = rule, .to = UINT64_MAX, .want_behind = true };
	run.t.ops = ops;
	run.t.nops = NOPS;
	run.t.processes = processes;
	run.t.nprocesses = 3;
	run.t.threads = threads;
	run.t.nthreads = 5;
	run.t.paths = paths;
	run.t.npaths = 1;
	run.names.group = group;
	run.names.ngroups = 1;
	run.names.kind = kind;
	run.names.match = match;
	run.names.match_op = match_op;
}

static void ev(uint32_t thread, uint16_t op, uint64_t object, uint64_t b, uint64_t e, uint64_t aux, uint16_t err)
{
	events[nevents] = (struct ty_ev){ .begin = b, .end = e, .object = object, .aux = aux, .thread = thread,
		.op = op, .err = err, .kind = TY_EV_WAIT, .cls = ops[op].cls };
	CU_ASSERT_FATAL(nevents == 0 || events[nevents - 1].end <= e);
	nevents++;
}
static void accepted(uint32_t t, uint64_t fd, uint64_t at) { ev(t, ACCEPT, 3, at > 1 ? at - 1 : 0, at, fd, 0); }
static void io(uint32_t t, uint16_t op, uint64_t fd, uint64_t b, uint64_t e) { ev(t, op, fd, b, e, 10, 0); }
static void lock(uint32_t t, uint64_t b, uint64_t e) { ev(t, MUTEX, 0x1000, b, e, 0, 0); }
static void mark(uint32_t t, enum ty_mark what, uint64_t id, uint64_t at)
{
	events[nevents++] = (struct ty_ev){ .begin = at, .end = at, .object = id, .thread = t, .op = (uint16_t)what,
		.kind = TY_EV_MARK, .aux = 7, .cls = TY_CLASS_COUNT };
}

static uint64_t sum_of(struct ty_ledger *l, const struct ty_row **row, bool held)
{
	const uint32_t *site;
	const uint64_t *ns;
	uint64_t sum = 0;
	CU_ASSERT_FATAL(ty_ledger_next(l, row, &site, &ns) == 1);
	for (uint32_t i = 0; i < (*row)->n; i++)
		sum += !held || site[i] == TY_SITE_HELD ? ns[i] : 0;
	return sum;
}

/* What a request waited behind is a part of its time held up. */
static void check_behind(void)
{
	struct ty_ledger *l = &run.behind_rows;
	const struct ty_row *a, *b;
	if (!l->n)
		return;
	CU_ASSERT_EQUAL_FATAL(l->n, run.rows.n);
	CU_ASSERT_FATAL(ty_ledger_rewind(&run.rows) == 0 && ty_ledger_rewind(l) == 0);
	for (size_t i = 0; i < l->n; i++) {
		uint64_t held = sum_of(&run.rows, &a, true), behind = sum_of(l, &b, false);
		CU_ASSERT_TRUE(a->end == b->end && a->latency == b->latency);
		CU_ASSERT_TRUE(behind <= held);
	}
}

static void go(void)
{
	CU_ASSERT_FATAL(ty_sites_init(&run.sites, TY_BY_OPERATION, group, 1, 1, NOPS) == 0);
	CU_ASSERT_FATAL(ty_cut_init(&cut, &run) == 0);
	/* odd batches: the result must not depend on them */
	for (size_t i = 0; i < nevents; i += 3)
		CU_ASSERT_FATAL(ty_cut_events(&cut, events + i, nevents - i < 3 ? nevents - i : 3) == 0);
	CU_ASSERT_FATAL(ty_cut_end(&cut) == 0);
	CU_ASSERT_EQUAL(run.counts.overlap, 0);
	CU_ASSERT_EQUAL(run.counts.negative, 0);
	check_behind();
}

static void done(void)
{
	ty_cut_free(&cut);
	ty_sites_free(&run.sites);
	ty_ledger_free(&run.rows);
	ty_ledger_free(&run.behind_rows);
	ty_result_free(&run.behind);
	free(run.ops);
}

/* Time of the row that ended at `end`: at an operation (NOPS: held up), or latency (NOPS + 1); -1: no such row. */
static int64_t of(uint64_t end, unsigned op)
{
	const struct ty_row *row;
	const uint32_t *site;
	const uint64_t *ns;
	int64_t found = -1;
	CU_ASSERT_FATAL(ty_ledger_rewind(&run.rows) == 0);
	while (ty_ledger_next(&run.rows, &row, &site, &ns) == 1) {
		if (row->end != end)
			continue;
		CU_ASSERT_EQUAL(found, -1);
		found = op == NOPS + 1 ? (int64_t)row->latency : 0;
		for (uint32_t i = 0; i < row->n; i++)
			if (op == NOPS ? site[i] == TY_SITE_HELD
				       : site[i] != TY_SITE_HELD && run.sites.v[site[i]].op == op)
				found += (int64_t)ns[i];
	}
	return found;
}
#define HELD NOPS
#define LATENCY (NOPS + 1)

/* ---- rule socket ---- */

static void test_one(void)
{
	begin(TY_RULE_AUTO);
	accepted(0, 9, 10);
	io(0, RECV, 9, 20, 100); /* time before the receive returned is not in it */
	lock(0, 110, 130);
	ev(0, FSYNC, 5, 140, 150, 0, 0);
	io(0, SEND, 9, 160, 170);
	lock(0, 180, 190); /* after the last send: not in it */
	io(0, RECV, 9, 200, 300);
	io(0, SEND, 9, 310, 311);
	go();
	CU_ASSERT_EQUAL(run.rule, TY_RULE_SOCKET);
	CU_ASSERT_EQUAL(run.rows.n, 2);
	CU_ASSERT_EQUAL(of(170, LATENCY), 70);
	CU_ASSERT_EQUAL(of(170, MUTEX), 20);
	CU_ASSERT_EQUAL(of(170, FSYNC), 10);
	CU_ASSERT_EQUAL(of(170, SEND), 10);
	CU_ASSERT_EQUAL(of(170, RECV), 0);
	CU_ASSERT_EQUAL(of(311, LATENCY), 11);
	done();
}

static void test_server_first(void)
{
	begin(TY_RULE_SOCKET);
	accepted(0, 9, 10);
	io(0, SEND, 9, 20, 30); /* greeting */
	io(0, SEND, 9, 40, 50);
	io(0, RECV, 9, 60, 100);
	io(0, SEND, 9, 150, 160);
	go();
	CU_ASSERT_EQUAL(run.rows.n, 1);
	CU_ASSERT_EQUAL(of(160, LATENCY), 60);
	done();
}

static void test_header_body(void)
{
	begin(TY_RULE_SOCKET);
	accepted(0, 9, 10);
	io(0, RECV, 9, 20, 100);
	ev(0, RECV, 9, 101, 102, 0, EAGAIN);
	io(0, READ, 9, 110, 150); /* the wait for the body is a wait of the request */
	io(0, WRITE, 9, 200, 210);
	go();
	CU_ASSERT_EQUAL(run.rows.n, 1);
	CU_ASSERT_EQUAL(of(210, LATENCY), 110);
	CU_ASSERT_EQUAL(of(210, READ), 40);
	CU_ASSERT_EQUAL(of(210, RECV), 1);
	CU_ASSERT_EQUAL(of(210, WRITE), 10);
	done();
}

static void test_several_sends(void)
{
	begin(TY_RULE_SOCKET);
	accepted(0, 9, 10);
	io(0, RECV, 9, 20, 100);
	io(0, WRITE, 9, 110, 120);
	lock(0, 130, 140); /* between two sends: folded in */
	io(0, COPY, 9, 150, 200);
	lock(0, 210, 230); /* after the last */
	go();
	CU_ASSERT_EQUAL(run.rows.n, 1);
	CU_ASSERT_EQUAL(of(200, LATENCY), 100);
	CU_ASSERT_EQUAL(of(200, MUTEX), 10);
	CU_ASSERT_EQUAL(of(200, COPY), 50);
	done();
}

static void test_pipelining(void)
{
	begin(TY_RULE_SOCKET);
	accepted(0, 9, 10);
	io(0, RECV, 9, 20, 100); /* two requests in one piece */
	io(0, SEND, 9, 110, 120);
	io(0, SEND, 9, 130, 140);
	go();
	CU_ASSERT_EQUAL(run.rows.n, 1);
	CU_ASSERT_EQUAL(of(140, LATENCY), 40);
	done();
}

static void test_no_reply(void)
{
	begin(TY_RULE_SOCKET);
	accepted(0, 9, 10);
	io(0, RECV, 9, 20, 100);
	io(0, CLOSE, 9, 110, 111);
	accepted(0, 9, 120); /* the number again: another connection */
	io(0, SEND, 9, 130, 131);
	io(0, RECV, 9, 140, 150);
	io(0, SEND, 9, 160, 170);
	io(0, RECV, 9, 180, 190); /* open at the end of the recording */
	go();
	CU_ASSERT_EQUAL(run.rows.n, 1);
	CU_ASSERT_EQUAL(run.counts.unfinished, 2);
	CU_ASSERT_EQUAL(of(170, LATENCY), 20);
	done();
}

static void test_not_ours(void)
{
	begin(TY_RULE_AUTO);
	io(0, CONNECT, 8, 1, 2);
	io(0, SEND, 8, 5, 6);
	io(0, RECV, 8, 10, 20);
	io(0, SEND, 8, 25, 26);
	io(0, READ, 7, 30, 31); /* a file */
	io(0, WRITE, 7, 32, 33);
	go();
	CU_ASSERT_EQUAL(run.rule, TY_RULE_NONE);
	CU_ASSERT_EQUAL(run.rows.n, 0);
	done();
	begin(TY_RULE_SOCKET);
	accepted(0, 9, 10);
	io(0, CLOSE, 9, 20, 21);
	io(0, CONNECT, 9, 30, 31); /* the number of an accepted one, now connected by us */
	io(0, RECV, 9, 40, 41);
	io(0, SEND, 9, 50, 51);
	io(3, CONNECT, 20, 1000010, 1000011); /* nor when a child did */
	io(3, RECV, 20, 1000020, 1000030);
	io(3, SEND, 20, 1000040, 1000050);
	go();
	CU_ASSERT_EQUAL(run.rows.n, 0);
	done();
}

static void test_close_race(void)
{
	begin(TY_RULE_SOCKET);
	accepted(0, 9, 10);
	accepted(1, 9, 115); /* while close() of the old one was returning */
	ev(0, CLOSE, 9, 110, 120, 0, 0);
	io(1, RECV, 9, 130, 140);
	ev(1, SHUTDOWN, 9, 141, 142, 0, 0); /* half of it: not another connection */
	io(1, SEND, 9, 150, 160);
	go();
	CU_ASSERT_EQUAL(run.rows.n, 1);
	CU_ASSERT_EQUAL(of(160, LATENCY), 20);
	done();
}

static void test_dup(void)
{
	begin(TY_RULE_SOCKET);
	accepted(0, 9, 10);
	ev(0, DUP, 9, 11, 12, 1, 0);
	io(0, CLOSE, 9, 13, 14);
	io(0, READ, 1, 20, 30);
	io(0, WRITE, 1, 40, 45);
	go();
	CU_ASSERT_EQUAL(of(45, LATENCY), 15);
	done();
}

static void test_fork(void)
{
	begin(TY_RULE_SOCKET);
	accepted(0, 9, 10);
	io(3, READ, 9, 1000010, 1000020); /* the child has it; read and write are enough */
	io(3, WRITE, 9, 1000030, 1000040);
	go();
	CU_ASSERT_EQUAL(of(1000040, LATENCY), 20);
	done();
	begin(TY_RULE_SOCKET);
	accepted(0, 9, 10);
	io(0, CLOSE, 9, 20, 21); /* the parent closed it before we heard of the child */
	io(3, RECV, 9, 1000010, 1000020);
	io(3, SEND, 9, 1000030, 1000040);
	io(4, RECV, 9, 1000050, 1000060); /* no relation */
	io(4, SEND, 9, 1000070, 1000080);
	go();
	CU_ASSERT_EQUAL(run.rows.n, 1);
	CU_ASSERT_EQUAL(of(1000040, LATENCY), 20);
	done();
}

static void test_hand_over(void)
{
	begin(TY_RULE_SOCKET);
	accepted(0, 9, 10);
	io(0, RECV, 9, 20, 100);
	lock(0, 110, 120);
	lock(1, 100, 150);	    /* the worker's, before it has the request */
	io(1, SEND, 9, 200, 210);
	io(0, POLL, 4, 130, 400);   /* ends much later: [130, 200] of it is the request's */
	go();
	CU_ASSERT_EQUAL(run.rows.n, 1);
	CU_ASSERT_EQUAL(of(210, LATENCY), 110);
	CU_ASSERT_EQUAL(of(210, MUTEX), 10);
	CU_ASSERT_EQUAL(of(210, POLL), 70);
	CU_ASSERT_EQUAL(of(210, SEND), 10);
	done();
}

static void test_hand_over_during(void)
{
	begin(TY_RULE_SOCKET);
	accepted(0, 9, 10);
	io(0, RECV, 9, 20, 100);
	io(0, POLL, 4, 130, 205); /* ends while the other thread sends */
	io(1, SEND, 9, 200, 210);
	io(0, POLL, 4, 206, 300);
	go();
	CU_ASSERT_EQUAL(of(210, POLL), 70);
	CU_ASSERT_EQUAL(of(210, SEND), 10);
	done();
}

/* The next request is received before the thread that answered the last one is back from its send. */
static void test_late_send(void)
{
	begin(TY_RULE_SOCKET);
	accepted(0, 9, 10);
	io(0, RECV, 9, 20, 100);
	io(1, COND, 0x77, 30, 110);
	io(0, RECV, 9, 105, 205);
	lock(0, 206, 208);
	io(1, SEND, 9, 200, 215);
	io(0, SEND, 9, 220, 240);
	go();
	CU_ASSERT_EQUAL(run.rows.n, 2);
	CU_ASSERT_EQUAL(of(205, LATENCY), 105);
	CU_ASSERT_EQUAL(of(240, LATENCY), 35);
	CU_ASSERT_EQUAL(of(240, MUTEX), 2);
	CU_ASSERT_EQUAL(of(240, SEND), 20);
	done();
}

static void test_event_loop(void)
{
	begin(TY_RULE_SOCKET);
	accepted(0, 8, 10);
	accepted(0, 9, 11);
	io(0, RECV, 8, 90, 100);
	lock(0, 110, 120);	 /* of 8 */
	io(0, RECV, 9, 130, 140); /* 8's as a wait; from here on 8 is held up */
	ev(0, FSYNC, 5, 150, 190, 0, 0); /* of 9 */
	io(0, SEND, 8, 200, 210); /* 8 again; 9 is held up */
	io(0, SEND, 9, 220, 230);
	go();
	CU_ASSERT_EQUAL(run.rows.n, 2);
	CU_ASSERT_EQUAL(of(210, LATENCY), 110);
	CU_ASSERT_EQUAL(of(210, MUTEX), 10);
	CU_ASSERT_EQUAL(of(210, RECV), 10);
	CU_ASSERT_EQUAL(of(210, FSYNC), 0);
	CU_ASSERT_EQUAL(of(210, HELD), 60);
	CU_ASSERT_EQUAL(of(210, SEND), 10);
	CU_ASSERT_EQUAL(of(230, LATENCY), 90);
	CU_ASSERT_EQUAL(of(230, FSYNC), 40);
	CU_ASSERT_EQUAL(of(230, HELD), 20);
	CU_ASSERT_EQUAL(of(230, SEND), 10);
	char err[TY_ERR_MAX];
	run.opt.tail = 0.99;
	CU_ASSERT_EQUAL_FATAL(ty_pass_behind(&run, err), 0);
	for (uint32_t i = 0; i < run.sites.n; i++) /* 8 behind 9's flush; 9 behind the send to 8 */
		CU_ASSERT_DOUBLE_EQUAL(run.behind.site[i].mean, run.sites.v[i].op == FSYNC ? 20 :
				       i != TY_SITE_HELD && run.sites.v[i].op == SEND ? 5 : 0, 1e-9);
	uint32_t most[1];
	CU_ASSERT_EQUAL(ty_behind_rank(&run, most, 1), 1);
	CU_ASSERT_EQUAL(run.sites.v[most[0]].op, FSYNC);
	done();
}

/* When the request in hand ends, the one touched before it is worked on again. */
static void test_held_returns(void)
{
	begin(TY_RULE_SOCKET);
	accepted(0, 8, 10);
	accepted(0, 9, 11);
	io(0, RECV, 8, 90, 100);
	io(0, RECV, 9, 110, 120);
	io(0, SEND, 9, 130, 140);
	io(0, CLOSE, 9, 150, 160);
	lock(0, 170, 190); /* of 8 */
	io(0, SEND, 8, 200, 210);
	go();
	CU_ASSERT_EQUAL(of(210, HELD), 40);
	CU_ASSERT_EQUAL(of(210, MUTEX), 20);
	CU_ASSERT_EQUAL(of(210, RECV), 10);
	done();
}

static void test_window(void)
{
	begin(TY_RULE_SOCKET);
	run.from = 150;
	run.to = 500;
	accepted(0, 9, 10);
	for (uint64_t t = 100; t < 800; t += 100) { /* requests [t, t + 60], lock 10 in each */
		io(0, RECV, 9, t - 20, t);
		lock(0, t + 10, t + 20);
		io(0, SEND, 9, t + 50, t + 60);
	}
	go();
	CU_ASSERT_EQUAL(run.rows.n, 3);
	for (size_t i = 1; i < run.sites.n; i++)
		if (run.sites.v[i].op == MUTEX) {
			CU_ASSERT_EQUAL(run.sites.v[i].waits, 3);
			CU_ASSERT_EQUAL(run.sites.v[i].waits_all, 3);
			CU_ASSERT_EQUAL(run.sites.v[i].total, 30);
		}
	done();
}

/* Very many waits in one request are summed up, not kept. */
static void test_many_waits(void)
{
	begin(TY_RULE_SOCKET);
	accepted(0, 9, 10);
	io(0, RECV, 9, 20, 100);
	for (uint64_t i = 0; i < 15000; i++)
		lock(0, 100 + i * 10, 107 + i * 10);
	io(0, SEND, 9, 150100, 150110);
	lock(0, 150120, 150130);
	go();
	CU_ASSERT_EQUAL(of(150110, LATENCY), 150010);
	CU_ASSERT_EQUAL(of(150110, MUTEX), 15000 * 7);
	CU_ASSERT_EQUAL(run.sites.v[1].op == MUTEX ? run.sites.v[1].waits : 15000, 15000);
	done();
}

static void test_filter(void)
{
	begin(TY_RULE_SOCKET);
	run.opt.process = 101;
	accepted(0, 9, 10);
	io(0, RECV, 9, 20, 100);
	io(0, SEND, 9, 110, 120);
	io(3, RECV, 9, 1000010, 1000020);
	io(3, SEND, 9, 1000030, 1000040);
	go();
	CU_ASSERT_EQUAL(run.rows.n, 1);
	CU_ASSERT_EQUAL(of(1000040, LATENCY), 20);
	done();
}

/* ---- classes and transactions, from marks that the recorder found ---- */

static void said(uint32_t t, enum ty_mark what, uint64_t fd, uint64_t at, uint64_t aux)
{
	mark(t, what, fd, at);
	events[nevents - 1].aux = aux;
}
static uint32_t class_of(uint64_t end)
{
	for (size_t i = 0; i < run.rows.n; i++)
		if (run.rows.v[i].end == end)
			return run.rows.v[i].cls;
	return 0;
}

static void test_classes(void)
{
	begin(TY_RULE_AUTO); /* these marks are not the application's */
	accepted(0, 9, 10);
	io(0, RECV, 9, 20, 100);
	said(0, TY_MARK_CLASS, 9, 100, 5);
	io(0, SEND, 9, 160, 170);
	io(0, RECV, 9, 180, 200); /* nothing could be told of this one */
	io(0, SEND, 9, 210, 220);
	io(0, RECV, 9, 230, 300); /* the second receive told it */
	io(0, RECV, 9, 301, 310);
	said(0, TY_MARK_CLASS, 9, 310, 6);
	said(0, TY_MARK_CLASS, 11, 310, 8); /* a descriptor that is no connection */
	io(0, SEND, 9, 320, 330);
	go();
	CU_ASSERT_EQUAL(run.rule, TY_RULE_SOCKET);
	CU_ASSERT_EQUAL(run.rows.n, 3);
	CU_ASSERT_EQUAL(class_of(170), 5);
	CU_ASSERT_EQUAL(class_of(220), TY_NONE);
	CU_ASSERT_EQUAL(class_of(330), 6);
	done();
	/* the next request is received by another thread before the send returns */
	begin(TY_RULE_SOCKET);
	accepted(0, 9, 10);
	io(0, RECV, 9, 20, 100);
	said(0, TY_MARK_CLASS, 9, 100, 5);
	io(1, RECV, 9, 90, 150);
	said(1, TY_MARK_CLASS, 9, 150, 6);
	io(0, SEND, 9, 140, 160);
	io(1, SEND, 9, 180, 190);
	go();
	CU_ASSERT_EQUAL(run.rows.n, 2);
	CU_ASSERT_EQUAL(class_of(150), 5);
	CU_ASSERT_EQUAL(class_of(190), 6);
	done();
}

static void statement(uint32_t t, uint64_t at, uint64_t cls, int state)
{
	io(t, RECV, 9, at - 5, at);
	said(t, TY_MARK_CLASS, 9, at, cls);
	lock(t, at + 10, at + 30);
	io(t, SEND, 9, at + 40, at + 50);
	if (state >= 0)
		said(t, TY_MARK_STATE, 9, at + 50, (uint64_t)state);
}

static void test_transaction(void)
{
	begin(TY_RULE_TRANSACTION);
	accepted(0, 9, 10);
	statement(0, 1000, 1, -1);                        /* idle before and after: one of its own */
	statement(0, 2000, 2, TY_SESSION_IN_TRANSACTION);
	lock(0, 2060, 2400); /* what the thread does while the client thinks */
	statement(1, 2500, 3, -1); /* another thread takes over */
	statement(0, 3000, 4, TY_SESSION_FAILED);
	statement(0, 3500, 5, TY_SESSION_IDLE);
	statement(0, 4000, 6, -1);
	statement(0, 5000, 2, TY_SESSION_IN_TRANSACTION); /* never ends */
	statement(0, 6000, 3, -1);
	ev(0, CLOSE, 9, 6999, 7000, 0, 0);
	go();
	CU_ASSERT_EQUAL(run.rows.n, 3);
	CU_ASSERT_EQUAL(run.counts.unfinished, 1);
	CU_ASSERT_EQUAL(of(1050, LATENCY), 50);
	CU_ASSERT_EQUAL(of(3550, LATENCY), 4 * 50);
	CU_ASSERT_EQUAL(of(3550, MUTEX), 4 * 20);
	CU_ASSERT_EQUAL(of(3550, SEND), 4 * 10);
	CU_ASSERT_EQUAL(of(3550, RECV), 0);
	CU_ASSERT_EQUAL(of(3550, HELD), 0);
	CU_ASSERT_EQUAL(class_of(3550), 2);
	CU_ASSERT_EQUAL(of(4050, LATENCY), 50);
	CU_ASSERT_EQUAL(run.counts.statements, 6);
	CU_ASSERT_EQUAL(run.counts.think_ns, 3 * 450);
	done();
	/* the recording ends: what is idle is whole, what is open is not */
	begin(TY_RULE_TRANSACTION);
	accepted(0, 9, 10);
	statement(0, 1000, 1, TY_SESSION_IN_TRANSACTION);
	statement(0, 2000, 1, TY_SESSION_IDLE);
	statement(0, 3000, 1, TY_SESSION_IN_TRANSACTION);
	io(0, RECV, 9, 3990, 4000);
	go();
	CU_ASSERT_EQUAL(run.rows.n, 1);
	CU_ASSERT_EQUAL(of(2050, LATENCY), 100);
	CU_ASSERT_EQUAL(run.counts.unfinished, 1);
	done();
	/* a window has whole transactions only; very many waits are summed up */
	begin(TY_RULE_TRANSACTION);
	run.from = 1500;
	accepted(0, 9, 10);
	statement(0, 1000, 1, TY_SESSION_IN_TRANSACTION);
	statement(0, 2000, 1, TY_SESSION_IDLE);
	statement(0, 3000, 1, TY_SESSION_IN_TRANSACTION);
	io(0, RECV, 9, 3100, 3200);
	for (uint64_t i = 0; i < 9000; i++)
		lock(0, 4000 + 10 * i, 4003 + 10 * i);
	io(0, SEND, 9, 100000, 100010);
	statement(0, 200000, 1, TY_SESSION_IDLE);
	go();
	CU_ASSERT_EQUAL(run.rows.n, 1);
	CU_ASSERT_EQUAL(of(200050, LATENCY), 50 + 100010 - 3200 + 50);
	CU_ASSERT_EQUAL(of(200050, MUTEX), 20 + 27000 + 20);
	for (size_t i = 0; i < run.sites.n; i++)
		if (i != TY_SITE_HELD && run.sites.v[i].op == MUTEX)
			CU_ASSERT_EQUAL(run.sites.v[i].waits, 9002);
	done();
}

/* ---- rule marker ---- */

static void test_marker(void)
{
	begin(TY_RULE_AUTO);
	lock(0, 10, 20);
	CU_ASSERT_EQUAL_FATAL(ty_sites_init(&run.sites, TY_BY_OPERATION, group, 1, 1, NOPS), 0);
	CU_ASSERT_EQUAL_FATAL(ty_cut_init(&cut, &run), 0);
	mark(0, TY_MARK_BEGIN, 1, 100);
	CU_ASSERT_EQUAL(ty_cut_events(&cut, events, nevents), 0);
	CU_ASSERT_TRUE(cut.saw_mark); /* auto becomes marker, and is cut again */
	CU_ASSERT_EQUAL(ty_cut_end(&cut), 0);
	CU_ASSERT_EQUAL(run.rule, TY_RULE_MARKER);
	done();

	begin(TY_RULE_MARKER);
	mark(0, TY_MARK_BEGIN, 1, 100);
	lock(0, 110, 120);
	mark(0, TY_MARK_PAUSE, 1, 130);
	lock(0, 140, 150); /* not its time */
	mark(1, TY_MARK_RESUME, 1, 200);
	lock(1, 210, 215);
	mark(1, TY_MARK_BEGIN, 2, 220); /* nested: 1 is held up */
	lock(1, 221, 229);
	mark(1, TY_MARK_END, 2, 230);
	lock(1, 231, 234);
	mark(4, TY_MARK_END, 1, 240); /* the same id in another process is another request */
	mark(1, TY_MARK_END, 1, 250);
	mark(1, TY_MARK_END, 1, 260); /* ended already */
	mark(1, TY_MARK_BEGIN, 3, 270);
	mark(1, TY_MARK_BEGIN, 3, 280); /* the first 3 is given up */
	mark(1, TY_MARK_END, 3, 290);
	go();
	CU_ASSERT_EQUAL(run.rows.n, 3);
	CU_ASSERT_EQUAL(run.counts.unfinished, 1);
	CU_ASSERT_EQUAL(of(250, LATENCY), 150);
	CU_ASSERT_EQUAL(of(250, MUTEX), 18);
	CU_ASSERT_EQUAL(of(250, HELD), 80);
	CU_ASSERT_EQUAL(of(230, LATENCY), 10);
	CU_ASSERT_EQUAL(of(230, MUTEX), 8);
	CU_ASSERT_EQUAL(of(290, LATENCY), 10);
	CU_ASSERT_EQUAL(run.rows.v[0].cls, 7);
	done();
}

/* Ended by another thread while the one that carried it waits. */
static void test_marker_hand_over(void)
{
	begin(TY_RULE_MARKER);
	mark(0, TY_MARK_BEGIN, 1, 100);
	mark(1, TY_MARK_END, 1, 200);
	ev(0, COND, 0x50, 150, 300, 0, 0);
	go();
	CU_ASSERT_EQUAL(of(200, COND), 50);
	done();
}

static void test_marker_many(void)
{
	begin(TY_RULE_MARKER);
	for (uint64_t i = 0; i < 5000; i++) { /* other ids all the time, a few open */
		mark(0, TY_MARK_BEGIN, i * 977, 10 * i + 10);
		if (i >= 3)
			mark(0, TY_MARK_END, (i - 3) * 977, 10 * i + 15);
	}
	go();
	CU_ASSERT_EQUAL(run.rows.n, 4997);
	CU_ASSERT_EQUAL(run.counts.unfinished, 3);
	done();
}

/* ---- rules site: and none ---- */

static void test_site(void)
{
	begin(TY_RULE_SITE);
	match_op[COND] = true;
	ev(0, COND, 0x50, 10, 100, 0, 0);
	lock(0, 110, 130);
	ev(1, COND, 0x50, 20, 150, 0, 0); /* another thread's */
	ev(0, COND, 0x50, 140, 200, 0, 0);
	go();
	CU_ASSERT_EQUAL(run.rows.n, 1);
	CU_ASSERT_EQUAL(of(200, LATENCY), 100);
	CU_ASSERT_EQUAL(of(200, MUTEX), 20);
	CU_ASSERT_EQUAL(of(200, COND), 60);
	CU_ASSERT_EQUAL(run.counts.unfinished, 2);
	done();
}

static void test_none(void)
{
	begin(TY_RULE_NONE);
	lock(0, 10, 30);
	lock(0, 40, 80);
	go();
	CU_ASSERT_EQUAL(run.sites.n, 2);
	CU_ASSERT_EQUAL(run.sites.v[1].waits, 2);
	CU_ASSERT_EQUAL(run.sites.v[1].total, 60);
	CU_ASSERT_DOUBLE_EQUAL(ty_site_mean(&run.sites.v[1]), 30, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(ty_site_sd(&run.sites.v[1]), 10, 1e-9);
	done();
}

static void test_overlap_counted(void)
{
	begin(TY_RULE_SOCKET);
	accepted(0, 9, 10);
	io(0, RECV, 9, 20, 100);
	lock(0, 110, 150);
	lock(0, 140, 160); /* a thread cannot: it is counted, and not added twice */
	io(0, SEND, 9, 170, 180);
	CU_ASSERT_FATAL(ty_sites_init(&run.sites, TY_BY_OPERATION, group, 1, 1, NOPS) == 0);
	CU_ASSERT_FATAL(ty_cut_init(&cut, &run) == 0);
	CU_ASSERT_EQUAL(ty_cut_events(&cut, events, nevents), 0);
	CU_ASSERT_EQUAL(ty_cut_end(&cut), 0);
	CU_ASSERT_EQUAL(run.counts.overlap, 1);
	CU_ASSERT_EQUAL(run.counts.overlap_ns, 10);
	CU_ASSERT_EQUAL(of(180, MUTEX), 50);
	done();
}

/* Random traffic of five threads on shared connections: whatever happens, the
 * parts of a request never exceed its latency. */
static void test_random(void)
{
	uint64_t seed = 12345;
	for (int round = 0; round < 200; round++) {
		uint64_t last[3] = { 100, 100, 100 }, now = 100;
		begin(TY_RULE_SOCKET);
		for (uint64_t fd = 8; fd < 12; fd++)
			accepted(0, fd, 20 + fd);
		for (int i = 0; i < 2000; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			uint32_t r = (uint32_t)(seed >> 33), t = r % 3, what = r / 3 % 8;
			static const uint16_t kinds[8] = { RECV, SEND, MUTEX, COND, RECV, SEND, MUTEX, CLOSE };
			uint64_t e = now + 1 + r / 24 % 7, b = last[t] + (e - last[t]) * (r / 200 % 11) / 10;
			uint64_t fd = 8 + r / 2400 % 4;
			if (kinds[what] == CLOSE && r / 9600 % 8)
				continue;
			io(t, kinds[what], fd, b, e);
			last[t] = now = e;
			if (kinds[what] == CLOSE) {
				accepted(t, fd, ++now);
				last[t] = now;
			}
		}
		go();
		CU_ASSERT_TRUE(run.rows.n > 50);
		done();
	}
}

/* ---- the same by brute force: who works on what, at every nanosecond ---- */

struct touch { uint64_t at; uint32_t thread; int req, order; };
struct oracle_req { uint64_t begin, end, gone; bool answered; int64_t x[NOPS + 1]; };
static struct touch touches[20000];
static struct oracle_req reqs[5000];
static int ntouches, nreqs;

/* The request on each descriptor, from the order of what was done on it. */
static void oracle_requests(void)
{
	int open[32];
	ntouches = nreqs = 0;
	memset(open, -1, sizeof open);
	for (size_t i = 0; i < nevents; i++) {
		const struct ty_ev *e = &events[i];
		int *q = e->object < 32 ? &open[e->object] : NULL;
		if (e->op == CLOSE && *q >= 0) {
			reqs[*q].gone = e->end;
			*q = -1;
		} else if (e->op == RECV && (*q < 0 || reqs[*q].answered)) {
			if (*q >= 0)
				reqs[*q].gone = e->end;
			*q = nreqs++;
			reqs[*q] = (struct oracle_req){ .begin = e->end, .gone = UINT64_MAX };
			touches[ntouches] = (struct touch){ e->end, e->thread, *q, ntouches };
			ntouches++;
		} else if ((e->op == RECV || e->op == SEND) && *q >= 0) {
			/* a receive takes it over when it returns, a send when it begins */
			touches[ntouches] = (struct touch){ e->op == RECV ? e->end : e->begin, e->thread, *q, ntouches };
			ntouches++;
			if (e->op == SEND) {
				reqs[*q].answered = true;
				reqs[*q].end = e->end;
			}
		}
	}
}

static int by_touch(const void *a, const void *b)
{
	const struct touch *x = a, *y = b;
	return x->at != y->at ? (x->at < y->at ? -1 : 1) : x->order - y->order;
}

/* Adds the nanosecond [t, t + 1) to the requests that are open in it. */
static void oracle_step(uint64_t t, const int *waits)
{
	for (int q = 0; q < nreqs; q++) {
		if (!reqs[q].answered || t < reqs[q].begin || t >= reqs[q].end)
			continue;
		const struct touch *mine = NULL, *head = NULL;
		for (int k = 0; k < ntouches && touches[k].at <= t; k++)
			if (touches[k].req == q)
				mine = &touches[k];
		for (int k = 0; k < ntouches && touches[k].at <= t; k++) {
			const struct touch *last = &touches[k];
			for (int m = k + 1; m < ntouches && touches[m].at <= t; m++)
				if (touches[m].req == touches[k].req)
					last = &touches[m];
			if (last->thread == mine->thread && t < reqs[last->req].gone && (!head || last > head))
				head = last;
		}
		if (head->req != q)
			reqs[q].x[NOPS]++;
		else if (waits[mine->thread] >= 0)
			reqs[q].x[waits[mine->thread]]++;
	}
}

static void test_oracle(void)
{
	uint64_t seed = 99;
	for (int round = 0; round < 60; round++) {
		uint64_t last[3] = { 100, 100, 100 }, used[12] = { 0 }, now = 100;
		begin(TY_RULE_SOCKET);
		for (uint64_t fd = 8; fd < 12; fd++)
			accepted(0, fd, 20 + fd);
		for (int i = 0; i < 150; i++) {
			static const uint16_t kinds[8] = { RECV, SEND, MUTEX, COND, RECV, SEND, MUTEX, COND };
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			uint32_t r = (uint32_t)(seed >> 33), t = r % 3, op = kinds[r / 3 % 8];
			uint64_t fd = 8 + r / 24 % 4, e = now + 1 + r / 96 % 9;
			uint64_t b = last[t] + (e - last[t]) * (r / 1000 % 11) / 10;
			bool is_io = op == RECV || op == SEND;
			/* one thing at a time on one connection; and while a send may take a
			 * request over nothing else ends, because only then is what is known
			 * at its end also known at its begin */
			if (op == SEND && b < now)
				b = now;
			if (is_io && b <= used[fd])
				b = used[fd] + 1;
			if (b >= e)
				e = b + 1;
			io(t, (uint16_t)op, is_io ? fd : 0x1000, b, e);
			last[t] = now = e;
			if (is_io)
				used[fd] = e;
		}
		go();
		oracle_requests();
		qsort(touches, (size_t)ntouches, sizeof *touches, by_touch);
		for (uint64_t t = 100; t < now; t++) {
			int waits[3] = { -1, -1, -1 };
			for (size_t i = 0; i < nevents; i++)
				if (events[i].begin <= t && t < events[i].end && events[i].op != ACCEPT)
					waits[events[i].thread] = events[i].op;
			oracle_step(t, waits);
		}
		for (int q = 0; q < nreqs; q++) {
			if (!reqs[q].answered)
				continue;
			CU_ASSERT_EQUAL(of(reqs[q].end, LATENCY), (int64_t)(reqs[q].end - reqs[q].begin));
			for (unsigned op = 0; op <= NOPS; op++)
				if (of(reqs[q].end, op) != reqs[q].x[op])
					CU_FAIL("another time than by brute force");
		}
		done();
	}
}

static void test_spill(void)
{
	struct ty_ledger l = { .limit = 4096 };
	const struct ty_row *row;
	const uint32_t *site;
	const uint64_t *ns;
	size_t rows = 0;
	for (uint32_t i = 0; i < 5000; i++) {
		uint32_t s[3] = { i, i % 2 ? UINT32_MAX : 1u << 20, 0 };
		uint64_t x[3] = { i * 1000000007ull, UINT64_MAX >> i % 64, 0 };
		struct ty_row r = { .end = i, .latency = i, .n = i % 4 };
		CU_ASSERT_EQUAL_FATAL(ty_ledger_add(&l, &r, s, x), 0);
	}
	CU_ASSERT_PTR_NOT_NULL(l.spill);
	for (int again = 0; again < 2; again++) {
		CU_ASSERT_EQUAL_FATAL(ty_ledger_rewind(&l), 0);
		for (rows = 0; ty_ledger_next(&l, &row, &site, &ns) == 1; rows++) {
			CU_ASSERT_EQUAL_FATAL(row->end, rows);
			if (row->n > 1)
				CU_ASSERT_FATAL(site[0] == rows && ns[0] == rows * 1000000007ull &&
						site[1] == (rows % 2 ? UINT32_MAX : 1u << 20) &&
						ns[1] == UINT64_MAX >> rows % 64);
			if (row->n > 2)
				CU_ASSERT_FATAL(site[2] == 0 && ns[2] == 0);
		}
		CU_ASSERT_EQUAL(rows, 5000);
	}
	ty_ledger_free(&l);
}

int main(void)
{
	static const struct { const char *name; void (*run)(void); } tests[] = {
		{ "one request", test_one }, { "server speaks first", test_server_first },
		{ "header and body", test_header_body }, { "several sends", test_several_sends },
		{ "pipelining is one request", test_pipelining }, { "close without reply", test_no_reply },
		{ "connected and plain descriptors", test_not_ours }, { "close races with accept", test_close_race },
		{ "dup", test_dup }, { "fork", test_fork }, { "hand-over", test_hand_over },
		{ "hand-over while a wait ends", test_hand_over_during }, { "send that returns late", test_late_send },
		{ "event loop, held up", test_event_loop }, { "held up, then carried again", test_held_returns },
		{ "window", test_window }, { "very many waits", test_many_waits }, { "filter by process", test_filter },
		{ "classes", test_classes }, { "rule transaction", test_transaction },
		{ "markers", test_marker }, { "marker ended elsewhere", test_marker_hand_over },
		{ "many markers", test_marker_many }, { "rule site:", test_site }, { "rule none", test_none },
		{ "overlap is counted", test_overlap_counted }, { "random traffic", test_random },
		{ "brute force", test_oracle },
		{ "ledger in a file", test_spill },
	};
	if (CU_initialize_registry())
		return 1;
	CU_pSuite s = CU_add_suite("requests", NULL, NULL);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		CU_add_test(s, tests[i].name, tests[i].run);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures() + (CU_get_error() != CUE_SUCCESS);
	CU_cleanup_registry();
	return failed != 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Blame: one case for each sentence of docs/BLAME.md, on events in the order
 * in which a store gives them, times in ns.  What must stay true: every
 * segment of every wait to the nanosecond, every share to 1e-6 of a
 * computation of its own. */
#include <CUnit/Basic.h>
#include <math.h>
#include <stdio.h>

#include "analyze/blame.h"
#include "tarry/event.h"

enum { LOCK, UNLOCK, COND, SIGNAL, BROADCAST, SEM, POST, FUTEX, FWAKE, FSYNC, SLEEP, JOIN, POLL, KILL, NOPS };
static const struct ty_op_info ops[NOPS] = {
	[LOCK] = { "pthread_mutex_lock", "mutex", TY_CLASS_MUTEX },
	[UNLOCK] = { "pthread_mutex_unlock", "wake", TY_CLASS_WAKE },
	[COND] = { "pthread_cond_wait", "cond", TY_CLASS_COND },
	[SIGNAL] = { "pthread_cond_signal", "wake", TY_CLASS_WAKE },
	[BROADCAST] = { "pthread_cond_broadcast", "wake", TY_CLASS_WAKE },
	[SEM] = { "sem_wait", "sem", TY_CLASS_SEM },
	[POST] = { "sem_post", "wake", TY_CLASS_WAKE },
	[FUTEX] = { "futex_wait", "futex", TY_CLASS_FUTEX },
	[FWAKE] = { "futex_wake", "wake", TY_CLASS_WAKE },
	[FSYNC] = { "fdatasync", "sync", TY_CLASS_SYNC },
	[SLEEP] = { "nanosleep", "sleep", TY_CLASS_SLEEP },
	[POLL] = { "epoll_wait", "poll", TY_CLASS_POLL },
	[KILL] = { "kill", "signal", TY_CLASS_SIGNAL },
	[JOIN] = { "pthread_join", "thread", TY_CLASS_THREAD },
};

enum { THREADS = 16, PATHS = 8 }; /* threads 0..13 of process 0, the others of process 1 */
static struct ty_process processes[2];
static struct ty_thread_info threads[THREADS];
static struct ty_path paths[PATHS];
static uint32_t group[PATHS];
static uint8_t kind[PATHS];
static bool match[PATHS], match_op[NOPS];
static struct run run;
static struct ty_blame blame;

static void begin(enum ty_rule rule)
{
	run = (struct run){ .rule = rule, .to = UINT64_MAX, .opt.tail = 0.99 };
	for (unsigned i = 0; i < 2; i++)
		processes[i] = (struct ty_process){ .pid = 100 + i, .parent = -1, .start = 1 };
	for (unsigned i = 0; i < THREADS; i++)
		threads[i] = (struct ty_thread_info){ .process = i >= 14, .tid = 100 + i, .name = "t" };
	for (unsigned i = 0; i < PATHS; i++)
		group[i] = i;
	run.t.ops = ops;
	run.t.nops = NOPS;
	run.t.processes = processes;
	run.t.nprocesses = 2;
	run.t.threads = threads;
	run.t.nthreads = THREADS;
	run.t.paths = paths;
	run.t.npaths = PATHS;
	run.names.group = group;
	run.names.ngroups = PATHS;
	run.names.kind = kind;
	run.names.match = match;
	run.names.match_op = match_op;
	CU_ASSERT_FATAL(ty_sites_init(&run.sites, TY_BY_SITE, group, PATHS, PATHS, NOPS) == 0);
	CU_ASSERT_FATAL(ty_blame_init(&blame, &run) == 0);
}

static void finish(void)
{
	ty_blame_free(&blame);
	ty_sites_free(&run.sites);
	ty_ledger_free(&run.rows);
	free(run.ops);
}

static void feed(struct ty_ev ev)
{
	CU_ASSERT_FATAL(ty_blame_events(&blame, &ev, 1) == 0);
}

/* The path of an event is its thread's number modulo PATHS. */
static struct ty_ev wait_ev(uint32_t t, uint16_t op, uint64_t object, uint64_t b, uint64_t e)
{
	return (struct ty_ev){ .begin = b,
			       .end = e,
			       .object = object,
			       .thread = t,
			       .path = t % PATHS,
			       .op = op,
			       .kind = TY_EV_WAIT,
			       .cls = ops[op].cls };
}
static void waits(uint32_t t, uint16_t op, uint64_t object, uint64_t b, uint64_t e)
{
	feed(wait_ev(t, op, object, b, e));
}
static void fails(uint32_t t, uint16_t op, uint64_t object, uint64_t b, uint64_t e, uint16_t err)
{
	struct ty_ev ev = wait_ev(t, op, object, b, e);
	ev.err = err;
	feed(ev);
}
static void cond(uint32_t t, uint64_t object, uint64_t mutex, uint64_t b, uint64_t e)
{
	struct ty_ev ev = wait_ev(t, COND, object, b, e);
	ev.aux = mutex;
	feed(ev);
}
static struct ty_ev wake_ev(uint32_t t, uint16_t op, uint64_t object, uint64_t at)
{
	struct ty_ev ev = wait_ev(t, op, object, at, at);
	ev.kind = TY_EV_WAKE;
	ev.flags = op == BROADCAST ? TY_F_BROADCAST : 0;
	return ev;
}
static void wakes(uint32_t t, uint16_t op, uint64_t object, uint64_t at)
{
	feed(wake_ev(t, op, object, at));
}
static void mark(enum ty_mark what, uint64_t id, uint64_t at)
{
	feed((struct ty_ev){ .begin = at,
			     .end = at,
			     .object = id,
			     .op = (uint16_t)what,
			     .kind = TY_EV_MARK,
			     .cls = TY_CLASS_COUNT });
}
static void done(void)
{
	CU_ASSERT_FATAL(ty_blame_events(&blame, NULL, 0) == 0);
	CU_ASSERT_FATAL(ty_cut_end(&blame.cut) == 0);
	CU_ASSERT_FATAL(ty_blame_finish(&blame) == 0);
}

/* ---- looking up what was found ---- */

static uint32_t site(uint16_t op, uint32_t t)
{
	for (uint32_t i = 1; i < run.sites.n; i++)
		if ((i >= blame.links.cap || !blame.links.v[i].kind) && run.sites.v[i].op == op &&
		    run.sites.v[i].path == t % PATHS)
			return i;
	return TY_NONE - 1;
}
static uint32_t find(uint32_t waiter, enum ty_blame_kind k, uint32_t holder, uint32_t next)
{
	for (uint32_t i = 0; i < blame.links.cap; i++) {
		const struct ty_link *l = &blame.links.v[i];
		if (l->kind == k && l->waiter == waiter && l->holder == holder && l->next == next)
			return i;
	}
	return TY_NONE;
}
static uint64_t total(uint32_t link)
{
	return link == TY_NONE ? 0 : blame.links.v[link].total;
}
static uint64_t pair_ns(uint16_t op, uint32_t t, enum ty_blame_kind k, uint16_t by, uint32_t holder)
{
	return total(find(site(op, t), k, by == NOPS ? TY_NONE : site(by, holder), TY_NEXT_PAIR));
}
static uint64_t nobody_ns(uint16_t op, uint32_t t, enum ty_blame_kind k)
{
	return pair_ns(op, t, k, NOPS, 0);
}
static uint64_t root_ns(uint16_t op, uint32_t t, enum ty_blame_kind k)
{
	return total(find(site(op, t), k, TY_NONE, TY_NEXT_ROOT));
}

/* Pairs, and roots, sum to all waiting. */
static void check_sums(uint64_t all)
{
	uint64_t pairs = 0, roots = 0, cls = 0;
	for (size_t i = 0; i < blame.npairs; i++)
		pairs += total(blame.rank_pairs[i]);
	for (size_t i = 0; i < blame.nroots; i++)
		roots += total(blame.rank_roots[i]);
	for (unsigned i = 0; i <= TY_CLASS_COUNT; i++)
		for (unsigned k = 0; k < TY_K_KINDS; k++)
			cls += blame.cls[i].ns[k];
	CU_ASSERT_EQUAL(pairs, all);
	CU_ASSERT_EQUAL(roots, all);
	CU_ASSERT_EQUAL(cls, all);
}

/* ---- who ended it ---- */

static void one_holder(void)
{
	begin(TY_RULE_NONE);
	wakes(1, UNLOCK, 7, 90); /* before the wait began: not its business */
	wakes(1, UNLOCK, 7, 180);
	waits(0, LOCK, 7, 100, 200);
	done();
	CU_ASSERT_EQUAL(pair_ns(LOCK, 0, TY_K_HELD, UNLOCK, 1), 80);
	CU_ASSERT_EQUAL(pair_ns(LOCK, 0, TY_K_WOKEN, UNLOCK, 1), 20);
	CU_ASSERT_EQUAL(root_ns(UNLOCK, 1, TY_K_RUNNING), 80);
	CU_ASSERT_EQUAL(root_ns(LOCK, 0, TY_K_WOKEN), 20);
	check_sums(100);
	finish();
}

static void several_holders(void)
{
	begin(TY_RULE_NONE);
	waits(1, LOCK, 7, 40, 50); /* thread 1 has it from 50 on */
	wakes(1, UNLOCK, 7, 120);
	wakes(2, UNLOCK, 7, 150);
	wakes(3, UNLOCK, 8, 160); /* another object */
	wakes(1, UNLOCK, 7, 190);
	waits(0, LOCK, 7, 100, 200);
	done();
	CU_ASSERT_EQUAL(pair_ns(LOCK, 0, TY_K_HELD, UNLOCK, 1), 20 + 40);
	CU_ASSERT_EQUAL(pair_ns(LOCK, 0, TY_K_HELD, UNLOCK, 2), 30);
	CU_ASSERT_EQUAL(pair_ns(LOCK, 0, TY_K_WOKEN, UNLOCK, 1), 10);
	CU_ASSERT_EQUAL(nobody_ns(LOCK, 1, TY_K_UNSEEN), 10);
	const struct ty_link *k =
		&blame.links.v[find(site(LOCK, 0), TY_K_HELD, site(UNLOCK, 1), TY_NEXT_PAIR)];
	CU_ASSERT_EQUAL(k->count, 2);
	CU_ASSERT_EQUAL(k->hold_n, 1); /* of 50 to 120; how it got it before 190 was not seen */
	CU_ASSERT_EQUAL(k->hold_total, 70);
	CU_ASSERT_EQUAL(k->thread, 1);
	k = &blame.links.v[find(site(LOCK, 0), TY_K_HELD, site(UNLOCK, 2), TY_NEXT_PAIR)];
	CU_ASSERT_EQUAL(k->hold_n, 0);
	check_sums(110);
	finish();
}

static void condition(void)
{
	begin(TY_RULE_NONE);
	wakes(1, SIGNAL, 5, 150);
	wakes(2, UNLOCK, 7, 220);
	wakes(1, UNLOCK, 7, 280);
	cond(0, 5, 7, 100, 300);
	/* it has the mutex from 300 on */
	wakes(0, UNLOCK, 7, 310);
	waits(3, LOCK, 7, 305, 312);
	done();
	CU_ASSERT_EQUAL(pair_ns(COND, 0, TY_K_SIGNAL, SIGNAL, 1), 50);
	CU_ASSERT_EQUAL(pair_ns(COND, 0, TY_K_REACQUIRE, UNLOCK, 2), 70);
	CU_ASSERT_EQUAL(pair_ns(COND, 0, TY_K_REACQUIRE, UNLOCK, 1), 60);
	CU_ASSERT_EQUAL(pair_ns(COND, 0, TY_K_WOKEN, UNLOCK, 1), 20);
	CU_ASSERT_EQUAL(pair_ns(LOCK, 3, TY_K_HELD, UNLOCK, 0), 5);
	const struct ty_link *k =
		&blame.links.v[find(site(LOCK, 3), TY_K_HELD, site(UNLOCK, 0), TY_NEXT_PAIR)];
	CU_ASSERT_EQUAL(k->hold_total, 10);
	check_sums(207);
	finish();
}

#define MS 1000000ull

/* A wait for descriptors that had one ready, unless n is 0. */
static void polls(uint32_t t, uint64_t b, uint64_t e, uint64_t n)
{
	struct ty_ev ev = wait_ev(t, POLL, 4, b, e);
	ev.aux = n;
	feed(ev);
}

static void signal_sent(void)
{
	begin(TY_RULE_NONE);
	waits(1, FSYNC, 3, 120, 140);
	wakes(1, KILL, 101, 150); /* to the process of threads 14 and 15, whose pid is 101 */
	polls(14, 100, 160, 1);
	wakes(2, KILL, 101, 1 * MS); /* blocked or ignored: the wait goes on too long */
	polls(14, 1 * MS - 50, 30 * MS, 1);
	polls(14, 40 * MS, 40 * MS + 30, 0); /* timed out */
	wakes(3, KILL, 115, 50 * MS + 10); /* to one thread */
	wakes(3, KILL, 100, 50 * MS + 20); /* another process */
	fails(15, SLEEP, 0, 50 * MS, 90 * MS, EINTR);
	fails(14, SLEEP, 0, 91 * MS, 91 * MS + 7, EINTR); /* nobody was seen */
	wakes(14, KILL, 101, 95 * MS + 1); /* to itself */
	polls(14, 95 * MS, 95 * MS + 5, 1);
	done();
	CU_ASSERT_EQUAL(pair_ns(POLL, 14, TY_K_KILL, KILL, 1), 50);
	CU_ASSERT_EQUAL(pair_ns(POLL, 14, TY_K_WOKEN, KILL, 1), 10);
	CU_ASSERT_EQUAL(nobody_ns(POLL, 14, TY_K_READY), 29 * MS + 50 + 5);
	CU_ASSERT_EQUAL(nobody_ns(POLL, 14, TY_K_TIMER), 30);
	CU_ASSERT_EQUAL(pair_ns(SLEEP, 15, TY_K_KILL, KILL, 3), 10);
	CU_ASSERT_EQUAL(pair_ns(SLEEP, 15, TY_K_WOKEN, KILL, 3), 40 * MS - 10);
	CU_ASSERT_EQUAL(nobody_ns(SLEEP, 14, TY_K_INTERRUPTED), 7);
	CU_ASSERT_EQUAL(root_ns(FSYNC, 1, TY_K_KERNEL), 20 + 20); /* its own, and inside the wait for its signal */
	check_sums(20 + 60 + 29 * MS + 50 + 30 + 40 * MS + 7 + 5);
	finish();
}

static void signals_in_turn(void)
{
	begin(TY_RULE_NONE);
	wakes(1, SIGNAL, 5, 150);
	wakes(2, SIGNAL, 5, 160);
	cond(0, 5, 7, 100, 170);
	cond(3, 5, 7, 110, 180); /* the first signal was taken */
	wakes(2, BROADCAST, 5, 250);
	cond(0, 5, 7, 200, 260);
	cond(3, 5, 7, 200, 270); /* a broadcast is for all */
	done();
	CU_ASSERT_EQUAL(pair_ns(COND, 0, TY_K_SIGNAL, SIGNAL, 1), 50);
	CU_ASSERT_EQUAL(pair_ns(COND, 3, TY_K_SIGNAL, SIGNAL, 2), 50);
	CU_ASSERT_EQUAL(pair_ns(COND, 0, TY_K_SIGNAL, BROADCAST, 2), 50);
	CU_ASSERT_EQUAL(pair_ns(COND, 3, TY_K_SIGNAL, BROADCAST, 2), 50);
	CU_ASSERT_EQUAL(pair_ns(COND, 0, TY_K_WOKEN, SIGNAL, 1), 20); /* the mutex was free */
	check_sums(70 + 70 + 60 + 70);
	finish();
}

static void others(void)
{
	begin(TY_RULE_NONE);
	wakes(1, POST, 1, 150);
	waits(0, SEM, 1, 100, 160);
	wakes(1, FWAKE, 2, 150 + 100);
	waits(0, FUTEX, 2, 200, 255);
	fails(0, FUTEX, 3, 300, 301, EAGAIN);
	fails(0, FUTEX, 3, 310, 330, ETIMEDOUT);
	fails(0, SEM, 3, 340, 350, EINTR);
	fails(0, COND, 4, 360, 400, ETIMEDOUT);
	waits(0, FUTEX, 3, 400, 430);
	waits(0, SLEEP, 0, 430, 440);
	waits(0, JOIN, 9, 440, 460);
	wakes(2, UNLOCK, 6, 480);
	fails(0, LOCK, 6, 470, 500, ETIMEDOUT); /* split, then the time was over */
	done();
	CU_ASSERT_EQUAL(pair_ns(SEM, 0, TY_K_POST, POST, 1), 50);
	CU_ASSERT_EQUAL(pair_ns(SEM, 0, TY_K_WOKEN, POST, 1), 10);
	CU_ASSERT_EQUAL(pair_ns(FUTEX, 0, TY_K_WAKE, FWAKE, 1), 50);
	CU_ASSERT_EQUAL(pair_ns(FUTEX, 0, TY_K_WOKEN, FWAKE, 1), 5);
	CU_ASSERT_EQUAL(nobody_ns(FUTEX, 0, TY_K_CHANGED), 1);
	CU_ASSERT_EQUAL(nobody_ns(FUTEX, 0, TY_K_TIMER), 20);
	CU_ASSERT_EQUAL(nobody_ns(FUTEX, 0, TY_K_UNSEEN), 30);
	CU_ASSERT_EQUAL(nobody_ns(SEM, 0, TY_K_INTERRUPTED), 10);
	CU_ASSERT_EQUAL(nobody_ns(COND, 0, TY_K_TIMER), 40);
	CU_ASSERT_EQUAL(nobody_ns(SLEEP, 0, TY_K_TIMER), 10);
	CU_ASSERT_EQUAL(nobody_ns(JOIN, 0, TY_K_UNRECORDED), 20);
	CU_ASSERT_EQUAL(pair_ns(LOCK, 0, TY_K_HELD, UNLOCK, 2), 10);
	CU_ASSERT_EQUAL(nobody_ns(LOCK, 0, TY_K_TIMER), 20);
	check_sums(60 + 55 + 1 + 20 + 10 + 40 + 30 + 10 + 20 + 30);
	finish();
}

static void shared_objects(void)
{
	struct ty_ev ev = wake_ev(14, POST, 1, 150);
	begin(TY_RULE_NONE);
	feed(ev); /* another process's object at the same address */
	waits(0, SEM, 1, 100, 160);
	ev = wake_ev(14, POST, 2, 250);
	ev.flags = TY_F_SHARED;
	feed(ev);
	ev = wait_ev(0, SEM, 2, 200, 260);
	ev.flags = TY_F_SHARED;
	feed(ev);
	done();
	CU_ASSERT_EQUAL(nobody_ns(SEM, 0, TY_K_UNSEEN), 60);
	CU_ASSERT_EQUAL(pair_ns(SEM, 0, TY_K_POST, POST, 14), 50);
	check_sums(120);
	finish();
}

static void owner(void)
{
	struct ty_ev ev = wait_ev(0, LOCK, 7, 100, 200);
	begin(TY_RULE_NONE);
	waits(1, FSYNC, 3, 110, 170);
	ev.aux = 101; /* thread 1's tid, as the lock said it */
	feed(ev);
	ev.begin = 210;
	ev.end = 230;
	ev.aux = 999; /* not of this recording */
	feed(ev);
	done();
	CU_ASSERT_EQUAL(nobody_ns(LOCK, 0, TY_K_OWNER), 100);
	uint32_t io = find(site(FSYNC, 1), TY_K_KERNEL, TY_NONE, TY_NEXT_RUNNING);
	CU_ASSERT_EQUAL(total(find(site(LOCK, 0), TY_K_OWNER, TY_NONE, io)), 60);
	CU_ASSERT_EQUAL(root_ns(FSYNC, 1, TY_K_KERNEL), 120);
	CU_ASSERT_EQUAL(root_ns(LOCK, 0, TY_K_OWNER), 40);
	CU_ASSERT_EQUAL(nobody_ns(LOCK, 0, TY_K_UNSEEN), 20);
	check_sums(180);
	finish();
}

static void late_wake(void)
{
	begin(TY_RULE_NONE);
	waits(0, LOCK, 7, 100, 200);
	waits(2, FSYNC, 3, 150, 300);
	wakes(1, UNLOCK, 7, 180); /* its thread lost the CPU before it could say so */
	done();
	CU_ASSERT_EQUAL(pair_ns(LOCK, 0, TY_K_HELD, UNLOCK, 1), 80);
	CU_ASSERT_EQUAL(blame.order.late, 1);
	check_sums(250);
	finish();
}

/* ---- chains ---- */

static void chain_to_io(void)
{
	begin(TY_RULE_NONE);
	waits(1, FSYNC, 3, 110, 170);
	wakes(1, UNLOCK, 7, 190);
	waits(0, LOCK, 7, 100, 200);
	done();
	uint32_t io = find(site(FSYNC, 1), TY_K_KERNEL, TY_NONE, TY_NEXT_RUNNING);
	CU_ASSERT_EQUAL(total(find(site(LOCK, 0), TY_K_HELD, site(UNLOCK, 1), io)), 60);
	CU_ASSERT_EQUAL(total(find(site(LOCK, 0), TY_K_HELD, site(UNLOCK, 1), TY_NEXT_RUNNING)), 10 + 20);
	CU_ASSERT_EQUAL(pair_ns(LOCK, 0, TY_K_HELD, UNLOCK, 1), 90);
	CU_ASSERT_EQUAL(root_ns(FSYNC, 1, TY_K_KERNEL), 60 + 60); /* its own wait, too */
	CU_ASSERT_EQUAL(root_ns(UNLOCK, 1, TY_K_RUNNING), 30);
	CU_ASSERT_EQUAL(blame.nchains, 1);
	check_sums(160);
	finish();
}

static void chain_of_three(void)
{
	begin(TY_RULE_NONE);
	waits(2, FSYNC, 3, 110, 150);
	wakes(2, SIGNAL, 5, 160);
	cond(1, 5, 6, 90, 170);
	wakes(1, UNLOCK, 7, 190);
	waits(0, LOCK, 7, 100, 200);
	done();
	uint32_t io = find(site(FSYNC, 2), TY_K_KERNEL, TY_NONE, TY_NEXT_RUNNING);
	uint32_t c = find(site(COND, 1), TY_K_SIGNAL, site(SIGNAL, 2), io);
	uint32_t c2 = find(site(COND, 1), TY_K_SIGNAL, site(SIGNAL, 2), TY_NEXT_RUNNING);
	uint32_t woken = find(site(COND, 1), TY_K_WOKEN, site(SIGNAL, 2), TY_NEXT_RUNNING);
	CU_ASSERT_EQUAL(total(find(site(LOCK, 0), TY_K_HELD, site(UNLOCK, 1), c)), 40);
	CU_ASSERT_EQUAL(total(find(site(LOCK, 0), TY_K_HELD, site(UNLOCK, 1), c2)),
			10 + 10); /* 100-110, 150-160 */
	CU_ASSERT_EQUAL(total(find(site(LOCK, 0), TY_K_HELD, site(UNLOCK, 1), woken)), 10);
	CU_ASSERT_EQUAL(total(find(site(LOCK, 0), TY_K_HELD, site(UNLOCK, 1), TY_NEXT_RUNNING)), 20);
	CU_ASSERT_EQUAL(root_ns(FSYNC, 2, TY_K_KERNEL), 40 + 40 + 40);
	CU_ASSERT_EQUAL(root_ns(SIGNAL, 2, TY_K_RUNNING), 20 + 30);
	CU_ASSERT_EQUAL(root_ns(COND, 1, TY_K_WOKEN), 10 + 10);
	check_sums(40 + 80 + 100);
	finish();
}

/* Two threads cannot hold each other up; if a recording says so, the chain is cut there. */
static void cycle(void)
{
	begin(TY_RULE_NONE);
	wakes(0, UNLOCK, 8, 80);
	waits(1, LOCK, 8, 10, 90);
	wakes(1, UNLOCK, 7, 100);
	waits(0, LOCK, 7, 10, 100);
	done();
	CU_ASSERT_EQUAL(blame.counts.cycles, 1);
	CU_ASSERT_EQUAL(total(find(site(LOCK, 0), TY_K_HELD, site(UNLOCK, 1), TY_NEXT_CYCLE)), 70);
	CU_ASSERT_EQUAL(root_ns(UNLOCK, 1, TY_K_CUT), 70);
	check_sums(170);
	finish();
}

static void depth(void)
{
	begin(TY_RULE_NONE);
	waits(13, FSYNC, 3, 10, 20);
	for (uint32_t t = 13; t > 0; t--) {
		wakes(t, UNLOCK, 100 + t, 1400 - 100 * t);
		waits(t - 1, LOCK, 100 + t, 10, 1400 - 100 * t);
	}
	done();
	CU_ASSERT(blame.counts.deep > 0);
	uint32_t deepest = 0;
	for (uint32_t i = 0; i < blame.links.cap; i++)
		if (blame.links.v[i].kind && blame.links.v[i].depth > deepest)
			deepest = blame.links.v[i].depth;
	CU_ASSERT_EQUAL(deepest, TY_CHAIN_MAX);
	check_sums(10 + 13 * 1400 - 100 * 91 - 130);
	finish();
}

/* ---- bounds ---- */

static void many_wakes(void)
{
	const uint64_t n = 10000;
	begin(TY_RULE_NONE);
	for (uint64_t i = 1; i <= n; i++)
		wakes(1 + i % 2, UNLOCK, 7, 100 + i);
	waits(0, LOCK, 7, 100, 100 + n + 5);
	done();
	uint64_t forgotten = nobody_ns(LOCK, 0, TY_K_FORGOTTEN);
	CU_ASSERT_EQUAL(forgotten, n - 4096);
	CU_ASSERT_EQUAL(pair_ns(LOCK, 0, TY_K_HELD, UNLOCK, 1) + pair_ns(LOCK, 0, TY_K_HELD, UNLOCK, 2),
			4096);
	CU_ASSERT_EQUAL(pair_ns(LOCK, 0, TY_K_WOKEN, UNLOCK, 1 + n % 2), 5);
	check_sums(n + 5);
	finish();
}

static void many_waits(void)
{
	const uint64_t n = 10000; /* 4096 are kept */
	begin(TY_RULE_NONE);
	for (uint64_t i = 0; i < n; i++)
		waits(1, i % 2 ? FSYNC : SLEEP, 3, 100 + 10 * i, 105 + 10 * i);
	wakes(1, UNLOCK, 7, 100 + 10 * n);
	waits(0, LOCK, 7, 100, 100 + 10 * n);
	done();
	uint64_t lost = total(find(site(LOCK, 0), TY_K_HELD, site(UNLOCK, 1), TY_NEXT_HISTORY));
	CU_ASSERT_EQUAL(lost, 10 * (n - 4096) - 5);
	CU_ASSERT_EQUAL(blame.counts.history_ns, lost);
	uint32_t io = find(site(FSYNC, 1), TY_K_KERNEL, TY_NONE, TY_NEXT_RUNNING);
	CU_ASSERT_EQUAL(total(find(site(LOCK, 0), TY_K_HELD, site(UNLOCK, 1), io)), 2048 * 5);
	check_sums(5 * n + 10 * n);
	finish();
}

/* Nothing is lost with too many links, only not told apart. */
static void many_links(void)
{
	begin(TY_RULE_NONE);
	blame.links.max = 6;
	for (uint32_t t = 1; t < 8; t++) {
		uint64_t at = 1000 * t;
		waits(t, FSYNC, 3, at + 110, at + 170);
		wakes(t, UNLOCK, 7, at + 190);
		waits(0, LOCK, 7, at + 100, at + 200);
	}
	done();
	CU_ASSERT(blame.counts.links_full > 0);
	CU_ASSERT_EQUAL(pair_ns(LOCK, 0, TY_K_HELD, UNLOCK, 1), 90);
	CU_ASSERT(nobody_ns(LOCK, 0, TY_K_HELD) > 0);
	check_sums(7 * 160);
	finish();
}

static void window(void)
{
	begin(TY_RULE_NONE);
	run.from = 150;
	run.to = 1000;
	waits(1, FSYNC, 3, 110, 140);
	wakes(1, UNLOCK, 7, 180);
	waits(0, LOCK, 7, 100, 200);
	waits(0, LOCK, 7, 900, 1001);
	done();
	CU_ASSERT_EQUAL(pair_ns(LOCK, 0, TY_K_HELD, UNLOCK, 1), 30);
	check_sums(50);
	finish();
}

/* ---- shares ---- */

struct truth {
	long double l, x, xl, ll, n;
};
static void truth_add(struct truth *t, uint64_t x, uint64_t l)
{
	t->n++;
	t->x += x;
	t->l += l;
	t->xl += (long double)x * l;
	t->ll += (long double)l * l;
}
static double truth_share(const struct truth *t)
{
	return (double)((t->xl / t->n - t->x / t->n * (t->l / t->n)) /
			(t->ll / t->n - t->l / t->n * (t->l / t->n)));
}
static uint64_t seed = 4711;
static uint64_t rnd(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

/* A request: runs, waits for a lock that thread 1 and then thread 2 hold, 1 being in
 * fdatasync for a part of it, then for a signal of thread 3 that waits for 2 itself, then runs. */
static void shares(void)
{
	enum { HELD1, HELD2, WOKEN, SIGNALLED, REACQUIRED, WOKEN2, IO, LOCKED, RUN1, RUN2, N };
	struct truth t[N] = { 0 };
	uint64_t at = 1000;
	begin(TY_RULE_MARKER);
	for (uint64_t i = 0; i < 3000; i++) {
		uint64_t a = 10 + rnd(1000), h1 = 100 + rnd(50000), h2 = 100 + rnd(i % 7 ? 1000 : 90000),
			 w = rnd(500);
		uint64_t f = rnd(h1), s = 500 + rnd(20000), r = rnd(3000), w2 = rnd(300), in = rnd(400);
		mark(TY_MARK_BEGIN, i, at);
		uint64_t b = at + a;
		waits(1, FSYNC, 3, b + 10, b + 10 + f * 9 / 10);
		wakes(1, UNLOCK, 7, b + h1);
		wakes(2, UNLOCK, 7, b + h1 + h2);
		waits(0, LOCK, 7, b, b + h1 + h2 + w);
		uint64_t c = b + h1 + h2 + w + 5;
		wakes(2, UNLOCK, 9, c + in + s / 2);
		waits(3, LOCK, 9, c + in, c + in + s / 2);
		wakes(3, SIGNAL, 5, c + s + in);
		wakes(3, UNLOCK, 8, c + s + in + r);
		cond(0, 5, 8, c, c + s + in + r + w2);
		uint64_t e = c + s + in + r + w2 + rnd(100);
		mark(TY_MARK_END, i, e);
		uint64_t l = e - at, io = f * 9 / 10 < h1 - 10 ? f * 9 / 10 : h1 - 10;
		uint64_t x[N] = { h1, h2, w, s + in, r, w2, io, s / 2, h1 - io, h2 + s / 2 };
		for (unsigned k = 0; k < N; k++)
			truth_add(&t[k], x[k], l);
		at = e + 100;
	}
	done();
	const struct {
		uint32_t link;
		const struct ty_result *res;
		unsigned truth;
	} of[] = {
		{ find(site(LOCK, 0), TY_K_HELD, site(UNLOCK, 1), TY_NEXT_PAIR), &blame.pairs, HELD1 },
		{ find(site(LOCK, 0), TY_K_HELD, site(UNLOCK, 2), TY_NEXT_PAIR), &blame.pairs, HELD2 },
		{ find(site(LOCK, 0), TY_K_WOKEN, site(UNLOCK, 2), TY_NEXT_PAIR), &blame.pairs, WOKEN },
		{ find(site(COND, 0), TY_K_SIGNAL, site(SIGNAL, 3), TY_NEXT_PAIR), &blame.pairs, SIGNALLED },
		{ find(site(COND, 0), TY_K_REACQUIRE, site(UNLOCK, 3), TY_NEXT_PAIR), &blame.pairs,
		  REACQUIRED },
		{ find(site(COND, 0), TY_K_WOKEN, site(UNLOCK, 3), TY_NEXT_PAIR), &blame.pairs, WOKEN2 },
		{ find(site(FSYNC, 1), TY_K_KERNEL, TY_NONE, TY_NEXT_ROOT), &blame.roots, IO },
		{ find(site(UNLOCK, 1), TY_K_RUNNING, TY_NONE, TY_NEXT_ROOT), &blame.roots, RUN1 },
		{ find(site(UNLOCK, 2), TY_K_RUNNING, TY_NONE, TY_NEXT_ROOT), &blame.roots, RUN2 },
		{ find(site(COND, 0), TY_K_SIGNAL, site(SIGNAL, 3),
		       find(site(LOCK, 3), TY_K_HELD, site(UNLOCK, 2), TY_NEXT_RUNNING)),
		  &blame.chains, LOCKED },
	};
	CU_ASSERT_EQUAL(blame.pairs.n, 3000);
	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		CU_ASSERT_NOT_EQUAL_FATAL(of[i].link, TY_NONE);
		const struct ty_share *s = &of[i].res->site[of[i].link];
		const struct truth *k = &t[of[i].truth];
		CU_ASSERT_DOUBLE_EQUAL(s->share, truth_share(k), 1e-6);
		CU_ASSERT_DOUBLE_EQUAL(s->mean, (double)(k->x / k->n), 1e-6 * (double)(k->x / k->n));
		CU_ASSERT(s->se > 0 && s->se < 0.2);
	}
	CU_ASSERT_DOUBLE_EQUAL(blame.pairs.sum, 1, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(blame.roots.sum, 1, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(blame.chains.sum, 1, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(blame.pairs.running.share, blame.roots.running.share, 1e-12);
	finish();
}

/* A request that another thread takes over while its thread waits: the segments up to then are its. */
static void handed_over(void)
{
	struct ty_ev ev = { .begin = 50,
			    .end = 50,
			    .object = 1,
			    .op = TY_MARK_BEGIN,
			    .kind = TY_EV_MARK,
			    .cls = TY_CLASS_COUNT };
	begin(TY_RULE_MARKER);
	feed(ev);
	wakes(1, UNLOCK, 7, 150);
	ev.begin = ev.end = 170;
	ev.op = TY_MARK_RESUME;
	ev.thread = 3;
	feed(ev);
	wakes(2, UNLOCK, 7, 190);
	waits(0, LOCK, 7, 100, 200);
	ev.begin = ev.end = 220;
	ev.op = TY_MARK_END;
	feed(ev);
	done();
	CU_ASSERT_EQUAL(blame.pairs.n, 1);
	CU_ASSERT_EQUAL(blame.pairs.mean, 170);
	uint32_t one = find(site(LOCK, 0), TY_K_HELD, site(UNLOCK, 1), TY_NEXT_PAIR);
	uint32_t two = find(site(LOCK, 0), TY_K_HELD, site(UNLOCK, 2), TY_NEXT_PAIR);
	CU_ASSERT_EQUAL(blame.pairs.site[one].mean, 50);
	CU_ASSERT_EQUAL(blame.pairs.site[two].mean, 20);
	CU_ASSERT_EQUAL(blame.pairs.running.mean, 100);
	CU_ASSERT_EQUAL(total(two), 40); /* of the wait in all */
	finish();
}

/* Two requests that wait for the same lock and then for the disk; --where leaves the second, slower one. */
static void left_out(void)
{
	begin(TY_RULE_MARKER);
	ty_blame_free(&blame);
	CU_ASSERT_FATAL(ty_where_parse(&run.where, "latency>300ns", NULL) == 0);
	CU_ASSERT_FATAL(ty_blame_init(&blame, &run) == 0);
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t at = 1000 * (i + 1), h = 100 + 200 * i;
		mark(TY_MARK_BEGIN, i, at);
		waits(1, FSYNC, 3, at + 10, at + 60); /* the holder's */
		wakes(2, UNLOCK, 7, at + h / 2);
		wakes(1, UNLOCK, 7, at + h);
		waits(0, LOCK, 7, at, at + h);
		waits(0, FSYNC, 4, at + h + 5, at + h + 45);
		mark(TY_MARK_END, i, at + h + 50);
		waits(0, SLEEP, 0, at + h + 60, at + h + 70); /* outside */
	}
	done();
	CU_ASSERT_EQUAL(blame.pairs.n, 1);
	CU_ASSERT_EQUAL(run.counts.left_out, 1);
	CU_ASSERT_EQUAL(pair_ns(LOCK, 0, TY_K_HELD, UNLOCK, 2), 150);
	CU_ASSERT_EQUAL(pair_ns(LOCK, 0, TY_K_HELD, UNLOCK, 1), 150);
	CU_ASSERT_EQUAL(nobody_ns(FSYNC, 0, TY_K_KERNEL), 40);
	CU_ASSERT_EQUAL(nobody_ns(FSYNC, 1, TY_K_KERNEL), 0);
	CU_ASSERT_EQUAL(nobody_ns(SLEEP, 0, TY_K_TIMER), 0);
	const struct ty_link *k = &blame.links.v[find(site(LOCK, 0), TY_K_HELD, site(UNLOCK, 1), TY_NEXT_PAIR)];
	CU_ASSERT_EQUAL(k->count, 1);
	CU_ASSERT_EQUAL(k->ended, 2);
	CU_ASSERT_EQUAL(blame.cls[TY_CLASS_MUTEX].waits, 1);
	CU_ASSERT_EQUAL(blame.cls[TY_CLASS_SYNC].waits, 1);
	CU_ASSERT_EQUAL(blame.cls[TY_CLASS_SLEEP].waits, 0);
	check_sums(340);
	ty_where_free(run.where);
	finish();
}

/* The views do not depend on how the events come. */
static void batches(void)
{
	struct ty_ev ev[40];
	double share[2];
	size_t n = 0;
	for (uint64_t i = 0; i < 10; i++) {
		ev[n++] = wait_ev(1, FSYNC, 3, 100 * i + 10, 100 * i + 20 + i);
		ev[n++] = wake_ev(1, UNLOCK, 7, 100 * i + 60 + i);
		ev[n++] = wait_ev(0, LOCK, 7, 100 * i, 100 * i + 80);
	}
	for (int round = 0; round < 2; round++) {
		begin(TY_RULE_NONE);
		if (round)
			CU_ASSERT(ty_blame_events(&blame, ev, n) == 0);
		for (size_t i = 0; !round && i < n; i++)
			feed(ev[i]);
		done();
		share[round] = (double)root_ns(FSYNC, 1, TY_K_KERNEL);
		finish();
	}
	CU_ASSERT_EQUAL(share[0], 2 * 145);
	CU_ASSERT_EQUAL(share[0], share[1]);
}

/* Wakes far apart overwrite each other in the small ring; close ones make it grow.
 * What had been overwritten is not there again, whatever the memory holds. */
static void ring_grown_after_it_was_full(void)
{
	struct ty_wakes w = { 0 };
	CU_ASSERT_EQUAL_FATAL(ty_wakes_init(&w), 0);
	uint64_t at = 0;
	for (int i = 0; i < 40; i++) {
		at += i < 20 ? 10000000000ull : 1000;
		struct ty_waked *o = ty_wakes_get(&w, 0x1000, 0, at);
		CU_ASSERT_PTR_NOT_NULL_FATAL(o);
		CU_ASSERT_EQUAL(ty_wakes_add(&w, o, &(struct ty_wake){ .at = at, .thread = 7 }), 0);
		CU_ASSERT(o->n - ty_waked_first(o) <= (i < 20 ? 4u : 4u + (unsigned)(i - 19)));
		for (uint64_t k = ty_waked_first(o); k != o->n; k++)
			CU_ASSERT_EQUAL(ty_waked_at(o, k)->thread, 7);
	}
	ty_wakes_free(&w);
}

int main(void)
{
	CU_initialize_registry();
	CU_pSuite s = CU_add_suite("blame", NULL, NULL);
	CU_add_test(s, "a ring that grew after it was full", ring_grown_after_it_was_full);
	CU_add_test(s, "one holder", one_holder);
	CU_add_test(s, "several holders in turn", several_holders);
	CU_add_test(s, "condition: not signalled, re-acquiring", condition);
	CU_add_test(s, "signals in turn, broadcast", signals_in_turn);
	CU_add_test(s, "a signal sent by somebody", signal_sent);
	CU_add_test(s, "semaphores, futexes, timeouts, unknown", others);
	CU_add_test(s, "objects of two processes", shared_objects);
	CU_add_test(s, "release not seen, owner known", owner);
	CU_add_test(s, "a wake that comes late", late_wake);
	CU_add_test(s, "chain to IO", chain_to_io);
	CU_add_test(s, "chain of three", chain_of_three);
	CU_add_test(s, "cycle", cycle);
	CU_add_test(s, "depth", depth);
	CU_add_test(s, "more wakes than are kept", many_wakes);
	CU_add_test(s, "more waits than are kept", many_waits);
	CU_add_test(s, "more links than are kept", many_links);
	CU_add_test(s, "window", window);
	CU_add_test(s, "shares", shares);
	CU_add_test(s, "handed over in a wait", handed_over);
	CU_add_test(s, "left out by --where", left_out);
	CU_add_test(s, "batches", batches);
	CU_basic_set_mode(CU_BRM_NORMAL);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed != 0;
}

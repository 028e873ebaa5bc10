/* SPDX-License-Identifier: MIT
 *
 * Fuzzes what the recorder reads from shared memory: slots, rings, chunk
 * headers, the ready queue.  Whatever stands there, a pass must end, stay in
 * bounds, and give every slot back once its thread has ended.  The input is a
 * small program of a hostile traced side; see step(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "recorder/orders.h"
#include "recorder/recorder.h"
#include "recorder/session.h"

#define SLOTS 8u
#define RENEW 500 /* inputs, then a new recorder: the old one has learnt too much */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ty_recorder *r;
static struct ty_settings set;
static char store[64], lock[80];
static struct ty_cursor cursor[SLOTS];
static int inputs;

static const char orders[] = "orders:\n  - {order: eldest, path: 'm*'}\n  - {order: fcfs, module: '*o*'}\n"
			     "  - {order: random, object: 's*', threshold: auto}\norder_age: idle\norder_idle: ['?a*']\n";

static void renew(void)
{
	char err[TY_ERR_MAX];
	struct ty_summary sum;
	char *const command[] = { (char *)"fuzz", NULL };
	if (r)
		ty_session_finish(r, inputs % (2 * RENEW) != 0, &sum); /* also with names */
	ty_settings_free(&set);
	snprintf(store, sizeof store, "/tmp/tarry-fuzz-%d", getpid());
	snprintf(lock, sizeof lock, "%s-lock", store);
	unlink(store);
	unlink(lock);
	ty_settings_default(&set);
	set.self_check = 2;
	set.capture_bytes = 32;
	set.arena_bytes = 16u << 20;
	if (ty_settings_parse(&set, "fuzz", orders, sizeof orders - 1, err) < 0)
		abort();
	if (ty_session_start(&r, &set, store, command, err) < 0) {
		fprintf(stderr, "%s\n", err);
		abort();
	}
	unlink(store);
	unlink(lock);
}

struct input {
	const uint8_t *p;
	size_t n;
};

static uint64_t take(struct input *in, size_t bytes)
{
	uint64_t v = 0;
	if (bytes > in->n)
		bytes = in->n;
	memcpy(&v, in->p, bytes);
	in->p += bytes;
	in->n -= bytes;
	return v;
}

/* Bytes of the input as a record in the ring, committed honestly. */
static void honest(struct input *in, uint32_t s, struct ty_thread *t)
{
	uint32_t words = 1 + (uint32_t)take(in, 1) % 24;
	uint64_t *to = ty_ring_reserve(r->arena.a, t, &cursor[s], words * 8);
	if (!to)
		return;
	memset(to, 0, words * 8);
	for (uint32_t i = 0; i < words && in->n; i++)
		to[i] = take(in, 8);
	uint8_t mode = (uint8_t)take(in, 1);
	if (mode & 1) /* a type that exists, lengths that agree */
		to[0] = TY_WORD0(mode >> 1 & 15, mode & 128 ? 0 : words, to[0] >> 32 & 0xff, to[0] >> 16 & 0xff, 0);
	if (mode & 128 && words > 1)
		to[1] = words;
	if (mode & 64 && words > 2)
		to[1] = to[2] = ty_now();
	ty_ring_commit(r->arena.a, &cursor[s], to, words * 8);
}

static void step(struct input *in)
{
	struct ty_arena *a = r->arena.a;
	uint8_t what = (uint8_t)take(in, 1);
	uint32_t s = what >> 4 & (SLOTS - 1);
	struct ty_thread *t = ty_arena_thread(a, s);
	struct ty_chunk *c = cursor[s].chunk ? ty_arena_chunk(a, cursor[s].chunk - 1) : NULL;
	switch (what & 15) {
	case 0:
		atomic_store(&t->owner, take(in, 8));
		break;
	case 1:
	case 2:
	case 3: /* an ordinary thread of this process */
		atomic_store(&t->owner, (uint64_t)getpid() << 32 | (s + 1));
		t->image = 1 + take(in, 1) % 4;
		atomic_store(&t->state, TY_THREAD_LIVE);
		break;
	case 4:
		atomic_store(&t->state, (uint32_t)take(in, 1));
		break;
	case 5:
		atomic_store(&t->first, (uint32_t)take(in, 4));
		break;
	case 6:
		if (c)
			atomic_store(&c->committed, (uint32_t)take(in, 4));
		break;
	case 7:
		if (c)
			atomic_store(&c->next, (uint32_t)take(in, 2));
		break;
	case 8:
		atomic_store(&a->ready_take, take(in, 2));
		break;
	case 9:
		atomic_store(&t->wait_op, (uint32_t)take(in, 2) % (TY_OP_COUNT + 2));
		atomic_store(&t->wait_begin, take(in, 8));
		atomic_store(&t->wait_path, take(in, 8));
		break;
	case 10:
		ty_drain(r);
		ty_orders_pass_end(r);
		break;
	case 11: /* counters are numbers, whatever they are */
		memset(&a->orders.stat[take(in, 2) % TY_ORDER_STATS], (int)take(in, 1), sizeof a->orders.stat[0]);
		atomic_store(&a->orders_native, (uint32_t)take(in, 1));
		break;
	default:
		honest(in, s, t);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	if (!r || ++inputs % RENEW == 0)
		renew();
	memset(cursor, 0, sizeof cursor);
	while (in.n)
		step(&in);
	ty_drain(r);
	for (uint32_t s = 0; s < SLOTS; s++)
		atomic_store(&ty_arena_thread(r->arena.a, s)->state, TY_THREAD_ENDED);
	for (int i = 0; i < 4 && (i == 0 || r->reg.actives); i++) {
		r->want_full = true;
		ty_drain(r);
		ty_checks_pass_end(r);
		ty_orders_pass_end(r);
		ty_descriptors_pass_end(r);
	}
	if (r->reg.actives)
		abort();
	for (uint32_t i = 0; i < r->arena.backed; i++)
		if (r->arena.state[i] == TY_CHUNK_LINKED)
			abort(); /* a chunk that no ring has and nobody gets back */
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Measures the block codec on a server-like mixture: bytes per event, events
 * packed and unpacked per second.  Usage: codec [EVENTS] [THREADS] [PER_BLOCK].
 * Prints one JSON object; a figure, never a test. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/block.h"
#include "tarry/event.h"
#include "tarry/ops.h"

static uint64_t rng_state = 88172645463325252ULL;

static uint64_t rng(void) /* xorshift64 */
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	return rng_state ^= rng_state << 17;
}

/* Skewed as real durations are: a power of two picked at random, then uniform below it. */
static uint64_t some_ns(unsigned from_bits, unsigned to_bits)
{
	unsigned bits = from_bits + (unsigned)(rng() % (to_bits - from_bits + 1));
	return ((uint64_t)1 << bits) + rng() % ((uint64_t)1 << bits);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct client {
	uint64_t clock;
	unsigned step;
};

/* A connection's thread: poll, recv, a few waits of the query (locks, cond, file), send. */
static void make_event(struct ty_ev *e, struct client *c, uint32_t thread)
{
	unsigned step = c->step++ % 8;
	*e = (struct ty_ev){ .thread = thread, .kind = TY_EV_WAIT, .object = 20 + thread };
	c->clock += some_ns(9, 16);
	e->begin = c->clock;
	c->clock += some_ns(10, step == 0 ? 22 : 17);
	e->end = c->clock;
	switch (step) {
	case 0:
		e->op = TY_OP_poll, e->cls = TY_CLASS_POLL, e->aux = 1, e->path = 1;
		break;
	case 1:
		e->op = TY_OP_recv, e->cls = TY_CLASS_RECV, e->aux = 20 + rng() % 200, e->path = 2;
		e->flags = rng() % 4 ? TY_F_NO_PATH : 0;
		break;
	case 7:
		e->op = TY_OP_send, e->cls = TY_CLASS_SEND, e->aux = 11 + rng() % 3000, e->path = 3;
		e->flags = TY_F_NO_PATH;
		break;
	case 3:
		e->op = TY_OP_pwrite64, e->cls = TY_CLASS_WRITE, e->object = 9, e->aux = 16384, e->path = 4;
		break;
	case 5:
		e->op = TY_OP_pthread_cond_wait, e->cls = TY_CLASS_COND, e->path = 5 + (uint32_t)(rng() % 6);
		e->object = 0x7f3a10000000 + rng() % 512 * 64;
		e->aux = e->object - 48;
		break;
	default:
		e->op = TY_OP_pthread_mutex_lock, e->cls = TY_CLASS_MUTEX, e->flags = TY_F_CONTENDED;
		e->path = 20 + (uint32_t)(rng() % 60);
		e->object = 0x7f3a20000000 + rng() % 4000 * 128;
		e->aux = rng() % 3 ? 1234567 + rng() % 64 : 0;
	}
}

int main(int argc, char **argv)
{
	size_t total = argc > 1 ? strtoul(argv[1], NULL, 10) : 1 << 21;
	size_t threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 64;
	size_t per_block = argc > 3 ? strtoul(argv[3], NULL, 10) : 16384;
	if (threads == 0 || per_block == 0 || per_block > TY_BLOCK_MAX)
		return 2;
	struct ty_ev *ev = calloc(per_block, sizeof *ev), *back = calloc(per_block, sizeof *back);
	struct client *c = calloc(threads, sizeof *c);
	struct ty_packer *p = ty_packer_new();
	struct ty_unpacker *u = ty_unpacker_new();
	if (!ev || !back || !c || !p || !u)
		return 1;
	double pack_s = 0, unpack_s = 0;
	size_t bytes = 0, events = 0, blocks = 0;
	while (events < total) {
		for (size_t i = 0; i < per_block; i++) {
			uint32_t t = (uint32_t)(i * threads / per_block);
			make_event(&ev[i], &c[t], t);
		}
		const void *data;
		size_t len;
		double t0 = now();
		if (ty_block_pack(p, ev, per_block, 0, &data, &len) < 0)
			return 1;
		double t1 = now();
		if (ty_block_unpack(u, data, len, back) < 0)
			return 1;
		unpack_s += now() - t1;
		pack_s += t1 - t0;
		bytes += len;
		events += per_block;
		blocks++;
	}
	printf("{\"events\": %zu, \"blocks\": %zu, \"bytes_per_event\": %.2f, \"pack_per_s\": %.0f, "
	       "\"unpack_per_s\": %.0f}\n", events, blocks, (double)bytes / (double)events,
	       (double)events / pack_s, (double)events / unpack_s);
	ty_packer_free(p);
	ty_unpacker_free(u);
	free(ev);
	free(back);
	free(c);
	return 0;
}

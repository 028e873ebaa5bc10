/* SPDX-License-Identifier: MIT
 *
 * Measures the block codec and the store on a server-like mixture: bytes per
 * event, events packed, unpacked, stored and scanned per second of one core.
 * Usage: codec [EVENTS] [THREADS] [PER_BLOCK] [STORE]; a drain has PER_BLOCK
 * events, STORE is created and removed.  Prints one JSON object.  The least of
 * ROUNDS times counts for each drain, as for the reference that runs in between.  TARRY_BENCH_SLOW=P makes packing and
 * unpacking P % slower, for tests of what would notice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench/reference.h"
#include "common/block.h"
#include "common/store.h"
#include "tarry/event.h"
#include "tarry/ops.h"

#define ROUNDS 7
#define MEAN_NS 80000 /* between two events of a thread, about */

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
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct client {
	uint64_t clock;
	unsigned step;
	struct ty_ev next; /* not finished at the last drain */
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

struct load {
	size_t total, threads, drain;
	struct ty_ev *ev;
	struct client *client;
	uint64_t until;
};

/* What all threads finish in the next stretch of time, about l->drain events; returns their number. */
static size_t next_drain(struct load *l)
{
	size_t n = 0;
	l->until += MEAN_NS * l->drain / l->threads;
	for (size_t t = 0; t < l->threads; t++) {
		struct client *c = &l->client[t];
		while (c->next.end <= l->until && n < TY_BLOCK_MAX) {
			if (c->step)
				l->ev[n++] = c->next;
			make_event(&c->next, c, (uint32_t)t);
		}
	}
	return n;
}

/* The planted slowness: computes for as long as the part of the work says. */
static void dawdle(double since)
{
	static double part = -1;
	if (part < 0) {
		const char *text = getenv("TARRY_BENCH_SLOW");
		part = text ? atof(text) / 100 : 0;
	}
	for (double until = now() + (now() - since) * part; part > 0 && now() < until;)
		;
}

struct codec {
	struct ty_packer *packer;
	struct ty_unpacker *unpacker;
	struct ty_ev *back;
	double pack_s, unpack_s, reference_s;
	size_t bytes, drains;
};

static double least(double a, double b)
{
	return a < b ? a : b;
}

static int one_drain(struct codec *c, const struct ty_ev *ev, size_t n)
{
	double pack_s = 1e9, unpack_s = 1e9, reference_s = 1e9;
	const void *data;
	size_t len = 0;
	for (int i = 0; i < ROUNDS; i++) {
		double t0 = now();
		if (ty_block_pack(c->packer, ev, n, 0, &data, &len) < 0)
			return 1;
		dawdle(t0);
		double t1 = now();
		if (ty_block_unpack(c->unpacker, data, len, c->back) < 0)
			return 1;
		dawdle(t1);
		double t2 = now();
		reference_work();
		reference_s = least(reference_s, now() - t2);
		unpack_s = least(unpack_s, t2 - t1);
		pack_s = least(pack_s, t1 - t0);
	}
	c->pack_s += pack_s;
	c->unpack_s += unpack_s;
	c->reference_s += reference_s;
	c->drains++;
	c->bytes += len;
	return 0;
}

static int codec(struct load *l)
{
	struct codec c = { .packer = ty_packer_new(), .unpacker = ty_unpacker_new(),
			   .back = malloc(TY_BLOCK_MAX * sizeof *c.back) };
	size_t events = 0, n;
	int r = !c.packer || !c.unpacker || !c.back;
	for (; r == 0 && events < l->total; events += n) {
		n = next_drain(l);
		r = n > 0 && one_drain(&c, l->ev, n);
	}
	if (r == 0)
		printf("{\"events\": %zu, \"bytes_per_event\": %.2f, \"pack_per_s\": %.0f, \"unpack_per_s\": %.0f, "
		       "\"reference_per_s\": %.0f", events, (double)c.bytes / (double)events, (double)events / c.pack_s,
		       (double)events / c.unpack_s, (double)c.drains * REFERENCE_N / c.reference_s);
	ty_packer_free(c.packer);
	ty_unpacker_free(c.unpacker);
	free(c.back);
	return r;
}

static int write_store(struct load *l, const char *path, double *seconds)
{
	static const struct ty_frame frame = { .module = -1 };
	char err[TY_ERR_MAX];
	struct ty_store *s;
	int r = ty_store_create(&s, path, err);
	if (r < 0) {
		fprintf(stderr, "%s\n", err);
		return r;
	}
	r = ty_store_put_ops(s, err) | ty_store_put_process(s, 0, &(struct ty_process){ .parent = -1 }, err);
	for (uint32_t i = 0; i < l->threads; i++)
		r |= ty_store_put_thread(s, i, &(struct ty_thread_info){ .tid = i }, err);
	for (uint32_t i = 0; i < 100; i++)
		r |= ty_store_put_path(s, i, &(struct ty_path){ .count = 1, .frames = &frame }, err);
	for (size_t done = 0, n; done < l->total; done += n) {
		n = next_drain(l);
		if (n == 0)
			continue;
		double t0 = now();
		r |= ty_store_put_block(s, l->ev, n, l->until, err);
		if (done / 50000 != (done + n) / 50000)
			r |= ty_store_commit(s, false, err);
		*seconds += now() - t0;
	}
	r |= ty_store_commit(s, false, err);
	ty_store_close(s);
	return r;
}

static int store(struct load *l, const char *path)
{
	char err[TY_ERR_MAX] = "";
	double write_s = 0, t0;
	size_t events = 0, n;
	struct stat st;
	struct ty_store *s;
	struct ty_scan *c;
	const struct ty_ev *ev;
	if (write_store(l, path, &write_s) != 0 || stat(path, &st) < 0 || ty_store_open(&s, path, err) < 0)
		return 1;
	t0 = now();
	int r = ty_scan_open(&c, s, 0, UINT64_MAX, err);
	while (r >= 0 && (r = ty_scan_next(c, &ev, &n, err)) == 1)
		events += n;
	printf(", \"stored_bytes_per_event\": %.2f, \"store_per_s\": %.0f, \"scan_per_s\": %.0f",
	       (double)st.st_size / (double)events, (double)events / write_s, (double)events / (now() - t0));
	ty_scan_close(c);
	ty_store_close(s);
	unlink(path);
	return r < 0;
}

int main(int argc, char **argv)
{
	struct load l = {
		.total = argc > 1 ? strtoul(argv[1], NULL, 10) : 1 << 21,
		.threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 64,
		.drain = argc > 3 ? strtoul(argv[3], NULL, 10) : 16384,
	};
	if (l.threads == 0 || l.drain == 0 || l.drain > TY_BLOCK_MAX / 2)
		return 2;
	l.ev = calloc(TY_BLOCK_MAX, sizeof *l.ev);
	l.client = calloc(l.threads, sizeof *l.client);
	int r = !l.ev || !l.client || codec(&l);
	if (r == 0 && argc > 4) {
		memset(l.client, 0, l.threads * sizeof *l.client);
		l.until = 0;
		r = store(&l, argv[4]);
	}
	if (r == 0)
		printf("}\n");
	free(l.ev);
	free(l.client);
	return r;
}

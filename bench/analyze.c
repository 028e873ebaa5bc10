/* SPDX-License-Identifier: MIT
 *
 * Measures the analysis: makes a store of a threaded server's requests, then
 * times a scan of it, and all passes of a report.  Usage:
 *   analyze [EVENTS] [THREADS] [SITES] [STORE] [WAITS] [make]   default 5000000 16 200
 * STORE is created, and removed again unless it was named.  WAITS: of a request,
 * about (default 7).  make: only the store.  Prints one JSON object; a figure,
 * never a test. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "analyze/run.h"
#include "bench/reference.h"
#include "tarry/ops.h"

#define BATCH 16384
#define FRAMES 12

static uint32_t waits_per_request = 7; /* more or less by 4 */

static uint64_t rng_state = 88172645463325252ULL;

static uint64_t rng(void) /* xorshift64 */
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	return rng_state ^= rng_state << 17;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void check(int e, const char *err)
{
	if (e >= 0)
		return;
	fprintf(stderr, "analyze: %s\n", *err ? err : strerror(-e));
	exit(1);
}

static void put_tables(struct ty_store *s, uint32_t threads, uint32_t sites, char *err)
{
	check(ty_store_put_ops(s, err), err);
	check(ty_store_put_process(s, 0, &(struct ty_process){ .pid = 1000, .parent = -1, .start = 1000000000,
		.exe = "/usr/sbin/server", .cmdline = "server" }, err), err);
	for (uint32_t i = 0; i < threads; i++)
		check(ty_store_put_thread(s, i, &(struct ty_thread_info){ .tid = 1000 + i, .name = "worker",
			.start = 1000000000 }, err), err);
	check(ty_store_put_module(s, 0, &(struct ty_module_info){ .path = "/usr/sbin/server", .build_id = "00ff",
		.rows = "ready" }, err), err);
	for (uint32_t i = 0; i < sites + 2; i++) {
		struct ty_frame f[FRAMES];
		for (uint32_t k = 0; k < FRAMES; k++)
			f[k] = (struct ty_frame){ .module = 0, .offset = 4096 + (k < 3 ? i * 64 : 0) + k * 8 };
		check(ty_store_put_path(s, i, &(struct ty_path){ .count = FRAMES, .frames = f }, err), err);
	}
}

/* The next event of a thread: receive, some waits, send, over and over. */
struct worker { uint64_t at; uint32_t step, waits; };

static struct ty_ev make(struct worker *w, uint32_t thread, uint32_t sites)
{
	static const struct { uint16_t op; uint8_t cls; } kinds[3] = {
		{ TY_OP_pthread_mutex_lock, TY_CLASS_MUTEX }, { TY_OP_pthread_cond_wait, TY_CLASS_COND },
		{ TY_OP_fdatasync, TY_CLASS_SYNC },
	};
	uint64_t ns = 1 + (rng() >> (44 + rng() % 8)), gap = 200 + rng() % 2000;
	struct ty_ev e = { .begin = w->at + gap, .end = w->at + gap + ns, .thread = thread, .object = 10 + thread,
			   .aux = 100, .kind = TY_EV_WAIT };
	if (w->step == 0) {
		e.op = TY_OP_recv;
		e.cls = TY_CLASS_RECV;
		w->waits = waits_per_request - 4 + (uint32_t)(rng() % 8);
	} else if (w->step <= w->waits) {
		uint32_t r = (uint32_t)rng();
		e.path = 2 + (r % sites) * (r / 65536 % 7 != 0);
		e.op = kinds[e.path % 3].op;
		e.cls = kinds[e.path % 3].cls;
		e.object = 0x7f0000000000 + e.path * 64;
	} else {
		e.op = TY_OP_send;
		e.cls = TY_CLASS_SEND;
		e.path = 1;
		w->step = UINT32_MAX;
	}
	w->step++;
	w->at = e.end;
	return e;
}

static void make_store(const char *path, uint64_t events, uint32_t threads, uint32_t sites, char *err)
{
	struct ty_store *s;
	struct worker *w = calloc(threads, sizeof *w);
	struct ty_ev *ev = calloc(BATCH + threads, sizeof *ev), *ahead = calloc(threads, sizeof *ahead);
	uint64_t until = 1000000000;
	check(w && ev && ahead ? 0 : -ENOMEM, "");
	check(ty_store_create(&s, path, err), err);
	put_tables(s, threads, sites, err);
	for (uint32_t t = 0; t < threads; t++) {
		ev[t] = (struct ty_ev){ .begin = until - 100, .end = until, .object = 3, .aux = 10 + t, .thread = t,
			.op = TY_OP_accept4, .cls = TY_CLASS_ACCEPT };
		w[t].at = until;
		ahead[t] = make(&w[t], t, sites);
	}
	check(ty_store_put_block(s, ev, threads, until, err), err);
	for (uint64_t done = threads; done < events;) {
		size_t n = 0;
		until += 100000000;
		for (uint32_t t = 0; t < threads; t++)
			for (uint64_t k = 0; ahead[t].end <= until; k++) {
				ev[n++] = ahead[t];
				ahead[t] = make(&w[t], t, sites);
				if (n < BATCH)
					continue;
				check(ty_store_put_block(s, ev, n, 0, err), err);
				done += n;
				n = 0;
			}
		check(ty_store_put_block(s, ev, n, until, err), err);
		done += n;
		check(ty_store_commit(s, false, err), err);
	}
	check(ty_store_commit(s, true, err), err);
	ty_store_close(s);
	free(w);
	free(ev);
	free(ahead);
}

/* Half a second's worth, about: numbers a second now. */
static double reference(void)
{
	double t = now();
	for (int i = 0; i < 1000; i++)
		reference_work();
	return 1000.0 * REFERENCE_N / (now() - t);
}

static uint64_t scan(const char *path, char *err)
{
	struct ty_store *s;
	struct ty_scan *c;
	const struct ty_ev *ev;
	size_t n;
	int e;
	uint64_t count = 0;
	check(ty_store_open(&s, path, err), err);
	check(ty_scan_open(&c, s, 0, UINT64_MAX, err), err);
	while ((e = ty_scan_next(c, &ev, &n, err)) == 1)
		count += n;
	check(e, err);
	ty_scan_close(c);
	ty_store_close(s);
	return count;
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 5000000;
	uint32_t threads = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 16;
	uint32_t sites = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 200;
	const char *path = argc > 4 ? argv[4] : "/tmp/tarry-bench-analyze.store";
	uint32_t waits = argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 10) : 0;
	waits_per_request = waits >= 5 ? waits : waits_per_request;
	char err[TY_ERR_MAX] = "";
	struct run r = { .opt = { .store = path, .tail = 0.99, .requests = "socket" } };
	struct rusage u;
	if (access(path, F_OK) != 0)
		make_store(path, events, threads, sites, err);
	if (argc > 6 && !strcmp(argv[6], "make"))
		return 0;
	double reference_per_s = reference(), t0 = now();
	events = scan(path, err);
	double t1 = now();
	check(ty_pass_load(&r, err), err);
	check(ty_pass_names(&r, err), err);
	check(ty_pass_cut(&r, err), err);
	double t2 = now();
	check(ty_pass_variance(&r, err), err);
	double t3 = now();
	reference_per_s = (reference_per_s + reference()) / 2;
	getrusage(RUSAGE_SELF, &u);
	printf("{\"events\": %llu, \"requests\": %zu, \"sites\": %zu, \"scan_per_s\": %.0f, "
	       "\"cut_per_s\": %.0f, \"report_per_s\": %.0f, "
	       "\"variance_s\": %.3f, \"rss_mib\": %ld, \"share_sum\": %.12f, \"overlap\": %llu, "
	       "\"reference_per_s\": %.0f}\n",
	       (unsigned long long)events, r.rows.n, r.sites.n, (double)events / (t1 - t0), (double)events / (t2 - t1),
	       (double)events / (t3 - t1), t3 - t2, u.ru_maxrss / 1024, r.res.sum,
	       (unsigned long long)(r.counts.overlap + r.counts.negative), reference_per_s);
	ty_run_free(&r);
	if (argc <= 4) {
		unlink(path);
		unlink("/tmp/tarry-bench-analyze.store-lock");
	}
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * What the service knows about its own waits.  Every call that may block is
 * timed where it is made; the thread that works on a request adds these times
 * up, and at the request's end they enter running moments: nothing is kept per
 * request.  Share of a function f in the variance of the latency L:
 * Cov(X_f, L) / Var(L), population moments.  One struct per connection, written
 * by its thread only, merged when the thread has been joined.
 */
#include "orders.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_name[] = {
#define X(name) #name,
	WAIT_KINDS(X)
#undef X
};

struct truth {
	uint64_t n;
	double mean_l, m2_l;    /* Welford: mean and sum of squared deviations */
	double mean_x[W_COUNT]; /* the same for each kind: */
	double co_xl[W_COUNT];  /* sum of products of deviations */
	uint64_t total[W_COUNT], calls[W_COUNT];
	uint64_t max_l;
};

static _Thread_local struct {
	uint64_t begin;
	uint64_t waited[W_COUNT];
	uint64_t calls[W_COUNT];
} request;

struct truth *truth_new(void)
{
	return calloc(1, sizeof(struct truth));
}

void truth_request_begin(void)
{
	memset(&request, 0, sizeof request);
	request.begin = now_ns();
}

void truth_waited(enum wait_kind kind, uint64_t ns)
{
	request.waited[kind] += ns;
	request.calls[kind]++;
}

void truth_request_end(struct truth *t)
{
	uint64_t latency = now_ns() - request.begin;
	double dl = (double)latency - t->mean_l;
	t->n++;
	t->mean_l += dl / (double)t->n;
	double dl_after = (double)latency - t->mean_l;
	t->m2_l += dl * dl_after;
	for (int k = 0; k < W_COUNT; k++) {
		double dx = (double)request.waited[k] - t->mean_x[k];
		t->mean_x[k] += dx / (double)t->n;
		t->co_xl[k] += dx * dl_after;
		t->total[k] += request.waited[k];
		t->calls[k] += request.calls[k];
	}
	if (latency > t->max_l)
		t->max_l = latency;
}

void truth_merge(struct truth *a, struct truth *b)
{
	double n = (double)(a->n + b->n);
	if (b->n > 0) {
		double dl = b->mean_l - a->mean_l, w = (double)a->n * (double)b->n / n;
		for (int k = 0; k < W_COUNT; k++) {
			double dx = b->mean_x[k] - a->mean_x[k];
			a->co_xl[k] += b->co_xl[k] + dx * dl * w;
			a->mean_x[k] += dx * (double)b->n / n;
			a->total[k] += b->total[k];
			a->calls[k] += b->calls[k];
		}
		a->m2_l += b->m2_l + dl * dl * w;
		a->mean_l += dl * (double)b->n / n;
		a->n += b->n;
		if (b->max_l > a->max_l)
			a->max_l = b->max_l;
	}
	free(b);
}

static double share(const struct truth *t, int k)
{
	return t->m2_l > 0 ? t->co_xl[k] / t->m2_l : 0;
}

static void write_server(FILE *f, const struct truth *t)
{
	double running = 1;
	double var = t->n ? t->m2_l / (double)t->n : 0;
	fprintf(f, "  \"requests\": {\"count\": %llu, "
		   "\"mean_ns\": %.3f, \"var_ns2\": %.3f, \"sd_ns\": %.3f, \"max_ns\": %llu},\n",
		(unsigned long long)t->n, t->mean_l, var, sqrt(var), (unsigned long long)t->max_l);
	fprintf(f, "  \"functions\": {\n");
	for (int k = 0; k < W_COUNT; k++) {
		running -= share(t, k);
		fprintf(f, "    \"%s\": {\"share\": %.12f, \"total_ns\": %llu, \"calls\": %llu},\n", kind_name[k], share(t, k),
			(unsigned long long)t->total[k], (unsigned long long)t->calls[k]);
	}
	fprintf(f, "    \"running\": {\"share\": %.12f}\n  }", running);
}

static void write_client(FILE *f, const struct load_result *r)
{
	fprintf(f, "  \"client\": {\"count\": %llu, \"errors\": %llu, \"elapsed_ns\": %llu, \"mean_ns\": %.1f, ",
		(unsigned long long)r->requests, (unsigned long long)r->errors, (unsigned long long)r->elapsed_ns,
		r->requests ? (double)r->sum_ns / (double)r->requests : 0);
	fprintf(f, "\"p50_ns\": %llu, \"p95_ns\": %llu, \"p99_ns\": %llu, \"p999_ns\": %llu, \"max_ns\": %llu}",
		(unsigned long long)load_quantile(r, .5), (unsigned long long)load_quantile(r, .95),
		(unsigned long long)load_quantile(r, .99), (unsigned long long)load_quantile(r, .999),
		(unsigned long long)r->max_ns);
}

int truth_write(FILE *f, const struct truth *t, const struct load_result *r)
{
	fprintf(f, "{\n");
	if (t)
		write_server(f, t);
	if (t && r)
		fprintf(f, ",\n");
	if (r)
		write_client(f, r);
	fprintf(f, "\n}\n");
	return fflush(f) || ferror(f) ? -1 : 0;
}

void truth_summary(FILE *f, const struct truth *t)
{
	double running = 1;
	fprintf(f, "%llu requests, mean %.3f ms, sd %.3f ms, max %.3f ms\n", (unsigned long long)t->n, t->mean_l / 1e6,
		t->n ? sqrt(t->m2_l / (double)t->n) / 1e6 : 0, (double)t->max_l / 1e6);
	fprintf(f, "%-14s %8s %12s %10s\n", "function", "share", "total ms", "calls");
	for (int k = 0; k < W_COUNT; k++) {
		running -= share(t, k);
		fprintf(f, "%-14s %7.1f%% %12.1f %10llu\n", kind_name[k], 100 * share(t, k), (double)t->total[k] / 1e6,
			(unsigned long long)t->calls[k]);
	}
	fprintf(f, "%-14s %7.1f%%\n", "running", 100 * running);
}

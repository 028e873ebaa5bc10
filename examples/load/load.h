/* SPDX-License-Identifier: MIT
 *
 * What the load generators of the examples share.  The load is open: each thread
 * draws when its requests arrive, whether the ones before are answered or not,
 * and a latency runs from that time.  So a pause counts for all who came in it,
 * not only for the one request that met it.
 */
#ifndef LOAD_H
#define LOAD_H

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void sleep_until(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* Random numbers: splitmix64, one state a thread. */
static inline uint64_t rnd(uint64_t *s)
{
	uint64_t z = *s += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}
static inline double rnd_unit(uint64_t *s) { return (double)((rnd(s) >> 11) + 1) * 0x1p-53; } /* (0, 1] */
static inline double rnd_exp(uint64_t *s, double mean) { return -mean * log(rnd_unit(s)); }

struct load {
	unsigned threads;
	double rate;          /* requests a second, of all threads together */
	double seconds;       /* for so long, if requests is 0 */
	uint64_t requests;    /* of each thread */
	uint64_t seed;
	const char *latencies; /* file, ns, one a line; NULL: none */
	bool (*request)(unsigned thread, uint64_t number, uint64_t *random); /* false: failed, ends the thread */
};

/* What tarry-experiment(1) tells the program: the runs of one block get the same load. */
static inline void load_from_environment(struct load *l)
{
	const char *repetition = getenv("TARRY_EXPERIMENT_REPETITION");
	l->latencies = getenv("TARRY_EXPERIMENT_LATENCIES");
	l->seed = 1 + (repetition ? strtoull(repetition, NULL, 10) : 0);
}

struct load_result {
	uint64_t requests, failed;
	double seconds, mean, variance, p50, p99, max; /* latencies in ns */
};

struct load_thread {
	pthread_t thread;
	const struct load *load;
	unsigned number;
	uint64_t begin, random, count, room, failed;
	uint64_t *latencies;
};

static inline bool load_note(struct load_thread *t, uint64_t ns)
{
	if (t->count == t->room) {
		t->room = t->room ? 2 * t->room : 4096;
		uint64_t *more = realloc(t->latencies, t->room * sizeof *more);
		if (!more)
			return false;
		t->latencies = more;
	}
	t->latencies[t->count++] = ns;
	return true;
}

static inline void *load_thread_run(void *arg)
{
	struct load_thread *t = arg;
	const struct load *l = t->load;
	double gap = 1e9 * l->threads / l->rate, due = (double)t->begin;
	double end = l->requests ? INFINITY : due + l->seconds * 1e9;
	for (uint64_t i = 0; !l->requests || i < l->requests; i++) {
		due += rnd_exp(&t->random, gap);
		if (due >= end)
			break;
		sleep_until((uint64_t)due);
		if (!l->request(t->number, i, &t->random) || !load_note(t, now_ns() - (uint64_t)due)) {
			t->failed++;
			break;
		}
	}
	return NULL;
}

static inline int load_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static inline void load_sum_up(struct load_result *r, uint64_t *all)
{
	qsort(all, r->requests, sizeof *all, load_compare);
	for (uint64_t i = 0; i < r->requests; i++)
		r->mean += (double)all[i] / (double)r->requests;
	for (uint64_t i = 0; i < r->requests; i++)
		r->variance += ((double)all[i] - r->mean) * ((double)all[i] - r->mean) / (double)r->requests;
	/* the examples stand alone: not analyze/quantile.h, which takes one latency less where q * n is a whole number */
	r->p50 = (double)all[r->requests / 2];
	r->p99 = (double)all[r->requests * 99 / 100];
	r->max = (double)all[r->requests - 1];
}

static inline bool load_write(const char *path, const struct load_thread *t, unsigned threads)
{
	FILE *f = fopen(path, "w");
	if (!f)
		return false;
	for (unsigned i = 0; i < threads; i++)
		for (uint64_t k = 0; k < t[i].count; k++)
			fprintf(f, "%llu\n", (unsigned long long)t[i].latencies[k]);
	return fclose(f) == 0;
}

/* Runs the load; false: not everything could be done, with a line on stderr. */
static inline bool load_run(const struct load *l, struct load_result *r)
{
	struct load_thread *t = calloc(l->threads, sizeof *t);
	uint64_t begin = now_ns(), *all;
	bool good = t != NULL;
	unsigned started = 0;
	memset(r, 0, sizeof *r);
	for (; good && started < l->threads; started++) {
		t[started] = (struct load_thread){.load = l, .number = started, .begin = begin};
		t[started].random = l->seed * 1000003 + started;
		if (pthread_create(&t[started].thread, NULL, load_thread_run, &t[started]) != 0)
			good = false;
	}
	for (unsigned i = 0; i < started; i++) {
		pthread_join(t[i].thread, NULL);
		r->requests += t[i].count;
		r->failed += t[i].failed;
	}
	r->seconds = (double)(now_ns() - begin) / 1e9;
	good = good && r->failed == 0 && r->requests && (all = malloc(r->requests * sizeof *all));
	if (good) {
		uint64_t n = 0;
		for (unsigned i = 0; i < l->threads; n += t[i++].count)
			if (t[i].count)
				memcpy(all + n, t[i].latencies, t[i].count * sizeof *all);
		load_sum_up(r, all);
		free(all);
	} else {
		fprintf(stderr, "load: %llu requests failed, %llu done\n", (unsigned long long)r->failed,
			(unsigned long long)r->requests);
	}
	if (good && l->latencies && !load_write(l->latencies, t, l->threads)) {
		perror(l->latencies);
		good = false;
	}
	for (unsigned i = 0; i < started; i++)
		free(t[i].latencies);
	free(t);
	return good;
}

static inline void load_print(const struct load_result *r)
{
	printf("%llu requests, %.0f/s; mean %.3f ms, sd %.3f ms, p50 %.3f ms, p99 %.3f ms, max %.3f ms\n",
	       (unsigned long long)r->requests, (double)r->requests / r->seconds, r->mean / 1e6, sqrt(r->variance) / 1e6,
	       r->p50 / 1e6, r->p99 / 1e6, r->max / 1e6);
}

/* An option's argument; not a number in the range: says so and exits with 2. */
static inline double load_number(const char *program, const char *text, double low, double high)
{
	char *end;
	double v = strtod(text, &end);
	if (end == text || *end || !(v >= low && v <= high)) {
		fprintf(stderr, "%s: '%s' is not a number from %g to %g\n", program, text, low, high);
		exit(2);
	}
	return v;
}

#endif

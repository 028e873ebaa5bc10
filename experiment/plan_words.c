/* SPDX-License-Identifier: MIT
 *
 * Names of the plan's choices, lists of words, and the order of the runs.  Runs
 * in `tarry experiment`. */
#include "experiment/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const measured_names[] = {
	[TY_MEASURED_LATENCIES] = "latencies",
	[TY_MEASURED_REQUESTS] = "requests",
	[TY_MEASURED_TIME] = "time",
};
static const char *const metric_names[] = {
	[TY_X_MEAN] = "mean",	[TY_X_VARIANCE] = "variance", [TY_X_RMS] = "rms", [TY_X_P50] = "p50",
	[TY_X_P99] = "p99",	[TY_X_P999] = "p99.9",	      [TY_X_MAX] = "max", [TY_X_THROUGHPUT] = "throughput",
};
_Static_assert(sizeof metric_names / sizeof *metric_names == TY_X_COUNT, "each metric has a name");

const char *ty_measured_name(enum ty_measured m)
{
	return measured_names[m];
}

int ty_measured_find(const char *name, enum ty_measured *ret)
{
	for (unsigned i = 0; i <= TY_MEASURED_TIME; i++)
		if (strcmp(name, measured_names[i]) == 0) {
			*ret = (enum ty_measured)i;
			return 0;
		}
	return -EINVAL;
}

const char *ty_x_metric_name(enum ty_x_metric m, enum ty_measured measured)
{
	return measured == TY_MEASURED_TIME && m == TY_X_MEAN ? "time" : metric_names[m];
}

int ty_x_metric_find(const char *name, enum ty_x_metric *ret)
{
	for (unsigned i = 0; i < TY_X_COUNT; i++)
		if (strcmp(name, metric_names[i]) == 0) {
			*ret = (enum ty_x_metric)i;
			return 0;
		}
	return -EINVAL;
}

int ty_words_add(struct ty_words *w, const char *text)
{
	char **more = realloc(w->v, (w->n + 2) * sizeof *more);
	char *word = strdup(text);
	if (more)
		w->v = more;
	if (!more || !word) {
		free(word);
		return -ENOMEM;
	}
	w->v[w->n++] = word;
	w->v[w->n] = NULL;
	return 0;
}

void ty_words_free(struct ty_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i]);
	free(w->v);
	memset(w, 0, sizeof *w);
}

/* splitmix64: any seed is good, and it is the same on every machine */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

void ty_plan_order(const struct ty_plan *p, uint32_t *ret)
{
	uint64_t state = p->seed;
	size_t n = p->nvariants, rows = (size_t)p->warmup + p->repetitions;
	for (size_t row = 0; row < rows; row++) {
		uint32_t *block = ret + row * n;
		/* Counted from the first block that counts: whoever came first comes last in the next, so
		 * that a steady drift of the machine is nobody's effect. */
		bool reversed = row >= p->warmup && (row - p->warmup) % 2;
		for (uint32_t i = 0; i < n; i++)
			block[i] = reversed ? *(block - 1 - i) : i;
		for (size_t i = n; !reversed && i > 1; i--) {
			size_t other = next_random(&state) % i;
			uint32_t swap = block[i - 1];
			block[i - 1] = block[other];
			block[other] = swap;
		}
	}
}

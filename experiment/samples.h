/* SPDX-License-Identifier: MIT
 *
 * The raw samples: one row a run, in a file that explains itself.  Verdicts are
 * computed from this and nothing else, so that they can be computed again. */
#ifndef TY_SAMPLES_H
#define TY_SAMPLES_H

#include <stdio.h>
#include "experiment/plan.h"

#define TY_WHY_MAX 240u

struct ty_trial { /* one run */
	uint32_t repetition;      /* from 1; 0: warm-up, not counted */
	uint32_t warmup;          /* then its number, from 1; not in the file */
	uint32_t variant, order;  /* order: its place in the block, from 1 */
	uint64_t start;           /* CLOCK_REALTIME ns */
	uint64_t count;           /* latencies */
	double value[TY_X_COUNT]; /* NAN: there is none */
	double l2, wall;          /* ns; s of the load, or of the command */
	double load_before, load_after;
	int program, load;        /* exit statuses as a shell has them; -1: none */
	char why[TY_WHY_MAX];     /* "": it counts; else why the run failed */
};

struct ty_samples {
	const char *path;
	char **variant; /* [nvariants] owned */
	size_t nvariants, base;
	enum ty_measured measured;
	uint32_t judged, repetitions, warmup;
	uint64_t seed;
	struct ty_trial *v;
	size_t n, cap;
	struct ty_words about; /* "key: value", in the file's order */
	char end[TY_WHY_MAX];  /* "complete", or what is missing */
};

int ty_samples_from(struct ty_samples *s, const struct ty_plan *p); /* 0 or -ENOMEM */
int ty_samples_add(struct ty_samples *s, const struct ty_trial *t);
void ty_samples_free(struct ty_samples *s);
bool ty_samples_complete(const struct ty_samples *s);
size_t ty_samples_failed(const struct ty_samples *s); /* runs */

/* "key: value" into s->about; control characters become '?'.  0 or -ENOMEM. */
int ty_samples_about(struct ty_samples *s, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Each flushes, so that what was measured outlives us; 0 or negative errno. */
int ty_samples_begin(FILE *f, const struct ty_samples *s, const char *plan_text);
int ty_samples_row(FILE *f, const struct ty_samples *s, const struct ty_trial *t);
int ty_samples_end(FILE *f, const struct ty_samples *s);

/* Reads such a file.  Error: "FILE:LINE: what", -EINVAL, or errno of the open. */
int ty_samples_read(struct ty_samples *s, const char *path, char *err);

#endif

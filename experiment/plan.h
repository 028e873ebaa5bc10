/* SPDX-License-Identifier: MIT
 *
 * The experiment file, read: what varies, how one run goes, how many there are.
 * One row per key in plan.c and plan_variants.c; docs/man/tarry-experiment.1 documents each. */
#ifndef TY_PLAN_H
#define TY_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/store.h" /* TY_ERR_MAX */

struct ty_words { /* v: n strings, then NULL; all owned */
	char **v;
	size_t n;
};

/* One thing that is compared.  What a variant changes stands here and nowhere else. */
struct ty_variant {
	char *name;
	struct ty_words env;       /* NAME=VALUE, for the program only */
	struct ty_words arguments; /* after the command's own */
	struct ty_words command;   /* instead of the common one; empty: that one */
	char *config;              /* run under `tarry record` with this file; NULL: native */
};

enum ty_measured { TY_MEASURED_LATENCIES, TY_MEASURED_REQUESTS, TY_MEASURED_TIME };

/* Metrics of a run; TY_X_MEAN is the time itself if time is measured. */
enum ty_x_metric {
	TY_X_MEAN,
	TY_X_VARIANCE,
	TY_X_RMS,
	TY_X_P50,
	TY_X_P99,
	TY_X_P999,
	TY_X_MAX,
	TY_X_THROUGHPUT,
	TY_X_COUNT
};

struct ty_plan {
	struct ty_variant *variant;
	size_t nvariants, base;
	char *load, *ready, *setup, *cleanup; /* for sh -c; NULL: none */
	uint64_t ready_timeout, load_timeout, stop_timeout; /* ns; load_timeout 0: none */
	int stop;                             /* signal */
	uint32_t repetitions, warmup;
	enum ty_measured measured;
	uint32_t judged; /* bit per metric */
	uint64_t seed;
	bool seeded;     /* the file says the seed */
};

#define TY_PLAN_VARIANTS_MAX 32u
#define TY_PLAN_NAME_MAX 40u
#define TY_PLAN_REPETITIONS_MAX 10000u

/* Reads text, the file at path.  Error: "FILE:LINE:COLUMN: what", -EINVAL. */
int ty_plan_parse(struct ty_plan *p, const char *path, const char *text, size_t len, char *err);
void ty_plan_free(struct ty_plan *p);
/* The i-th key of the file (in_variant: of a variant), NULL after the last. */
const char *ty_plan_key(size_t i, bool in_variant);

const char *ty_measured_name(enum ty_measured m);
const char *ty_x_metric_name(enum ty_x_metric m, enum ty_measured measured);
/* -EINVAL: none is called so. */
int ty_measured_find(const char *name, enum ty_measured *ret);
int ty_x_metric_find(const char *name, enum ty_x_metric *ret);
/* Letters, digits, '.', '_', '-'. */
bool ty_plan_name_good(const char *name);

/* 0 or -ENOMEM */
int ty_words_add(struct ty_words *w, const char *text);
void ty_words_free(struct ty_words *w);

/* The variants of each block: ret has warmup + repetitions rows of nvariants.  Rows come
 * in twos, a random order and its reverse. */
void ty_plan_order(const struct ty_plan *p, uint32_t *ret);

#endif

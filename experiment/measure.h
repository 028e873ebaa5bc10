/* SPDX-License-Identifier: MIT
 *
 * The latencies of one run, as they come: exact sums, and a sketch for the
 * quantiles, so that memory does not grow with their number. */
#ifndef TY_MEASURE_H
#define TY_MEASURE_H

#include "analyze/sketch.h"
#include "common/store.h" /* TY_ERR_MAX */
#include "experiment/plan.h"

struct ty_latencies {
	uint64_t n, first, max;
	long double sum, squares; /* of the difference to the first one */
	long double own_squares;
	struct ty_sketch sketch;
};

int ty_latencies_add(struct ty_latencies *l, uint64_t ns); /* 0 or -ENOMEM */
void ty_latencies_free(struct ty_latencies *l);
/* Fills all but TY_X_THROUGHPUT, and the L2 norm. */
void ty_latencies_values(const struct ty_latencies *l, double value[TY_X_COUNT], double *l2);

/* A latency a line, nanoseconds or a number with ns, us, ms or s.  Error: what is wrong, and where. */
int ty_latencies_read(struct ty_latencies *l, const char *path, char *err);
/* The requests of a recording. */
int ty_latencies_requests(struct ty_latencies *l, const char *store, char *err);
/* One latency in text[0, len); 0 or -EINVAL. */
int ty_latency_parse(const char *text, size_t len, uint64_t *ns);

#endif

/* SPDX-License-Identifier: MIT
 *
 * What distinguishes the slowest requests: they wait at other sites, more
 * often at the same ones, or longer each time.  tail_rows.c watches requests
 * while they are cut, tail_sums.c adds up, tail_waker.c looks at the slowest
 * ones again, tail_text.c and tail_json.c print.  docs/ARITHMETIC.md has the
 * formulae. */
#ifndef TY_TAIL_H
#define TY_TAIL_H

#include "analyze/cut.h"

#define TY_REPEATS 9 /* waits in one request: 0, 1, 2, 3-4, 5-8, 9-16, 17-32, 33-64, more */

enum ty_cause { TY_CAUSE_OTHER_SITE, TY_CAUSE_MORE, TY_CAUSE_LONGER };

struct ty_tail_site {
	uint64_t repeat[2][TY_REPEATS]; /* requests by waits here; [1]: in the tail */
	double n, n_tail;    /* waits a request: of all, in the tail */
	double t, t_tail;    /* ns a request */
	bool other;          /* hardly waited at outside the tail */
	double share, se;    /* of the excess: all causes here */
	double more, more_se, longer, longer_se; /* add up to share */
	double r2_count, r2_time; /* Pearson's r^2 with latency over all requests; NAN: does not vary */
};

struct ty_cause_row { uint32_t site; enum ty_cause cause; double share, se; };

/* A wait of a slow request. */
struct ty_slow_wait {
	struct ty_part part;
	uint64_t object;      /* of the wait; the event's */
	uint32_t event_path;
	uint16_t flags;
	bool found;           /* its event was */
	/* the last wake of that object before its end; TY_NONE: none is known */
	uint32_t waker, waker_path;
	uint64_t waker_at;
};

struct ty_slow {
	uint64_t begin, end;
	uint64_t latency;          /* less than end - begin: there was think time */
	uint32_t thread, cls;
	struct ty_slow_wait *wait; /* in order */
	size_t waits;
	uint64_t summed, summed_ns; /* earlier waits that were not kept one by one */
};

struct ty_tail {
	struct run *r;
	double q;
	uint32_t k;              /* slowest requests wanted */
	/* by tail_rows.c */
	struct ty_ledger counts; /* waits by site, a row for each of r->rows */
	uint32_t *count;         /* [count_cap] by site, of the request in hand */
	uint32_t *touched;
	uint64_t *scratch;
	size_t count_cap, touched_cap, scratch_cap;
	struct ty_slow *slow;    /* [nslow] slowest first */
	size_t nslow, slow_cap;
	int error;
	/* by tail_sums.c */
	uint64_t n, n_tail, from; /* from: the latency where the tail begins */
	double mean, mean_tail, excess;
	bool valid;              /* the tail is slower than the mean */
	uint32_t blocks;
	struct ty_tail_site *site; /* [sites.n] */
	struct ty_tail_site running;
	struct ty_cause_row *cause; /* largest first */
	size_t causes;
	double sum;              /* of all causes and running: 1 */
};

/* Has r's requests watched; to be called before they are cut, t must stay. */
void ty_tail_watch(struct ty_tail *t, struct run *r);
int ty_tail_sums(struct ty_tail *t, char *err);
int ty_tail_wakers(struct ty_tail *t, char *err);
void ty_tail_free(struct ty_tail *t);
unsigned ty_repeat(uint64_t n);
const char *ty_repeat_name(unsigned i);

/* tail_label.c: names of the sites of the first `top` causes and of the slowest requests */
struct ty_tail_labels;
int ty_tail_labels_make(struct ty_tail_labels **ret, const struct ty_tail *t, size_t top);
void ty_tail_labels_free(struct ty_tail_labels *a);
/* "pay .. lock_row: pthread_cond_wait  on FILE", at most width columns */
const char *ty_tail_label(const struct ty_tail_labels *a, uint32_t site, unsigned width, char buf[1024]);

int ty_tail_text(const struct ty_tail *t, size_t top, char *err);
int ty_tail_json(const struct ty_tail *t, char *err);

#endif

/* SPDX-License-Identifier: MIT
 *
 * The order service of the examples: what its parts share.
 *   main.c     options and processes
 *   load.c     the clients (a process of their own)
 *   service.c  connections and the way of one order
 *   shop.c     everything an order can wait for, each kind in its own function
 *   truth.c    what the program knows about its own waits
 */
#ifndef ORDERS_H
#define ORDERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define ITEMS 24
#define ROWS 32
#define LINE_MAX_BYTES 128
#define CONNECTIONS_MAX 512

/* Kinds of wait.  Each is the name of exactly one function, and these functions
 * never call each other, so a wait belongs to the one kind whose name stands in
 * its call path. */
#define WAIT_KINDS(X)        \
	X(price_lookup)      \
	X(price_update)      \
	X(lock_row)          \
	X(unlock_row)        \
	X(stock_wait)        \
	X(payment_slot)      \
	X(payment_call)      \
	X(wal_append)        \
	X(wal_flush)         \
	X(reply_send)

enum wait_kind {
#define X(name) W_##name,
	WAIT_KINDS(X)
#undef X
	W_COUNT
};

static inline uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- truth.c ---- */
struct truth; /* moments of the requests of one connection */
struct truth *truth_new(void);
/* Adds what b saw to a and frees b. */
void truth_merge(struct truth *a, struct truth *b);
void truth_request_begin(void);          /* the request line has arrived */
void truth_request_end(struct truth *t); /* the reply is out */
void truth_waited(enum wait_kind kind, uint64_t ns);

/* Runs a call that may block and books the time the caller spent in it. */
#define WAITED(kind, call)                              \
	({                                              \
		uint64_t from_ = now_ns();              \
		__typeof__(call) ret_ = (call);         \
		truth_waited(kind, now_ns() - from_);   \
		ret_;                                   \
	})

/* ---- random numbers: xorshift64*, one state per thread ---- */
static inline uint64_t rnd(uint64_t *s)
{
	*s ^= *s >> 12;
	*s ^= *s << 25;
	*s ^= *s >> 27;
	return *s * 0x2545f4914f6cdd1dULL;
}
static inline double rnd_unit(uint64_t *s) { return (double)((rnd(s) >> 11) + 1) * 0x1p-53; } /* (0, 1] */
uint64_t rnd_seed(uint64_t seed, uint64_t stream); /* never 0 */
uint64_t rnd_exp_ns(uint64_t *s, double mean_ns, double max_ns);

/* ---- shop.c: the waits ---- */
struct order {
	unsigned item, row, quantity;
};
int shop_open(const char *dir, uint64_t seed, unsigned slots); /* 0 or -1 with errno */
void shop_close(void);
unsigned price_lookup(unsigned item);
void price_update(unsigned item, uint64_t *random);
void lock_row(unsigned row);
void unlock_row(unsigned row);
void stock_wait(unsigned item, unsigned quantity);
void payment_slot(void);
void payment_call(uint64_t *random);
void payment_done(void);
uint64_t wal_append(const struct order *o, unsigned price); /* returns the position to flush up to */
void wal_flush(uint64_t position);

/* ---- service.c ---- */
/* Serves connections from the listening socket until `connections` have come
 * and gone (0: until *stop).  Returns the merged truth, NULL on failure. */
struct truth *service_run(int listener, unsigned connections, uint64_t seed, const volatile int *stop);

/* ---- load.c ---- */
#define HIST_SUB 32
#define HIST_SIZE (64 * HIST_SUB)
struct load_result { /* lives in memory shared by both processes */
	uint64_t requests, errors;
	uint64_t elapsed_ns, sum_ns, max_ns;
	uint64_t hist[HIST_SIZE]; /* latency in ns, 1/32 of a power of two wide */
};
struct load_plan {
	unsigned port, connections;
	double seconds;
	uint64_t requests; /* per connection; 0: until the time is over */
	uint64_t seed;
	const char *latencies; /* file for each latency in ns, one a line; NULL: none */
};
int load_run(const struct load_plan *plan, struct load_result *r); /* 0 or -1 */
/* Of the histogram, in ns.  Not analyze/quantile.h: what tarry's figures are compared with must not come from tarry. */
uint64_t load_quantile(const struct load_result *r, double q);

/* The JSON that --truth writes; t may be NULL (clients only), r too (service only). */
int truth_write(FILE *f, const struct truth *t, const struct load_result *r);
void truth_summary(FILE *f, const struct truth *t);

#endif

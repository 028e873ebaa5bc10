/* SPDX-License-Identifier: MIT
 * One `tarry export`: options, the way through the events, and what the
 * formats share.  export.c has the list of formats. */
#ifndef TY_EXPORT_H
#define TY_EXPORT_H

#include <stdio.h>

#include "analyze/cut.h"
#include "analyze/names.h"

enum ty_what { TY_WHAT_EVENTS, TY_WHAT_SITES, TY_WHAT_REQUESTS };

struct export {
	struct run run;
	bool waits;       /* folded: weigh by number of waits instead of time */
	bool in_requests; /* folded: only time inside requests */
	enum ty_what what; /* csv */
	FILE *out;
};

/* A walk over all events in order of end. */
struct ty_walk {
	/* every event of the window and the chosen threads */
	int (*event)(void *arg, const struct ty_ev *e);
	/* NULL, or every request of the window, when it is complete */
	void (*request)(void *arg, const struct ty_req *q);
	void *arg;
};
/* 0, also when nobody reads our output any more; else negative errno. */
int ty_export_walk(struct export *x, const struct ty_walk *w, char *err);
bool ty_export_counted(const struct export *x, uint32_t thread);
/* A wait's part inside the window. */
uint64_t ty_export_ns(const struct export *x, const struct ty_ev *e);

/* ---- formats ---- */
int ty_export_folded(struct export *x, char *err);
int ty_export_pprof(struct export *x, char *err);
int ty_export_chrome(struct export *x, char *err);
int ty_export_csv(struct export *x, char *err);

/* ---- sums of waits by path, operation, thread and class (export_sums.c) ---- */
struct ty_sum_key {
	uint32_t path;   /* one of the paths with the same frames; TY_NONE: not taken, or no wait */
	uint32_t op;     /* TY_NONE: held up */
	uint32_t thread; /* TY_NONE: of any */
	uint32_t cls;    /* label of the request's class; TY_NONE: none */
	uint32_t inside; /* a request */
};
struct ty_sum { struct ty_sum_key key; uint64_t waits, ns; };
#define TY_SUMS_PENDING 16
struct ty_sums {
	struct ty_sum *v; /* all of them after ty_sums_settle */
	size_t n, cap;
	uint64_t *slot; /* open addressing: index + 1, and above it half of the hash, which spares a look at v */
	size_t slots;
	/* What came last: its memory is asked for, and looked at when it is there. */
	struct ty_sum_pending { struct ty_sum sum; uint64_t hash; } pending[TY_SUMS_PENDING];
	size_t npending;
};
int ty_sums_settle(struct ty_sums *s); /* -ENOMEM */
int ty_sums_add(struct ty_sums *s, const struct ty_sum_key *key, uint64_t waits, uint64_t ns);
const struct ty_sum *ty_sums_find(const struct ty_sums *s, const struct ty_sum_key *key);
void ty_sums_free(struct ty_sums *s);

/* The paths that waits are summed under: the first of those with the same
 * frames; TY_NONE for one that was not taken.  [npaths + 1]; NULL: no memory. */
uint32_t *ty_export_canonical(const struct run *r);

/* ---- text ---- */
/* "root;...;leaf" and, unless op is NULL, ";op": malloc'ed.  Frames have no ';' and no line end. */
char *ty_export_stack(const struct run *r, uint32_t path, const char *op);
/* What is said instead of, or above, a path that is not whole; NULL: it is whole. */
const char *ty_export_doubt(const struct run *r, uint32_t path);
const char *ty_export_op(const struct run *r, uint32_t op);

/* ---- dense numbers for byte strings ---- */
struct ty_intern {
	struct ty_bytes { void *p; uint32_t len; } *v;
	size_t n, cap;
	uint32_t *slot;
	size_t slots;
};
/* Number of the string, < 0: errno; *fresh: it is new. */
int64_t ty_intern(struct ty_intern *t, const void *p, size_t len, bool *fresh);
void ty_intern_free(struct ty_intern *t);

/* ---- wakes that wait for the wait they ended (export_arrows.c) ---- */
struct ty_arrow {
	uint64_t when, object;
	uint32_t space;  /* tells equal addresses apart: process, or one for all that is shared */
	uint32_t thread;
	uint32_t left;   /* waits it may still end */
};
struct ty_arrows;
struct ty_arrows *ty_arrows_new(void);
void ty_arrows_free(struct ty_arrows *w);
int ty_arrows_add(struct ty_arrows *w, const struct ty_arrow *k);
/* The wake that ended a wait, which is not offered again unless it may end more;
 * false: none.  Waits come in order of end.
 * newest: of a lock, whose last release before the end let the waiter in. */
bool ty_arrows_match(struct ty_arrows *w, const struct ty_ev *e, uint32_t space, bool newest,
		     struct ty_arrow *ret);

#endif

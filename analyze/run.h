/* SPDX-License-Identifier: MIT
 *
 * One report: options, what was read, what each pass found.  A pass is
 * int ty_pass_x(struct run *, char *err): it reads fields that earlier passes
 * filled, fills its own, prints nothing, has no globals; 0 or negative errno.
 * Each command lists its passes in its own file: report.c, tree.c, ... */
#ifndef TY_RUN_H
#define TY_RUN_H

#include "analyze/ledger.h"
#include "analyze/sites.h"
#include "analyze/vec.h"
#include "analyze/where.h"
#include "common/err.h"
#include "common/store.h"
#include "tarry/arena.h"

enum ty_rule { TY_RULE_AUTO, TY_RULE_SOCKET, TY_RULE_MARKER, TY_RULE_SITE, TY_RULE_NONE, TY_RULE_TRANSACTION };

/* Does the rule follow connections? */
static inline bool ty_rule_connections(enum ty_rule rule)
{
	return rule == TY_RULE_AUTO || rule == TY_RULE_SOCKET || rule == TY_RULE_TRANSACTION;
}

struct ty_options {
	const char *store;
	bool json;
	enum ty_by by;
	const char *from, *to;   /* as given; NULL: all */
	uint32_t top;            /* sites listed; 0: 10 in text, all in JSON */
	double tail;             /* quantile, 0..1 */
	uint32_t process, thread; /* pid, tid; 0: all */
	const char *path;        /* list only sites whose path contains this */
	const char *requests;    /* rule as given, NULL: the recorded configuration's, else auto */
	const char *where;       /* which requests (where.h), NULL: all */
};

/* What the store says beside events; tests fill it from arrays. */
struct ty_tables {
	const struct ty_op_info *ops;
	const struct ty_process *processes;
	const struct ty_thread_info *threads;
	const struct ty_module_info *modules;
	const struct ty_path *paths;
	const struct ty_descriptor *fds; /* by process, fd, from */
	size_t nops, nprocesses, nthreads, nmodules, npaths, nfds;
};

/* Names behind paths (names.c). */
struct ty_names {
	uint32_t *group;     /* [npaths] what the path is booked under: a canonical path, or a function */
	size_t ngroups;
	uint8_t *kind;       /* [npaths] enum ty_path_kind */
	bool *match, *match_op; /* [npaths] [nops] the text of rule site: occurs in it */
	uint32_t *fd;        /* by object: [nfds] first descriptor of the same name */
	char **function;     /* by function: [ngroups] */
};

/* What the cut counted (requests.c, socket.c, marker.c). */
struct ty_cut_counts {
	uint64_t events, unfinished, overlap, overlap_ns, negative, late, unknown_thread;
	uint64_t accepted, inherited; /* connections */
	uint64_t begun;               /* requests of any outcome */
	uint64_t left_out;            /* by --where */
	/* of all finished ones that were read, whatever the window and the filters */
	uint64_t finished, earliest, latest, fastest, slowest;
	uint64_t statements, think_ns; /* of transactions: their parts, and the time between those */
	uint64_t open_waits, open_ns; /* in progress at the end */
	uint64_t first, last;         /* ends of the first and last event */
};
struct ty_op_total { uint64_t waits, total, open, open_ns; };


/* Time of sampled threads that no recorded wait covers, and what covers the rest (cover.c). */
struct ty_unseen { uint64_t threads, wall, cpu, runq, waits, unseen; };
/* Waits by what is known of their path. */
enum ty_path_kind { TY_PATH_COMPLETE, TY_PATH_CUT, TY_PATH_LEAF, TY_PATH_MISS, TY_PATH_NOT_TAKEN, TY_PATH_KINDS };

struct ty_share { double share, se, tail, mean; }; /* mean: ns a request */
struct ty_class_stat {
	uint32_t label;    /* TY_NONE: those without a class */
	uint64_t count, p99;
	double mean, var;
	double time;       /* part of all requests' time */
};

/* Filled by variance.c. */
struct ty_result {
	bool valid;          /* there are requests, and their latency varies */
	uint64_t n, p50, p95, p99, p999, max, tail_at, tail_n;
	double mean, var, l2;
	uint32_t blocks;     /* of the jackknife; 0: too few requests for standard errors */
	struct ty_share *site; /* [sites.n] */
	struct ty_share running;
	double sum;          /* of all shares and running */
	struct ty_class_stat *cls; /* most time first */
	size_t ncls;         /* 0: no request has a class */
	double var_between, var_within; /* var is their sum */
};

struct ty_req;
struct ty_ev;

/* What looks at the same events as the cut, so that they are read and unpacked once. */
struct ty_also {
	/* Before the first event of each cut, of which there may be two (ty_pass_cut); whole: they come from the start of
	 * the recording whatever the window. */
	int (*begin)(void *arg, bool whole, char *err);
	int (*events)(void *arg, const struct ty_ev *ev, size_t n, char *err);
	void *arg;
};

struct run {
	struct ty_options opt;
	enum ty_rule rule;      /* in force; AUTO until the cut has decided */
	bool found_none;        /* NONE because AUTO saw nothing, not because somebody said so */
	char *rule_text;        /* TEXT of site:TEXT, owned */
	struct ty_store *store; /* NULL in tests */
	uint64_t from, to;      /* CLOCK_MONOTONIC ns */
	uint64_t start;         /* of the recording */
	struct ty_tables t;
	struct ty_names names;
	struct ty_live *live;   /* NULL: the store's own symbols are all there is */
	struct ty_where *where; /* NULL: all requests */
	struct ty_sites sites;
	struct ty_ledger rows;
	struct ty_cut_counts counts;
	struct ty_op_total *ops; /* [nops + 1] */
	uint64_t stragglers;
	struct ty_unseen unseen;
	uint64_t cover[TY_PATH_KINDS]; /* waits in the window */
	struct ty_result res;
	/* as rows and res, of held-up requests behind the waits of others (behind.c); no rows: nothing was held up */
	bool want_behind;
	struct ty_ledger behind_rows;
	struct ty_result behind;
	uint32_t *rank;         /* sites in the order of the report */
	size_t nrank;
	void (*progress)(void *arg, double done);
	void *progress_arg;
	/* every counted request when it is complete (cut.h), NULL: nobody asks */
	void (*request)(void *arg, const struct ty_req *q);
	void *request_arg;
	struct ty_also also; /* NULL in it: nobody looks */
};

/* r->t from r->store, as it was last refreshed; it stays the store's memory. */
void ty_tables_take(struct run *r);
/* When the recording ended, or its last event so far, after the cut. */
uint64_t ty_run_end(const struct run *r);

int ty_pass_load(struct run *r, char *err);
int ty_pass_names(struct run *r, char *err);
int ty_pass_cut(struct run *r, char *err);
int ty_pass_left(struct run *r, char *err); /* -ENODATA: a window or a filter left no request */
int ty_none_left(const struct run *r, char *err); /* says so; -ENODATA */
int ty_pass_variance(struct run *r, char *err);
int ty_pass_behind(struct run *r, char *err);
/* Sites that requests were held up behind, largest share of either sign first, at most `most`; returns how many. */
size_t ty_behind_rank(const struct run *r, uint32_t *site, size_t most);
int ty_pass_cover(struct run *r, char *err);
int ty_pass_rank(struct run *r, char *err);
int ty_report_text(struct run *r, char *err);
int ty_report_json(struct run *r, char *err);
void ty_run_free(struct run *r);

/* Is the object of this class a descriptor? */
static inline bool ty_class_has_fd(unsigned cls)
{
	return 1ull << cls & (1ull << TY_CLASS_SYNC | 1ull << TY_CLASS_READ | 1ull << TY_CLASS_WRITE |
			      1ull << TY_CLASS_RECV | 1ull << TY_CLASS_SEND | 1ull << TY_CLASS_COPY |
			      1ull << TY_CLASS_ACCEPT | 1ull << TY_CLASS_CONNECT | 1ull << TY_CLASS_CLOSE |
			      1ull << TY_CLASS_DUP | 1ull << TY_CLASS_POLL | 1ull << TY_CLASS_FLOCK);
}
/* Does rule socket look at this class? */
static inline bool ty_class_socket(unsigned cls)
{
	return 1ull << cls & (1ull << TY_CLASS_READ | 1ull << TY_CLASS_WRITE | 1ull << TY_CLASS_RECV |
			      1ull << TY_CLASS_SEND | 1ull << TY_CLASS_COPY | 1ull << TY_CLASS_ACCEPT |
			      1ull << TY_CLASS_CONNECT | 1ull << TY_CLASS_CLOSE | 1ull << TY_CLASS_DUP);
}
/* What descriptor `fd` meant at a time; NULL: not known. */
const struct ty_descriptor *ty_descriptor_at(const struct ty_tables *t, uint32_t process, uint64_t fd, uint64_t when);

const char *ty_rule_name(enum ty_rule rule);
/* "2.5s", "300ms", "2" from `start` on; a whole number of at least 1e9: CLOCK_MONOTONIC ns.  -EINVAL. */
int ty_time_parse(const char *text, uint64_t start, uint64_t *ret);

/* Over requests already in r->rows; separate from the pass for tests. */
int ty_variance(struct ty_ledger *rows, size_t nsites, double tail, struct ty_result *res);
/* With each site counted as map[site]: all sums are linear in the times of sites. */
int ty_variance_as(struct ty_ledger *rows, const uint32_t *map, size_t nsites, double tail, struct ty_result *res);
int ty_classes(const struct ty_ledger *rows, struct ty_result *res); /* a part of it: res->mean is there */
void ty_result_free(struct ty_result *res);

#endif

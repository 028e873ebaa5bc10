/* SPDX-License-Identifier: MIT
 * One `tarry top`: what is known of a recording in progress at one moment.
 *   top.c          options, finding the recording, plain frames
 *   top_live.c     threads and the waits they are in, from the arena
 *   top_recent.c   requests and sites of the last seconds, from the store
 *   top_text.c     a frame as lines
 *   top_screen.c   a frame on a terminal, and keys */
#ifndef TY_TOP_H
#define TY_TOP_H

#include "analyze/cut.h"
#include "analyze/export.h" /* ty_sums */
#include "analyze/names.h"
#include "tarry/arena.h"

enum ty_top_sort { TY_SORT_WAIT, TY_SORT_OPERATION, TY_SORT_NAME, TY_SORT_ID, TY_SORTS };

/* A thread now. */
struct ty_top_thread {
	uint32_t pid, tid;
	uint32_t thread;   /* of the store, TY_NONE: not there yet */
	uint32_t op;       /* TY_NONE: in no recorded wait */
	uint64_t waiting;  /* for so many ns */
	uint64_t begin;
	uint64_t object, path; /* as the thread published them */
	char name[16];
	char variable[96]; /* the object, if it is a static variable and is known; else "" */
	char where[96];    /* "" not known; "~f": f waited last for the same object by the same operation */
};

/* Waits of the last seconds at one place. */
struct ty_top_site { const char *function, *operation; uint64_t waits, ns, max; };

struct ty_top_figures {
	uint64_t window;   /* ns that the following are about */
	uint64_t events, requests, p50, p99, max;
	uint64_t lost;     /* events, since the start */
};

struct ty_top {
	struct run run;
	uint64_t window;   /* as asked for */
	bool ended;        /* the recording is over */
	bool enabled;      /* recording is switched on */
	bool ordered;      /* waiters are granted in an order, or flushes by a policy, now */
	enum ty_top_sort sort;
	struct ty_arena *arena;
	size_t mapped;     /* bytes of it */
	/* threads */
	struct ty_top_thread *thread;
	size_t threads, threads_cap, waiting, processes;
	uint64_t *by_id;   /* [run.t.nthreads] sorted: pid << 32 | tid */
	uint32_t *by_id_thread;
	size_t by_id_n;
	/* the last seconds */
	struct ty_top_figures fig;
	struct ty_top_site *site;
	size_t sites, sites_cap;
	struct ty_sums sums;    /* by path and operation */
	uint64_t *longest;      /* beside sums.v */
	size_t longest_cap;
	struct ty_top_last { uint64_t object; uint32_t op, path; } *last; /* [run.t.nthreads] */
	size_t last_cap;
	struct ty_cut cut;
	bool cutting;
	uint64_t fed;           /* events up to here went into the cut */
	struct ty_top_request { uint64_t end, latency; } *req;
	size_t reqs, reqs_cap;
	/* names, kept while paths and modules are added */
	char **name;            /* [paths] NULL: not asked yet */
	size_t names_cap;
	struct ty_module_info *module;
	size_t modules;
	struct ty_top_pc { uint64_t image, pc; char text[96]; } *pc, *var; /* code, and what is waited for */
	size_t pcs, pcs_cap, vars, vars_cap, asked;
};

/* Everything anew; t->ended when the recording is over.  0 or negative errno. */
int ty_top_refresh(struct ty_top *t, char *err);

/* top_live.c */
int ty_top_attach(struct ty_top *t, char *err);
int ty_top_threads(struct ty_top *t);
void ty_top_sort(struct ty_top *t);
/* The only recording that runs here, or -ENOENT, -E2BIG with what to do in err. */
int ty_top_find(char *store, size_t size, char *err);
/* top_recent.c */
int ty_top_tables(struct ty_top *t, char *err); /* the tables of the store have been read (again) */
int ty_top_recent(struct ty_top *t, char *err);
const char *ty_top_path_name(struct ty_top *t, uint32_t path);
void ty_top_recent_free(struct ty_top *t);
/* top_where.c */
const char *ty_top_pc_name(struct ty_top *t, uint32_t pid, uint64_t image, uint64_t pc);
/* The static variable at an address; "": it is none, or it is not known yet. */
const char *ty_top_variable(struct ty_top *t, uint32_t pid, uint64_t image, uint64_t object);

/* top_text.c: lines without line ends; threads are lines[head ... head + threads) */
struct ty_top_lines {
	char **v;
	size_t n, cap;
	size_t head;    /* lines above the first thread */
	size_t threads; /* lines of threads */
};
int ty_top_lines(const struct ty_top *t, unsigned width, size_t sites, struct ty_top_lines *l);
void ty_top_lines_free(struct ty_top_lines *l);

/* top_screen.c: returns when the user or the recording ends it */
int ty_top_screen(struct ty_top *t, double *delay, uint64_t frames, char *err);

#endif

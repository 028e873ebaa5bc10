/* SPDX-License-Identifier: MIT
 *
 * Cutting a stream of events into requests.  requests.c knows what a request
 * is and who carries it, request_row.c what it leaves behind;
 * socket.c and marker.c are rules that open, touch, answer and close requests.
 * All are driven by ty_cut_events().
 *
 * At any instant an open request is in exactly one state:
 *   carried  by one thread, whose waits are the request's
 *   held up  its thread carries another one, or (marker, paused) no thread does
 * and a thread carries at most one: the one it last touched. */
#ifndef TY_CUT_H
#define TY_CUT_H

#include "analyze/run.h"

/* time of one request at one site; thread: whose wait it was, TY_NONE for "held up" */
struct ty_part { uint64_t begin, end; uint32_t site, thread; };
struct ty_fold { uint64_t ns; uint32_t site, waits; };

struct ty_req {
	uint64_t begin, last;   /* last: end of the last send so far, valid when answered */
	uint64_t since;         /* in the present state since */
	uint32_t carrier;       /* thread, TY_NONE: none */
	uint32_t thread;        /* the last one that carried it */
	uint32_t cls;           /* label */
	uint32_t next_cls;      /* that of a request whose receive may yet turn out to be the next one's */
	uint64_t next_at;
	struct ty_txn *txn;     /* what it is a statement of */
	uint64_t think;         /* of a transaction: between its statements, no part of its latency */
	uint32_t pins;          /* threads whose wait in progress may still belong to it */
	bool answered, closed, held;
	bool counted;           /* closed, and passes the window and the filters */
	struct ty_req *prev, *next; /* on its carrier, last touched first; next: also the free list */
	struct ty_req **owner;  /* set to NULL when it closes */
	/* parts [0, firm) are inside the request for sure, the others if another send follows */
	struct ty_part *part;
	size_t n, firm, cap;
	/* times of parts that were too many to keep, summed by site */
	struct ty_fold *fold;
	size_t nfold, fold_cap;
	/* ends of receives after the first one, while there was no send */
	uint64_t again[4];
	uint32_t nagain, again_thread;
	struct ty_req *all_prev, *all_next;
	uint32_t held_by;       /* thread that works on another one, TY_NONE: none */
	struct ty_part *behind; /* that thread's waits meanwhile (behind.c) */
	size_t nbehind, behind_cap;
};

static inline uint64_t ty_req_latency(const struct ty_req *q)
{
	return q->last - q->begin - q->think;
}

/* A request that left this thread at `to` while the thread may have been waiting. */
struct ty_pend { struct ty_req *req; uint64_t from, to; };

struct ty_carrier {
	struct ty_req *head;  /* carried; those behind it are held up */
	uint64_t last;        /* end of the thread's last event */
	struct ty_pend *pend;
	size_t npend, pend_cap;
	struct ty_req *own;   /* rule site: */
	struct ty_recent *recent; /* its latest waits while it held requests up (behind.c); NULL: none */
	uint32_t process;
	bool counted;         /* passes --process and --thread */
};

struct ty_cut {
	struct run *r;
	struct ty_carrier *th; /* [nthreads] */
	struct ty_req *free, *all;
	uint64_t now;          /* end of the event in hand */
	/* scratch of one row */
	uint64_t *x;
	uint32_t *touched;
	uint64_t *xs;
	size_t x_cap, touched_cap, xs_cap;
	struct ty_socket *socket; /* rule socket */
	struct ty_marks *marks;   /* rule marker */
	bool saw_mark;            /* rule auto: a marker came, cut again with that rule */
	/* what the wait in hand is made of, in order, without gaps (blame); none: it is one part of its site */
	const struct ty_part *seg;
	size_t nseg;
	bool times_only;          /* only the rows of requests are asked for, no statistics of waits by site */
	int error;                /* first failure (no memory) */
};

int ty_cut_init(struct ty_cut *c, struct run *r);
/* Consumes events in order of end.  0, or negative errno. */
int ty_cut_events(struct ty_cut *c, const struct ty_ev *ev, size_t n);
/* The tables of the run have more threads or processes than they had (a recording in progress, read on). */
int ty_cut_grow(struct ty_cut *c, size_t threads_before, size_t processes_before);
/* End of recording: closes what is open; decides the rule if it was auto. */
int ty_cut_end(struct ty_cut *c);
void ty_cut_free(struct ty_cut *c);

/* Remembers the first failure; e >= 0: none. */
static inline void ty_cut_fail(struct ty_cut *c, int64_t e)
{
	if (e < 0 && !c->error)
		c->error = (int)e;
}

/* requests.c */
struct ty_req *ty_req_open(struct ty_cut *c, uint32_t thread, uint64_t at, struct ty_req **owner);
void ty_req_touch(struct ty_cut *c, struct ty_req *q, uint32_t thread, uint64_t at);
void ty_req_leave(struct ty_cut *c, struct ty_req *q, uint64_t at); /* no thread carries it from `at` on */
void ty_req_answer(struct ty_cut *c, struct ty_req *q, uint64_t at);
void ty_req_close(struct ty_cut *c, struct ty_req *q);
/* A receive came while a send that began earlier was still returning: what was
 * before `at` is a request of its own, and q begins there. */
void ty_req_split(struct ty_cut *c, struct ty_req *q, uint64_t at);
void ty_req_wait(struct ty_cut *c, const struct ty_ev *ev, uint32_t site); /* a thread with requests waited */
void ty_req_close_all(struct ty_cut *c);
void ty_req_merge(struct ty_cut *c, struct ty_req *to, const struct ty_req *q); /* adds the times of q to those of to */

/* request_row.c */
void ty_req_book(struct ty_cut *c, struct ty_req *q); /* a closed one: counts it, or writes its row */

/* transaction.c: requests of one session that belong together */
/* q is a statement of *owner, which is made if there is none; *owner is NULL once it is over. */
void ty_txn_join(struct ty_cut *c, struct ty_txn **owner, struct ty_req *q);
/* No more statements come; whole: the session is idle again. */
void ty_txn_over(struct ty_cut *c, struct ty_txn **owner, bool whole);
void ty_txn_retire(struct ty_cut *c, struct ty_req *q); /* a statement is closed and complete */

static inline void ty_cut_wait(struct ty_cut *c, const struct ty_ev *ev, uint32_t site)
{
	struct ty_carrier *th = &c->th[ev->thread];
	if (th->head || th->npend)
		ty_req_wait(c, ev, site);
	if (ev->end > th->last)
		th->last = ev->end;
}

/* behind.c: what held-up requests waited behind */
void ty_behind_wait(struct ty_cut *c, const struct ty_ev *ev, uint32_t site);
void ty_behind_held(struct ty_cut *c, struct ty_req *q, uint32_t thread, uint64_t from, uint64_t to);
void ty_behind_split(struct ty_req *q, uint64_t at);
void ty_behind_merge(struct ty_cut *c, struct ty_req *to, const struct ty_req *q); /* q is one of the parts of `to` */
void ty_behind_row(struct ty_cut *c, struct ty_req *q, const struct ty_row *of);
void ty_behind_free(struct ty_cut *c);

/* socket.c, socket_fds.c: descriptors and connections */
int ty_socket_init(struct ty_cut *c);
void ty_socket_until(struct ty_cut *c, uint64_t now); /* forks, execs and exits up to now */
int ty_socket_grow(struct ty_cut *c, size_t processes_before);
uint64_t ty_socket_next(const struct ty_cut *c);      /* when the next of them is */
void ty_socket_event(struct ty_cut *c, const struct ty_ev *ev, uint32_t site);
void ty_socket_mark(struct ty_cut *c, const struct ty_ev *ev); /* class or state, from captured bytes */
void ty_socket_end(struct ty_cut *c);                 /* of the recording; before ty_req_close_all */
void ty_socket_free(struct ty_cut *c);

/* marker.c */
int ty_marks_init(struct ty_cut *c);
void ty_mark_event(struct ty_cut *c, const struct ty_ev *ev);
void ty_site_event(struct ty_cut *c, const struct ty_ev *ev); /* rule site:, a matching wait returned */
void ty_marks_free(struct ty_cut *c);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Blame: who ended each wait, and what that one was doing meanwhile.
 *
 * A wait is cut into segments without gaps.  A segment has a link: the site
 * that waited, the kind (why it waited), the site that ended it (holder), and
 * what the holder's thread was waiting for then (next), which is a link again.
 * So a link is a chain down to its root cause.  Links are interned; they are
 * keys of struct ty_sites beside the sites, so that requests, variance and
 * errors treat them like any site.
 *
 * What must stay true: the segments of a wait cover it exactly once; memory is
 * bounded (the limits below), and what a limit cost is counted. */
#ifndef TY_BLAME_H
#define TY_BLAME_H

#include "analyze/cut.h"

enum ty_blame_kind {
	TY_K_NONE,        /* not a link: a plain site */
	TY_K_HELD,        /* a lock: until the holder released it */
	TY_K_SIGNAL,      /* a condition: not signalled yet */
	TY_K_POST,        /* a semaphore: no post yet */
	TY_K_WAKE,        /* a futex: not woken yet */
	TY_K_KILL,        /* a call that a signal can end: none sent yet */
	TY_K_REACQUIRE,   /* a condition, signalled: its mutex was held */
	TY_K_OWNER,       /* a lock: its release was not seen, but who owned it at the begin (no site) */
	TY_K_WOKEN,       /* released, signalled or posted, but not running yet */
	TY_K_KERNEL,      /* IO: completed by the kernel, for a device or a peer */
	TY_K_READY,       /* poll and its kind: until a descriptor was ready */
	TY_K_TIMER,       /* slept, or timed out */
	TY_K_INTERRUPTED, /* by a signal */
	TY_K_CHANGED,     /* a futex: its value had changed already */
	TY_K_UNSEEN,      /* nothing that could have ended it was seen */
	TY_K_FORGOTTEN,   /* there were more wakes since its begin than are kept */
	TY_K_UNRECORDED,  /* barrier, join, once, spin, file lock: nobody records who ends these */
	/* roots only */
	TY_K_RUNNING, /* the holder was in no recorded wait */
	TY_K_CUT,     /* the chain was cut: too deep, a cycle, too many, or history too short */
	TY_K_KINDS
};

/* link.next below; else a link */
#define TY_NEXT_RUNNING UINT32_MAX       /* in no recorded wait; also where there is no holder */
#define TY_NEXT_HISTORY (UINT32_MAX - 1) /* the thread's waits of then are no longer kept */
#define TY_NEXT_DEEP (UINT32_MAX - 2)
#define TY_NEXT_CYCLE (UINT32_MAX - 3)
#define TY_NEXT_PAIR (UINT32_MAX - 4) /* the link stands for all with the same waiter, kind, holder */
#define TY_NEXT_ROOT (UINT32_MAX - 5) /* the link stands for a root cause: site and kind */
#define TY_NEXT_REAL(n) ((n) < TY_NEXT_ROOT)

#define TY_CHAIN_MAX 10 /* links of a chain */
#define TY_LINKS_MAX                                                                                         \
	(1u << 16) /* beyond it chains are cut at their first link, beyond twice it holders are left out */
#define TY_SEGS_MAX 8192u      /* of one wait; beyond it holders are not followed */
#define TY_LAG_NS 200000000ull /* a wake may come so much later than its time */
#define TY_LAG_EVENTS (1u << 16)

struct ty_link {
	uint32_t waiter, holder;   /* sites; holder TY_NONE: none */
	uint32_t next, pair, root; /* pair, root: links; set by ty_link_pair, ty_link_root */
	uint32_t votes, thread;    /* pair: the thread most often there (majority vote) */
	uint8_t kind, cls, depth;
	/* all waits that ended in the window; with --where those of the requests that are left */
	uint64_t count, total;
	/* pair: segments of all waits in the window; of those that ended a HELD or REACQUIRE, how long the
	 * holder had had it, where that is known */
	uint64_t ended, hold_n, hold_total, hold_max;
};

struct ty_links {
	struct ty_link *v; /* by key of struct ty_sites */
	size_t cap;
	uint32_t *slot;       /* open addressing: key + 1 */
	size_t slots, n, max; /* max: TY_LINKS_MAX, but for tests */
	/* by site: its latest link without a holder + 1, and that one's pair if it is known */
	struct ty_single { uint32_t link, pair, kind; } *single;
	size_t single_cap;
};

/* A part of a wait: whose doing, and through which threads (for cycles). */
struct ty_seg {
	uint64_t begin, end;
	uint32_t link;
	uint32_t via[TY_CHAIN_MAX]; /* threads of the chain + 1; 0: end */
};

/* A part of a wait by who ended it, before anybody asks what that thread did. */
struct ty_direct {
	uint64_t begin, end, hold; /* hold: as in ty_wake */
	uint32_t thread, site;     /* TY_NONE: none */
	uint32_t link;             /* of its last part, once the chain is known */
	enum ty_blame_kind kind;
};

/* ---- recent wakes of each object (blame_wakes.c) ---- */
struct ty_wake {
	uint64_t at, hold; /* hold: ns the thread had had it; UINT64_MAX: not known */
	uint32_t thread, site;
	bool all, taken; /* broadcast; a wait was already ended by it */
};
/* An object. */
struct ty_waked {
	uint64_t object, since, used; /* since: the owner has it */
	uint64_t lost_to;             /* wakes up to then are forgotten */
	struct ty_wake *v;            /* ring */
	uint64_t n, from;             /* wakes ever; kept are the last cap, but none before from */
	uint32_t cap, space, owner;   /* owner TY_NONE: not known */
};
struct ty_wakes {
	struct ty_waked *slot;
	size_t slots, used;
	uint64_t kept, evicted; /* wakes in memory; objects dropped */
	uint64_t forgotten_to;  /* the latest use of a dropped object */
};
int ty_wakes_init(struct ty_wakes *w);
void ty_wakes_free(struct ty_wakes *w);
struct ty_waked *ty_wakes_find(struct ty_wakes *w, uint64_t object, uint32_t space);
static inline size_t ty_wakes_hash(uint64_t object, uint32_t space)
{
	return (size_t)ty_mix(object ^ (uint64_t)space << 40);
}
static inline void ty_wakes_prefetch(const struct ty_wakes *w, uint64_t object, uint32_t space)
{
	ty_prefetch(&w->slot[ty_wakes_hash(object, space) & (w->slots - 1)]);
}
/* Made if it is not there; NULL: no memory. */
struct ty_waked *ty_wakes_get(struct ty_wakes *w, uint64_t object, uint32_t space, uint64_t now);
int ty_wakes_add(struct ty_wakes *w, struct ty_waked *o, const struct ty_wake *k);
static inline struct ty_wake *ty_waked_at(const struct ty_waked *o, uint64_t i)
{
	return &o->v[i & (o->cap - 1)];
}
static inline uint64_t ty_waked_first(const struct ty_waked *o)
{
	return o->n > o->from + o->cap ? o->n - o->cap : o->from;
}
/* The first kept wake with at >= time; o->n: none. */
uint64_t ty_waked_from(const struct ty_waked *o, uint64_t time);

/* ---- recent waits of each thread (chain.c) ---- */
struct ty_past {
	struct ty_seg *v; /* ring, in order */
	uint64_t n, from; /* kept are the last cap, but none before from */
	uint32_t cap;
	uint64_t lost_to;
};

/* ---- events in order, late ones put in their place (blame_order.c) ---- */
struct ty_late {
	struct ty_ev ev;
	uint64_t seq;
};
struct ty_order {
	struct ty_ev *v; /* ring of those that came in order */
	size_t head, n;
	struct ty_late *late_v; /* heap of the others, the next one first */
	size_t nlate;
	struct ty_ev taken;      /* from the heap, handed out */
	uint64_t late, too_late; /* put in their place; came after it had gone */
	uint64_t gone, newest;   /* end of the last event that left; latest end so far */
};

struct ty_blame_counts {
	uint64_t cycles, deep, links_full, segs_full, history, history_ns, no_thread;
};

/* Sums by class of waits. */
struct ty_blame_class {
	uint64_t waits, ns[TY_K_KINDS];
};

struct ty_blame {
	struct run *r;
	struct ty_cut cut;
	struct ty_links links;
	struct ty_wakes wakes;
	struct ty_past *past; /* [nthreads] */
	uint32_t *by_tid;     /* [nthreads] threads in order of tid, start */
	uint64_t past_kept;
	struct ty_order order;
	struct ty_direct *direct; /* of the wait in hand: by holder */
	struct ty_seg *seg;       /* with what the holders waited for */
	struct ty_part *part;
	size_t ndirect, direct_cap, nseg, seg_cap, part_cap;
	struct ty_blame_counts counts;
	struct ty_blame_class cls[TY_CLASS_COUNT + 1];
	/* views, filled by ty_blame_finish; res.site by key */
	struct ty_result pairs, roots, chains;
	uint32_t *rank_pairs, *rank_roots, *rank_chains;
	size_t npairs, nroots, nchains;
	uint32_t shown[128]; /* sites that the text names, to be told apart; more are not */
	size_t nshown;
};

#define TY_BLAME_FAILED "looking for who ended waits: %s"
/* All of it for a run whose store and names are loaded: events, links, shares. */
int ty_blame_read(struct ty_blame *b, struct run *r, char *err);
/* The same in steps, for events that somebody else reads: from the start of the recording, whatever the window. */
int ty_blame_begin(struct ty_blame *b, struct run *r, char *err);
int ty_blame_init(struct ty_blame *b, struct run *r);
/* In order of end, as a scan gives them; n 0: the end, everything held back is used. */
int ty_blame_events(struct ty_blame *b, const struct ty_ev *ev, size_t n);
/* After the last event: what is held back and open. */
int ty_blame_end(struct ty_blame *b);
/* Links to pairs, roots; shares of each. */
int ty_blame_finish(struct ty_blame *b);
void ty_blame_free(struct ty_blame *b);
/* blame_where.c: the sums from the requests that --where leaves, not from all waits */
void ty_blame_watch(struct ty_blame *b);

/* links */
int ty_links_init(struct ty_links *l);
void ty_links_free(struct ty_links *l);
int64_t ty_link(struct ty_blame *b, uint32_t waiter, enum ty_blame_kind kind, uint32_t holder, uint32_t next);
int64_t ty_link_pair(struct ty_blame *b, uint32_t link);
/* Brings near what the next wait of a site will most likely be booked under. */
static inline void ty_links_prefetch(const struct ty_links *l, uint32_t site)
{
	const struct ty_single *s = site < l->single_cap ? &l->single[site] : NULL;
	if (!s || !s->link)
		return;
	ty_prefetch(&l->v[s->link - 1]);
	ty_prefetch(&l->v[s->link - 1].total);
	if (s->pair == TY_NONE)
		return;
	ty_prefetch(&l->v[s->pair]);
	ty_prefetch(&l->v[s->pair].ended);
}
int64_t ty_link_root(struct ty_blame *b, uint32_t link);

/* blame_wait.c: b->direct of a wait */
int ty_blame_threads(struct ty_blame *b); /* b->by_tid */
#define TY_SPACE_SIGNALS (TY_NONE - 1) /* where the objects are pids and tids */
int ty_blame_direct(struct ty_blame *b, const struct ty_ev *ev);
int ty_blame_wake(struct ty_blame *b, const struct ty_ev *ev);
void ty_blame_acquired(struct ty_blame *b, const struct ty_ev *ev);
static inline uint32_t ty_blame_space(const struct ty_blame *b, const struct ty_ev *ev)
{
	return ev->flags & TY_F_SHARED ? TY_NONE : b->cut.th[ev->thread].process;
}

/* chain.c: b->seg from b->direct; then into the thread's past */
int ty_chain_expand(struct ty_blame *b, const struct ty_ev *ev, uint32_t site);
int ty_chain_remember(struct ty_blame *b, uint32_t thread);
/* Brings near where the next wait of a thread will be kept. */
static inline void ty_chain_prefetch(const struct ty_blame *b, uint32_t thread)
{
	const struct ty_past *p = &b->past[thread];
	const struct ty_seg *next = p->cap ? &p->v[p->n & (p->cap - 1)] : NULL;
	ty_prefetch(next);
	ty_prefetch(next ? next->via + TY_CHAIN_MAX - 1 : NULL);
}

/* order */
int ty_order_init(struct ty_order *o);
void ty_order_free(struct ty_order *o);
void ty_order_put(struct ty_order *o, const struct ty_ev *ev);
/* The next event that can go, NULL: none yet; all: even if a late one could still come. */
const struct ty_ev *ty_order_take(struct ty_order *o, bool all);
static inline const struct ty_ev *ty_order_at(const struct ty_order *o, size_t i)
{
	return &o->v[(o->head + i) & (TY_LAG_EVENTS - 1)];
}

/* what is shown */
const char *ty_kind_name(enum ty_blame_kind k);  /* for programs: "held", ... */
const char *ty_kind_words(enum ty_blame_kind k); /* for people */
static inline bool ty_kind_named(enum ty_blame_kind k)
{
	return k >= TY_K_HELD && k <= TY_K_WOKEN;
}
static inline bool ty_kind_unknown(enum ty_blame_kind k)
{
	return k == TY_K_UNSEEN || k == TY_K_FORGOTTEN || k == TY_K_UNRECORDED;
}
/* The kernel ended it, for what the descriptor names. */
static inline bool ty_kind_kernel(enum ty_blame_kind k)
{
	return k == TY_K_KERNEL || k == TY_K_READY;
}
int ty_blame_text(struct ty_blame *b, char *err);
int ty_blame_json(struct ty_blame *b, char *err);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Orders, as the recorder configures them and the traced process counts them:
 * the part of the arena that says which waits are granted in which order.  The
 * recorder compiles YAML into rules; names of functions and variables it turns
 * into decisions here, so that the traced process compares numbers only.
 *
 * Who writes: (R) recorder, (T) traced processes, see arena.h. */
#ifndef TARRY_ORDER_H
#define TARRY_ORDER_H

#include <stdatomic.h>
#include <stdint.h>
#include "tarry/ops.h"

enum ty_order_kind {
#define TY_ORDER(name, what) TY_ORDER_##name,
#include "tarry/orders.def"
	TY_ORDER_COUNT
};

#define TY_RULES 16u            /* rules at most; a set of rules is a uint16_t */
#define TY_ORDER_OBJECTS 256u   /* named variables in running processes, at most */
#define TY_ORDER_STATS 1024u    /* objects counted one by one, power of two */
#define TY_DECIDED 65536u       /* power of two */
#define TY_DECIDED_PROBES 8u
#define TY_THETA_AUTO UINT32_MAX

/* When a thread's request came into the system. */
enum ty_age {
	TY_AGE_REQUEST, /* first receive on a descriptor since it was last answered, or the marker */
	TY_AGE_MARKER,  /* tarry_request_begin only */
	TY_AGE_IDLE,    /* the thread last left a wait whose call path is an idle site */
};

/* What becomes of fsync and fdatasync; policies/sync.h. */
enum ty_sync {
	TY_SYNC_NATIVE,
	TY_SYNC_COALESCE,   /* callers that arrive while one is in flight share the next */
	TY_SYNC_LAZY_FLUSH, /* returns at once; a call after the interval flushes.  Not durable */
};

struct ty_order_rule { /* the first that matches a wait decides */
	uint64_t ops[(TY_OP_COUNT + 63) / 64]; /* waiting calls: bit TY_OP_x */
	uint32_t order;     /* enum ty_order_kind */
	uint32_t theta;     /* parts in 1000, or TY_THETA_AUTO; see policies/threshold.h */
	uint64_t seed;      /* of `random` */
	uint8_t by_path;    /* only what the recorder decided for the wait's path */
	uint8_t by_object;  /* only objects within ty_orders.object */
	uint8_t idle;       /* no order: waits at this site end a request (TY_AGE_IDLE) */
};

struct ty_order_conf { /* (R) constant once the command runs */
	uint32_t rules;
	uint32_t age;       /* enum ty_age */
	uint64_t bound_ns;  /* after so long a queued waiter looks for itself, 1 ms..10 s */
	uint32_t sync;      /* enum ty_sync */
	uint32_t pad;
	uint64_t sync_ns;   /* interval of LAZY_FLUSH */
	struct ty_order_rule rule[TY_RULES];
};

struct ty_order_object { /* [lo, hi) of the process image `image`; (R) before object_count */
	uint64_t image, lo, hi;
	uint16_t rules;     /* those whose object this is */
};

/* One object under an order.  (T) claims by CAS of key 0 -> its key, release;
 * everybody else acquires; the counters are relaxed adds. */
struct ty_order_stat {
	_Atomic uint64_t key;       /* of image and object; 0: free, 1: all that found no place */
	_Atomic uint64_t image, object;
	_Atomic uint32_t rule, op;  /* of the last wait */
	_Atomic uint64_t waits;     /* that were queued */
	_Atomic uint64_t grants;    /* of these, ended by a grant */
	_Atomic uint64_t choices;   /* grants that found two or more waiting */
	_Atomic uint64_t reordered; /* choices that fell on another than the one who had waited longest */
	_Atomic uint64_t forced;    /* choices that the bound of being passed over made */
	_Atomic uint64_t bounded;   /* waits that looked for themselves and had been missed */
	_Atomic uint64_t native;    /* waits left to libc: below the threshold, nested, no room */
	_Atomic uint32_t theta;     /* in force, parts in 1000; above: all native */
	_Atomic uint32_t most;      /* waiting at once */
	/* policies/threshold.c: grants and choices when they were last looked at, the
	 * share of choices found then (parts in 1000, plus 1; 0: not yet), and the waits
	 * left to libc before the next look */
	_Atomic uint64_t grants_at, choices_at;
	_Atomic uint32_t share, left;
};

struct ty_orders {
	struct ty_order_conf conf;
	_Atomic uint32_t object_count; /* (R) release after object[i]; (T) acquire */
	struct ty_order_object object[TY_ORDER_OBJECTS];
	/* Rules that the call path of a wait satisfies: path id with its low 16 bits
	 * replaced by the set of them, at ty_mix(path) & (TY_DECIDED - 1), linear
	 * probing.  0: none, or not decided yet, which is native.  (R) relaxed
	 * stores, one word each; (T) relaxed loads. */
	_Atomic uint64_t decided[TY_DECIDED];
	_Atomic uint64_t matched[TY_RULES]; /* waits that a rule decided.  (T) relaxed adds */
	struct ty_order_stat stat[TY_ORDER_STATS]; /* linear probing; the last one: all that found no place */
	/* Under a policy for flushes: calls; flushes that were made; calls that shared
	 * another's; calls that returned with a promise.  (T) relaxed adds. */
	_Atomic uint64_t sync_calls, sync_done, sync_shared, sync_lazy;
};

#endif

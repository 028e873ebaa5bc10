/* SPDX-License-Identifier: MIT
 *
 * Sites: what waits are booked under, and their plain statistics.  A key is a
 * dense number given when the first wait of that kind is seen.  Which waits
 * share a key is the choice of --by; shares, tails and quantiles are computed
 * for keys, so each of them is exact for each choice. */
#ifndef TY_SITES_H
#define TY_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/prefetch.h"
#include "analyze/sketch.h"
#include "common/store.h"

enum ty_by { TY_BY_SITE, TY_BY_FUNCTION, TY_BY_OBJECT, TY_BY_OPERATION };

enum {
	TY_SITE_HELD = 0,            /* key of "held up": open, and no thread worked on it */
	TY_GROUP_NO_PATH = UINT32_MAX /* group of paths that were not taken */
};
#define TY_NONE UINT32_MAX
#define TY_LATE 30u

struct ty_site {
	/* what every wait touches comes first: which it is, */
	uint32_t next; /* chain of keys of one group */
	uint16_t op;   /* by site, operation, object: its operation; by function: the first one seen */
	uint8_t cls;
	bool objects;  /* more than one was seen */
	/* the object most often waited for (majority vote), and when, */
	uint32_t votes, object_thread;
	uint64_t object;
	uint64_t object_end;
	/* all waits that ended in the window */
	uint64_t waits_all, total_all;
	/* waits inside requests, clipped to them; without requests: all waits */
	unsigned __int128 sq; /* sum of squares, ns^2 */
	uint64_t waits, total, max;
	uint32_t path; /* one path of the key; by operation and object: of the first wait */
	uint8_t nlate;
	bool ops;      /* by object: more than one operation */
	struct ty_sketch *sketch; /* NULL: all are late */
	/* Buckets of waits that are not in the sketch yet: with thousands of sites
	 * each bucket is a line that nobody has, and many at once are fetched at once. */
	uint16_t late[TY_LATE];
};

struct ty_sites {
	enum ty_by by;
	struct ty_site *v;
	size_t n, cap;
	const uint32_t *group; /* [npaths] path -> canonical path or function, TY_GROUP_NO_PATH */
	size_t npaths;
	uint32_t *head;        /* [ngroups] first key + 1 */
	uint32_t *by_op;       /* [nops] key + 1: by operation, and waits whose path was not taken */
	size_t nops;
	struct ty_object_slot *slot; /* by object: open addressing */
	size_t slots, used;
};
struct ty_object_slot { uint64_t object; uint32_t space, site; uint16_t cls; };

int ty_sites_init(struct ty_sites *s, enum ty_by by, const uint32_t *group, size_t npaths, size_t ngroups,
		  size_t nops);
void ty_sites_free(struct ty_sites *s);
int64_t ty_sites_add(struct ty_sites *s, const struct ty_ev *ev, uint32_t *link);
/* space: tells equal numbers apart: process, or descriptor incarnation */
int64_t ty_sites_object(struct ty_sites *s, const struct ty_ev *ev, uint64_t object, uint32_t space);

/* Key of a wait by site, function or operation; < 0: errno. */
static inline int64_t ty_sites_key(struct ty_sites *s, const struct ty_ev *ev)
{
	uint32_t g = ev->path < s->npaths ? s->group[ev->path] : TY_GROUP_NO_PATH;
	if (s->by == TY_BY_OPERATION || g == TY_GROUP_NO_PATH) {
		uint32_t *k = &s->by_op[ev->op < s->nops ? ev->op : s->nops];
		return *k ? *k - 1 : ty_sites_add(s, ev, k);
	}
	uint32_t k = s->head[g];
	if (s->by == TY_BY_SITE)
		while (k && s->v[k - 1].op != ev->op)
			k = s->v[k - 1].next;
	return k ? k - 1 : ty_sites_add(s, ev, &s->head[g]);
}

/* Key of an event that comes soon: brings it near, and returns the likely one + 1; 0: not known. */
static inline uint32_t ty_sites_prefetch(const struct ty_sites *s, const struct ty_ev *ev)
{
	uint32_t g = ev->path < s->npaths ? s->group[ev->path] : TY_GROUP_NO_PATH;
	uint32_t k = g != TY_GROUP_NO_PATH && s->by <= TY_BY_FUNCTION ? s->head[g] : 0;
	if (k) {
		ty_prefetch(&s->v[k - 1]);
		ty_prefetch(&s->v[k - 1].total_all);
	}
	return k;
}

/* The late ones into the sketch, before it is looked at; 0 or -ENOMEM. */
int ty_site_settle(struct ty_site *s);

/* One wait's duration into the statistics of its site; 0 or -ENOMEM. */
static inline int ty_site_stat(struct ty_site *s, uint64_t ns)
{
	s->waits++;
	s->total += ns;
	s->sq += (unsigned __int128)ns * ns;
	if (ns > s->max)
		s->max = ns;
	s->late[s->nlate++] = ty_sketch_bucket(ns);
	return s->nlate < TY_LATE ? 0 : ty_site_settle(s);
}

static inline void ty_site_vote(struct ty_site *s, const struct ty_ev *ev)
{
	if (s->object == ev->object && s->votes) {
		s->votes++;
	} else if (s->votes) {
		s->votes--;
		s->objects = true;
	} else {
		s->objects |= s->waits_all != 0;
		s->object = ev->object;
		s->object_thread = ev->thread;
		s->object_end = ev->end;
		s->votes = 1;
	}
}

double ty_site_mean(const struct ty_site *s);
double ty_site_sd(const struct ty_site *s); /* population */
uint64_t ty_site_p99(const struct ty_site *s); /* within 1/128; of a settled site */

#endif

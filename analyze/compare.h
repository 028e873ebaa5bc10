/* SPDX-License-Identifier: MIT
 *
 * Comparing two recordings.  Each side's requests are folded so that sites have
 * the same number on both (same operation, same functions); then each metric
 * has a value and one for each of its blocks of time, and is judged by the
 * tolerance rule:
 *
 *   tolerance = max(floor, 3 x coefficient of variation of the base's blocks)
 *   worse or better: beyond the tolerance, and beyond 3 standard errors
 *   base's blocks vary by more than 10 %: judged only if the larger value is
 *   beyond the smaller by more than 6 x the larger variation of the two sides,
 *   and by more than 3 standard errors; that is the tolerance then
 *   not judged: fewer than 100 counts on a side, or a site that takes under 1 %
 *   of the base's latency on both sides
 */
#ifndef TY_COMPARE_H
#define TY_COMPARE_H

#include "analyze/run.h"

#define TY_SIDE_BLOCKS 20u
#define TY_SIDE_COUNTS 100u
#define TY_SIDE_CV 0.10
#define TY_SIDE_EXPLAINED 6 /* variations; 3 gave up to 15 % of false alarms where load drifts slowly */
#define TY_SIDE_FLOOR 0.05
#define TY_SIDE_LEAST 0.01

enum ty_metric_id { TY_M_MEAN, TY_M_SD, TY_M_P50, TY_M_P95, TY_M_P99, TY_M_MAX, TY_M_RMS, TY_M_COUNT };
enum ty_verdict { TY_V_SAME, TY_V_BETTER, TY_V_WORSE, TY_V_FEW, TY_V_VARIES, TY_V_SMALL, TY_V_ONE_SIDE };

struct ty_measure {           /* of one side */
	double value, cv, se; /* cv: of its blocks; cv, se NAN: no blocks */
	uint64_t counts;
	double block[TY_SIDE_BLOCKS];
};
struct ty_metric {
	struct ty_measure base, now;
	double change, change_se, tolerance; /* of the base's value; NAN: cannot be said */
	enum ty_verdict verdict;
};
struct ty_side {
	uint64_t n;  /* requests */
	bool blocks; /* there are enough for them */
	struct ty_measure latency[TY_M_COUNT];
	struct ty_measure *site; /* [nsites + 1] ns a request; the last is running */
	struct ty_result res;    /* shares */
};
struct ty_compared {
	struct ty_metric latency[TY_M_COUNT];
	struct ty_metric *site; /* [nsites + 1] */
	uint32_t *rank;         /* by how much they changed latency */
	size_t nrank, nsites;
	uint32_t worse, better, judged;
};

/* rows: folded; waits: [nsites] counts inside requests. */
int ty_side_take(struct ty_side *s, struct ty_ledger *rows, size_t nsites, const uint64_t *waits);
void ty_side_free(struct ty_side *s);
int ty_compare(struct ty_compared *c, const struct ty_side *base, const struct ty_side *now, size_t nsites,
	       double floor);
void ty_compared_free(struct ty_compared *c);

/* ---- sites of two recordings (compare_sites.c) ---- */
struct ty_match {
	uint64_t *hash; /* [n] */
	uint32_t *slot;
	size_t n, cap, slots;
	uint32_t *of[2];               /* [sites of the side] number */
	uint32_t *key[2];              /* [n] a site of the side, TY_NONE: has none */
	uint64_t *waits[2], *total[2]; /* [n] inside requests; ns of all waits */
};
int ty_match_sides(struct ty_match *m, const struct run *base, const struct run *now);
void ty_match_free(struct ty_match *m);

/* ---- output ---- */
struct ty_comparison {
	struct run run[2];
	struct ty_match match;
	struct ty_side side[2];
	struct ty_compared found;
	double floor;
	bool requests; /* on both sides */
};
struct ty_provenance {
	const char *key;
	char *text[2];
};
#define TY_PROVENANCE 9u
/* Keys of the stores' meta that differ and matter; returns how many. */
size_t ty_provenance(const struct ty_comparison *c, struct ty_provenance ret[TY_PROVENANCE]);
void ty_provenance_text(const struct ty_comparison *c);
const char *ty_metric_name(enum ty_metric_id m);
const char *ty_verdict_name(enum ty_verdict v);  /* for programs */
const char *ty_verdict_words(enum ty_verdict v); /* for people */
const char *ty_verdict_meaning(enum ty_verdict v);
int ty_compare_text(const struct ty_comparison *c, char *err);
int ty_compare_json(const struct ty_comparison *c, char *err);

#endif

/* SPDX-License-Identifier: MIT
 *
 * What the samples say about each variant against the base (docs/EXPERIMENT.md
 * has the formulas):
 *
 *   ratio    geometric mean of the ratios within blocks, with a 95 % interval
 *   p        of no difference, Student's t on the logarithms, after Holm's
 *            correction for all ratios of the experiment that are judged
 *   counts   if p <= 5 % and the ratio is beyond the tolerance, which is
 *            max(5 %, 3 x coefficient of variation of the base's own runs)
 */
#ifndef TY_JUDGE_H
#define TY_JUDGE_H

#include "experiment/samples.h"

#define TY_E_ALPHA 0.05
#define TY_E_FLOOR 0.05
#define TY_E_PAIRS 3u   /* fewer say nothing of their spread */
#define TY_E_BEYOND 10u /* latencies beyond a quantile, in each run */

enum ty_e_verdict {
	TY_E_NONE,      /* no difference shown */
	TY_E_BETTER,
	TY_E_WORSE,
	TY_E_PAIRS_FEW, /* this and the following: not judged */
	TY_E_COUNTS_FEW,
	TY_E_ZERO,
	TY_E_NOT_ASKED
};

struct ty_effect { /* of one metric of one variant */
	uint32_t pairs;         /* blocks in which both runs count */
	double base, value;     /* geometric means over these; NAN, as all below: cannot be said */
	double ratio, low, high;
	double p, p_holm;       /* p_holm: 1 at most; NAN: not judged */
	double cv, tolerance;   /* of the base's runs; parts */
	enum ty_e_verdict verdict;
};

struct ty_judged {
	struct ty_effect *v;    /* [nvariants][TY_X_COUNT]; the base's are empty */
	uint32_t tests;         /* ratios that were judged */
	uint32_t better, worse;
};

int ty_judge(struct ty_judged *j, const struct ty_samples *s); /* 0 or -ENOMEM */
void ty_judged_free(struct ty_judged *j);
static inline const struct ty_effect *ty_effect(const struct ty_judged *j, size_t variant, unsigned metric)
{
	return &j->v[variant * TY_X_COUNT + metric];
}
/* Is there such a metric in this experiment at all? */
bool ty_x_metric_there(const struct ty_samples *s, unsigned metric);
const char *ty_e_verdict_name(enum ty_e_verdict v);                    /* for programs */
const char *ty_e_verdict_words(enum ty_e_verdict v);                   /* for people */
const char *ty_e_verdict_why(enum ty_e_verdict v);                     /* "": it was judged */

/* student.c: two-sided p of |t|, and the t whose two-sided p is this */
double ty_student_p(double t, unsigned freedom);
double ty_student_t(double p, unsigned freedom);

int ty_experiment_text(const struct ty_samples *s, const struct ty_judged *j, char *err);
int ty_experiment_json(const struct ty_samples *s, const struct ty_judged *j, char *err);

#endif

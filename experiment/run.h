/* SPDX-License-Identifier: MIT
 * One run of one variant, from setup to cleanup. */
#ifndef TY_EXPERIMENT_RUN_H
#define TY_EXPERIMENT_RUN_H

#include "experiment/process.h"
#include "experiment/samples.h"

struct ty_stage { /* what all runs share */
	const struct ty_plan *plan;
	struct ty_children *children;
	char *const *command; /* of the command line; NULL: none */
	const char *self;     /* this executable, for `tarry record` */
	const char *dir;      /* each run has a folder in it */
	bool keep;            /* which is not removed */
};

/* Fills t, whose repetition, variant and order are set, and *note with what is no failure but
 * should be said ("": nothing).  0, -EINTR (interrupted: there is no such run) or another errno
 * with err set: nothing can go on. */
int ty_trial_run(const struct ty_stage *st, struct ty_trial *t, char note[TY_WHY_MAX], char *err);

/* What will be executed: argv of a variant's program, to be freed as one; NULL: no memory. */
char **ty_stage_argv(const struct ty_stage *st, uint32_t variant, const char *store);
bool ty_stage_recorded(const struct ty_plan *p, uint32_t variant);

#endif

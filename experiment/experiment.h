/* SPDX-License-Identifier: MIT
 * Parts of the command `tarry experiment`. */
#ifndef TY_EXPERIMENT_H
#define TY_EXPERIMENT_H

#include "experiment/judge.h"
#include "experiment/run.h"

struct ty_experiment {
	const char *config, *output, *keep, *judge; /* as given; NULL: not */
	bool json, dry_run, fail_on_worse, quiet;
	char *const *command;
	struct ty_plan plan;
	char *text; /* of the file */
	size_t len;
	char self[4096];    /* this executable */
	char default_output[4200];
	struct ty_samples samples;
};

/* course.c: runs everything, writes the samples; *interrupt: the signal that ended it, 0: none.
 * 0, or a negative errno with err set. */
int ty_experiment_run(struct ty_experiment *x, int *interrupt, char *err);
/* about.c: where and with what the samples were made; 0 or -ENOMEM */
int ty_experiment_about(struct ty_experiment *x);
/* plan_text.c: what would be done */
int ty_plan_text(const struct ty_experiment *x, char *err);

#endif

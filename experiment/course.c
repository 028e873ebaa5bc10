/* SPDX-License-Identifier: MIT
 *
 * All runs of an experiment, one after the other, and the file of samples (see
 * experiment.h).  Runs in `tarry experiment`.  Must stay true: a row is in the
 * file before the next run begins, and the file says whether it is whole. */
#include "experiment/experiment.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "analyze/fmt.h"
#include "cli/cmd.h"
#include "common/err.h"

/* ---- progress ---- */

static bool line_shown(const struct ty_experiment *x)
{
	return !x->quiet && isatty(STDERR_FILENO);
}

static void say_start(const struct ty_experiment *x, const struct ty_trial *t, size_t at, size_t all, uint64_t began)
{
	char left[TY_FMT] = "";
	if (!line_shown(x))
		return;
	if (at)
		ty_fmt_ns(left, (double)(ty_clock() - began) / (double)at * (double)(all - at));
	fprintf(stderr, "\r\033[K[%zu/%zu] %s%s%s", at + 1, all, x->samples.variant[t->variant],
		at ? ", left: about " : "", left);
	fflush(stderr);
}

static void say_end(const struct ty_experiment *x, const struct ty_trial *t, size_t at, size_t all, const char *note)
{
	char mean[TY_FMT], count[TY_FMT], which[32] = "warm-up";
	const char *variant = x->samples.variant[t->variant];
	if (line_shown(x))
		fputs("\r\033[K", stderr);
	if (t->repetition)
		snprintf(which, sizeof which, "repetition %u", t->repetition);
	if (t->why[0])
		ty_say("[%zu/%zu] %s, %s: failed: %s", at + 1, all, which, variant, t->why);
	else if (!x->quiet && x->plan.measured == TY_MEASURED_TIME)
		ty_say("[%zu/%zu] %s, %s: %s", at + 1, all, which, variant, ty_fmt_ns(mean, t->value[TY_X_MEAN]));
	else if (!x->quiet)
		ty_say("[%zu/%zu] %s, %s: mean %s of %s", at + 1, all, which, variant,
		       ty_fmt_ns(mean, t->value[TY_X_MEAN]), ty_fmt_count(count, t->count));
	if (*note)
		ty_say("[%zu/%zu] %s, %s: %s", at + 1, all, which, variant, note);
}

/* ---- the file ---- */

/* Beside the experiment file: NAME.tsv, or the first of NAME-2.tsv ... that is not there. */
static FILE *open_default(struct ty_experiment *x)
{
	const char *dot = strrchr(x->config, '.'), *slash = strrchr(x->config, '/');
	bool suffix = dot && dot != x->config && (!slash || dot > slash + 1);
	int stem = (int)(suffix ? (size_t)(dot - x->config) : strlen(x->config));
	for (unsigned i = 1; i < 10000; i++) {
		char number[16] = "";
		if (i > 1)
			snprintf(number, sizeof number, "-%u", i);
		snprintf(x->default_output, sizeof x->default_output, "%.*s%s.tsv", stem, x->config, number);
		x->output = x->default_output;
		FILE *f = fopen(x->output, "wxe");
		if (f || errno != EEXIST)
			return f;
	}
	return NULL;
}

static int open_samples(struct ty_experiment *x, FILE **ret, char *err)
{
	*ret = x->output ? fopen(x->output, "wxe") : open_default(x);
	if (!*ret && errno == EEXIST)
		return ty_err(err, -EEXIST, "%s is already there; samples are never overwritten", x->output);
	if (!*ret)
		return ty_err(err, -errno, "%s: %s", x->output, strerror(errno));
	x->samples.path = x->output;
	int rc = ty_samples_begin(*ret, &x->samples, x->text);
	if (rc < 0)
		unlink(x->output); /* nothing is in it, and the next try is to be allowed */
	return rc < 0 ? ty_err(err, rc, "%s: %s", x->output, strerror(-rc)) : 0;
}

/* ---- the runs ---- */

/* A folder for the runs' own; ours if it is not kept. */
static int open_folder(const struct ty_experiment *x, char *dir, size_t size, char *err)
{
	const char *tmp = getenv("TMPDIR");
	char path[4096];
	if (x->keep) {
		if (mkdir(x->keep, 0777) < 0 && errno != EEXIST)
			return ty_err(err, -errno, "%s: %s", x->keep, strerror(errno));
		snprintf(path, sizeof path, "%s", x->keep);
	} else {
		snprintf(path, sizeof path, "%s/tarry-experiment.XXXXXX", tmp && *tmp ? tmp : "/tmp");
		if (!mkdtemp(path))
			return ty_err(err, -errno, "%s: %s", path, strerror(errno));
	}
	/* absolute: a program may go elsewhere */
	char *real = realpath(path, NULL);
	if (!real || snprintf(dir, size, "%s", real) >= (int)size) {
		free(real);
		return ty_err(err, -ENAMETOOLONG, "%s: the path is too long", path);
	}
	free(real);
	return 0;
}

static int run_one(struct ty_experiment *x, const struct ty_stage *st, FILE *f, size_t at, const uint32_t *order,
		   uint64_t began, char *err)
{
	const struct ty_plan *p = &x->plan;
	size_t block = at / p->nvariants, all = ((size_t)p->warmup + p->repetitions) * p->nvariants;
	struct ty_trial t = { .variant = order[at], .order = (uint32_t)(1 + at % p->nvariants) };
	char note[TY_WHY_MAX];
	if (block < p->warmup)
		t.warmup = (uint32_t)block + 1;
	else
		t.repetition = (uint32_t)(block - p->warmup) + 1;
	say_start(x, &t, at, all, began);
	int rc = ty_trial_run(st, &t, note, err);
	if (rc < 0) {
		if (line_shown(x))
			fputs("\r\033[K", stderr);
		return rc;
	}
	say_end(x, &t, at, all, note);
	if (ty_samples_add(&x->samples, &t) < 0)
		return ty_err(err, -ENOMEM, "out of memory");
	rc = ty_samples_row(f, &x->samples, &t);
	return rc < 0 ? ty_err(err, rc, "%s: %s", x->output, strerror(-rc)) : 0;
}

static int run_all(struct ty_experiment *x, const struct ty_stage *st, FILE *f, char *err)
{
	size_t all = ((size_t)x->plan.warmup + x->plan.repetitions) * x->plan.nvariants, at = 0;
	uint32_t *order = calloc(all, sizeof *order);
	uint64_t began = ty_clock();
	int rc = order ? 0 : ty_err(err, -ENOMEM, "out of memory");
	if (rc == 0)
		ty_plan_order(&x->plan, order);
	for (; rc == 0 && at < all; at++)
		rc = run_one(x, st, f, at, order, began, err);
	free(order);
	if (rc == 0)
		snprintf(x->samples.end, sizeof x->samples.end, "complete");
	else
		snprintf(x->samples.end, sizeof x->samples.end, "incomplete: %s after %zu of %zu runs",
			 rc == -EINTR ? "interrupted" : "given up", at - 1, all);
	return rc;
}

int ty_experiment_run(struct ty_experiment *x, int *interrupt, char *err)
{
	char dir[3800];
	struct ty_children children;
	FILE *f = NULL;
	int rc = open_folder(x, dir, sizeof dir, err);
	if (rc < 0)
		return rc;
	rc = ty_children_open(&children, err);
	if (rc == 0)
		rc = open_samples(x, &f, err);
	if (rc == 0) {
		struct ty_stage st = { &x->plan, &children, x->command, x->self, dir, x->keep != NULL };
		rc = run_all(x, &st, f, err);
		*interrupt = children.interrupt;
		int end = ty_samples_end(f, &x->samples);
		if (rc == -EINTR)
			rc = 0;
		if (rc == 0 && end < 0)
			rc = ty_err(err, end, "%s: %s", x->output, strerror(-end));
	}
	if (f && fclose(f) && rc == 0)
		rc = ty_err(err, -errno, "%s: %s", x->output, strerror(errno));
	ty_children_close(&children);
	if (!x->keep)
		rmdir(dir);
	return rc;
}

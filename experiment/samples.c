/* SPDX-License-Identifier: MIT
 *
 * Samples in memory and as a file that is written (see samples.h); samples_read.c
 * is the other direction.  Runs in `tarry experiment`.  Must stay true: numbers
 * are written with all their digits, so that the verdict of the file is that of
 * the run. */
#include "experiment/samples.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/reserve.h"

int ty_samples_from(struct ty_samples *s, const struct ty_plan *p)
{
	memset(s, 0, sizeof *s);
	s->variant = calloc(p->nvariants, sizeof *s->variant);
	for (size_t i = 0; s->variant && i < p->nvariants; i++) {
		s->variant[i] = strdup(p->variant[i].name);
		s->nvariants += s->variant[i] != NULL;
	}
	if (s->nvariants != p->nvariants) {
		ty_samples_free(s);
		return -ENOMEM;
	}
	s->base = p->base;
	s->measured = p->measured;
	s->judged = p->judged;
	s->repetitions = p->repetitions;
	s->warmup = p->warmup;
	s->seed = p->seed;
	return 0;
}

int ty_samples_add(struct ty_samples *s, const struct ty_trial *t)
{
	if (ty_reserve(&s->v, &s->cap, s->n + 1, sizeof *s->v))
		return -ENOMEM;
	s->v[s->n++] = *t;
	return 0;
}

void ty_samples_free(struct ty_samples *s)
{
	for (size_t i = 0; i < s->nvariants; i++)
		free(s->variant[i]);
	free(s->variant);
	free(s->v);
	ty_words_free(&s->about);
	memset(s, 0, sizeof *s);
}

bool ty_samples_complete(const struct ty_samples *s)
{
	return strcmp(s->end, "complete") == 0;
}

size_t ty_samples_failed(const struct ty_samples *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		n += s->v[i].why[0] != 0;
	return n;
}

int ty_samples_about(struct ty_samples *s, const char *key, const char *fmt, ...)
{
	char *value = NULL, *line = NULL;
	va_list ap;
	va_start(ap, fmt);
	int rc = vasprintf(&value, fmt, ap) < 0 ? -ENOMEM : 0;
	va_end(ap);
	if (rc == 0 && asprintf(&line, "%s: %s", key, value) < 0)
		rc = -ENOMEM;
	for (char *p = line; rc == 0 && *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	if (rc == 0)
		rc = ty_words_add(&s->about, line);
	free(value);
	if (rc == 0)
		free(line);
	return rc;
}

/* ---- the file ---- */

static int flushed(FILE *f)
{
	return fflush(f) || ferror(f) ? (errno ? -errno : -EIO) : 0;
}

/* The experiment file goes along, a comment a line. */
static void put_plan(FILE *f, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		fprintf(f, "#| %.*s\n", (int)n, text);
		text += n + (text[n] == '\n');
	}
}

int ty_samples_begin(FILE *f, const struct ty_samples *s, const char *plan_text)
{
	fputs("# tarry experiment: 1\n", f);
	for (size_t i = 0; i < s->about.n; i++)
		fprintf(f, "# %s\n", s->about.v[i]);
	fputs("# variants:", f);
	for (size_t i = 0; i < s->nvariants; i++)
		fprintf(f, " %s", s->variant[i]);
	fprintf(f, "\n# base: %s\n# measure: %s\n# judge:", s->variant[s->base], ty_measured_name(s->measured));
	for (unsigned m = 0; m < TY_X_COUNT; m++)
		if (s->judged & 1u << m)
			fprintf(f, " %s", ty_x_metric_name((enum ty_x_metric)m, TY_MEASURED_LATENCIES));
	fprintf(f, "\n# repetitions: %u\n# warmup: %u\n# seed: %llu\n", s->repetitions, s->warmup,
		(unsigned long long)s->seed);
	put_plan(f, plan_text);
	fputs("repetition\tvariant\tstart\torder\tcount\tmean_ns\tvariance_ns2\tl2_ns\tp50_ns\tp99_ns\tp99.9_ns\t"
	      "max_ns\tthroughput_per_s\twall_s\tload_before\tload_after\tprogram_status\tload_status\toutcome\n", f);
	return flushed(f);
}

static void put_number(FILE *f, double x)
{
	if (isnan(x))
		fputs("\t-", f);
	else
		fprintf(f, "\t%.17g", x);
}

static void put_status(FILE *f, int status)
{
	if (status < 0)
		fputs("\t-", f);
	else
		fprintf(f, "\t%d", status);
}

int ty_samples_row(FILE *f, const struct ty_samples *s, const struct ty_trial *t)
{
	time_t seconds = (time_t)(t->start / 1000000000u);
	struct tm tm;
	char when[32];
	strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &tm));
	fprintf(f, "%u\t%s\t%s.%03uZ\t%u\t%llu", t->repetition, s->variant[t->variant], when,
		(unsigned)(t->start / 1000000u % 1000), t->order, (unsigned long long)t->count);
	put_number(f, t->value[TY_X_MEAN]);
	put_number(f, t->value[TY_X_VARIANCE]);
	put_number(f, t->l2);
	for (unsigned m = TY_X_P50; m < TY_X_COUNT; m++)
		put_number(f, t->value[m]);
	put_number(f, t->wall);
	fprintf(f, "\t%.2f\t%.2f", t->load_before, t->load_after);
	put_status(f, t->program);
	put_status(f, t->load);
	fprintf(f, "\t%s%s\n", t->why[0] ? "failed: " : "ok", t->why);
	return flushed(f);
}

int ty_samples_end(FILE *f, const struct ty_samples *s)
{
	fprintf(f, "# end: %s\n", s->end);
	return flushed(f);
}

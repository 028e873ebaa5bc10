/* SPDX-License-Identifier: MIT
 *
 * Reads a file of samples back (see samples.h).  Runs in `tarry experiment
 * --judge`.  Must stay true: a file that is not what it says is refused with the
 * line, for a verdict over half of it would look like one over all. */
#include "experiment/samples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/units.h"

#define FIELDS 19u

struct reader {
	struct ty_samples *s;
	const char *path;
	size_t line;
	bool titled, columns, has_base, has_measure, has_judge;
	char base[TY_PLAN_NAME_MAX + 1];
	bool *there; /* [repetition][variant] */
	char *err;
};

#define FAIL(r, fmt, ...) ty_err((r)->err, -EINVAL, "%s:%zu: " fmt, (r)->path, (r)->line, ##__VA_ARGS__)

static int find_variant(const struct ty_samples *s, const char *name)
{
	for (size_t i = 0; i < s->nvariants; i++)
		if (strcmp(s->variant[i], name) == 0)
			return (int)i;
	return -1;
}

/* ---- comments ---- */

static int read_variants(struct reader *r, char *value)
{
	struct ty_samples *s = r->s;
	char *save, *word;
	if (s->nvariants)
		return FAIL(r, "variants: given twice");
	s->variant = calloc(TY_PLAN_VARIANTS_MAX, sizeof *s->variant);
	for (word = strtok_r(value, " ", &save); s->variant && word; word = strtok_r(NULL, " ", &save)) {
		if (s->nvariants == TY_PLAN_VARIANTS_MAX || !ty_plan_name_good(word) || find_variant(s, word) >= 0)
			return FAIL(r, "variants: these are no names of variants");
		s->variant[s->nvariants] = strdup(word);
		if (!s->variant[s->nvariants])
			return ty_err(r->err, -ENOMEM, "out of memory");
		s->nvariants++;
	}
	return s->nvariants < 2 ? FAIL(r, "variants: expected two or more") : 0;
}

static int read_judged(struct reader *r, char *value)
{
	char *save;
	enum ty_x_metric m;
	for (char *word = strtok_r(value, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		if (ty_x_metric_find(word, &m) < 0)
			return FAIL(r, "judge: unknown metric");
		r->s->judged |= 1u << m;
	}
	r->has_judge = r->s->judged != 0;
	return 0;
}

static int read_about(struct reader *r, char *key)
{
	struct ty_samples *s = r->s;
	char *value = strstr(key, ": ");
	uint64_t n = 0;
	if (!value)
		return 0;
	*value = 0;
	value += 2;
	if (strcmp(key, "variants") == 0)
		return read_variants(r, value);
	if (strcmp(key, "judge") == 0)
		return read_judged(r, value);
	if (strcmp(key, "base") == 0) {
		r->has_base = snprintf(r->base, sizeof r->base, "%s", value) < (int)sizeof r->base;
		return 0;
	}
	if (strcmp(key, "measure") == 0) {
		r->has_measure = ty_measured_find(value, &s->measured) == 0;
		return 0;
	}
	if (strcmp(key, "end") == 0) {
		snprintf(s->end, sizeof s->end, "%s", value);
		return 0;
	}
	if (strcmp(key, "repetitions") && strcmp(key, "warmup") && strcmp(key, "seed"))
		return ty_samples_about(s, key, "%s", value) < 0 ? ty_err(r->err, -ENOMEM, "out of memory") : 0;
	if (ty_parse_number(value, &n) < 0 || (*key != 's' && n > UINT32_MAX))
		return FAIL(r, "%s: expected a number", key);
	if (*key == 's')
		s->seed = n;
	else
		*(*key == 'r' ? &s->repetitions : &s->warmup) = (uint32_t)n;
	return 0;
}

/* ---- rows ---- */

/* A number of at least 0, or "-". */
static bool number(const char *text, double *ret)
{
	char *end;
	*ret = NAN;
	if (strcmp(text, "-") == 0)
		return true;
	if (*text < '0' || *text > '9')
		return false;
	*ret = strtod(text, &end);
	return *end == 0 && isfinite(*ret);
}

static bool whole(const char *text, uint64_t most, uint64_t *ret)
{
	return ty_parse_number(text, ret) == 0 && *ret <= most;
}

static bool status(const char *text, int *ret)
{
	uint64_t n = 0;
	bool none = strcmp(text, "-") == 0;
	if (!none && !whole(text, 1000, &n))
		return false;
	*ret = none ? -1 : (int)n;
	return true;
}

static int read_row(struct reader *r, char *line)
{
	char *field[FIELDS];
	struct ty_trial t = { 0 };
	uint64_t repetition, order;
	unsigned n = 0;
	while (line && n < FIELDS)
		field[n++] = strsep(&line, "\t");
	if (n != FIELDS || line)
		return FAIL(r, "not a run: it has not %u fields", FIELDS);
	int variant = find_variant(r->s, field[1]);
	bool good = variant >= 0 && whole(field[0], r->s->repetitions, &repetition) &&
		    whole(field[3], TY_PLAN_VARIANTS_MAX, &order) && whole(field[4], UINT64_MAX, &t.count) &&
		    number(field[5], &t.value[TY_X_MEAN]) && number(field[6], &t.value[TY_X_VARIANCE]) &&
		    number(field[7], &t.l2);
	for (unsigned m = TY_X_P50; good && m < TY_X_COUNT; m++)
		good = number(field[5 + m], &t.value[m]);
	good = good && number(field[13], &t.wall) && number(field[14], &t.load_before) &&
	       number(field[15], &t.load_after) && status(field[16], &t.program) && status(field[17], &t.load);
	bool failed = strncmp(field[18], "failed: ", 8) == 0;
	if (!good || (!failed && strcmp(field[18], "ok") != 0))
		return FAIL(r, "not a run of this experiment");
	t.repetition = (uint32_t)repetition;
	t.order = (uint32_t)order;
	t.variant = (uint32_t)variant;
	t.value[TY_X_RMS] = t.l2 / sqrt((double)t.count);
	if (!isfinite(t.value[TY_X_RMS]))
		t.value[TY_X_RMS] = NAN; /* of no latencies */
	if (failed)
		snprintf(t.why, sizeof t.why, "%s", field[18] + 8);
	bool *there = &r->there[(size_t)t.repetition * r->s->nvariants + t.variant];
	if (t.repetition && *there)
		return FAIL(r, "repetition %u of %s is there twice", t.repetition, field[1]);
	*there = true;
	return ty_samples_add(r->s, &t) < 0 ? ty_err(r->err, -ENOMEM, "out of memory") : 0;
}

/* ---- the whole ---- */

static int columns(struct reader *r)
{
	int base = find_variant(r->s, r->base);
	if (!r->s->nvariants || !r->has_base || base < 0 || !r->has_measure || !r->has_judge || r->s->repetitions < 2 ||
	    r->s->repetitions > TY_PLAN_REPETITIONS_MAX)
		return FAIL(r, "the comments do not say variants, base, measure, judge and repetitions");
	r->s->base = (size_t)base;
	r->columns = true;
	r->there = calloc((r->s->repetitions + (size_t)1) * r->s->nvariants, sizeof *r->there);
	return r->there ? 0 : ty_err(r->err, -ENOMEM, "out of memory");
}

static int read_line(struct reader *r, char *line)
{
	if (!r->titled) {
		r->titled = strcmp(line, "# tarry experiment: 1") == 0;
		return r->titled ? 0 : FAIL(r, "not a file of tarry experiment");
	}
	if (strncmp(line, "#|", 2) == 0)
		return 0;
	if (strncmp(line, "# ", 2) == 0)
		return read_about(r, line + 2);
	if (r->columns && strncmp(line, "repetition\t", 11) == 0)
		return FAIL(r, "the names of the columns are there twice");
	if (!r->columns && strncmp(line, "repetition\tvariant\t", 19) != 0)
		return FAIL(r, "expected the names of the columns");
	if (!r->columns)
		return columns(r);
	return read_row(r, line);
}

int ty_samples_read(struct ty_samples *s, const char *path, char *err)
{
	struct reader r = { .s = s, .path = path, .err = err };
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int rc = 0;
	FILE *f = fopen(path, "re");
	memset(s, 0, sizeof *s);
	if (!f)
		return ty_err(err, -errno, "%s: %s", path, strerror(errno));
	s->path = path;
	snprintf(s->end, sizeof s->end, "incomplete: it ends without a last line");
	while (rc == 0 && (errno = 0, n = getline(&line, &cap, f)) >= 0) {
		r.line++;
		if (n == 0 || line[n - 1] != '\n' || memchr(line, 0, (size_t)n)) {
			rc = r.titled ? FAIL(&r, "cut short") : FAIL(&r, "not a file of tarry experiment");
			break;
		}
		line[n - 1] = 0;
		rc = read_line(&r, line);
	}
	if (rc == 0 && ferror(f))
		rc = ty_err(err, -EIO, "%s: %s", path, strerror(errno ? errno : EIO));
	r.line += r.line == 0;
	if (rc == 0 && !r.columns)
		rc = FAIL(&r, "not a file of tarry experiment: there are no runs");
	free(line);
	free(r.there);
	fclose(f);
	if (rc < 0)
		ty_samples_free(s);
	return rc;
}

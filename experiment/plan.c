/* SPDX-License-Identifier: MIT
 *
 * Reads the experiment file (see plan.h) but for its variants, and checks what
 * only all keys together can say.  Runs in `tarry experiment`, before anything
 * is started.  Must stay true: every mistake has its place, and a plan that was
 * read can be run as it is. */
#include "experiment/plan.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/conf.h"
#include "common/units.h"
#include "experiment/plan_read.h"

#define MS 1000000ull
#define SEC (1000 * MS)
#define HOUR (3600 * SEC)

enum type { SHELL, TIME, NUMBER, SIGNAL, MEASURED, METRICS, VARIANTS, BASE };

static const char *const expected[] = {
	[SHELL] = "a shell command",
	[TIME] = "a time such as 300ms, 5s or 2m",
	[NUMBER] = "a whole number",
	[SIGNAL] = "TERM, INT, QUIT, HUP, USR1, USR2 or KILL",
	[MEASURED] = "latencies, requests or time",
	[METRICS] = "a list of metrics such as [mean, p99, throughput]",
	[VARIANTS] = "a list of variants",
	[BASE] = "the name of a variant",
};

#define AT(field) offsetof(struct ty_plan, field)

static const struct key {
	const char *name;
	enum type type;
	size_t offset;
	uint64_t min, max;
	const char *range;
} keys[] = {
	{ "variants", VARIANTS, 0, 0, 0, "" },
	{ "base", BASE, 0, 0, 0, "" },
	{ "load", SHELL, AT(load), 0, 0, "" },
	{ "load_timeout", TIME, AT(load_timeout), 0, 1000 * HOUR, "0 (none) to 1000h" },
	{ "ready", SHELL, AT(ready), 0, 0, "" },
	{ "ready_timeout", TIME, AT(ready_timeout), MS, HOUR, "1ms to 1h" },
	{ "stop", SIGNAL, AT(stop), 0, 0, "" },
	{ "stop_timeout", TIME, AT(stop_timeout), MS, HOUR, "1ms to 1h" },
	{ "setup", SHELL, AT(setup), 0, 0, "" },
	{ "cleanup", SHELL, AT(cleanup), 0, 0, "" },
	{ "repetitions", NUMBER, AT(repetitions), 2, TY_PLAN_REPETITIONS_MAX, "2 to 10000" },
	{ "warmup", NUMBER, AT(warmup), 0, 1000, "0 to 1000" },
	{ "measure", MEASURED, AT(measured), 0, 0, "" },
	{ "judge", METRICS, AT(judged), 0, 0, "" },
	{ "seed", NUMBER, AT(seed), 0, UINT64_MAX, "" },
};
#define KEYS (sizeof keys / sizeof *keys)

const char *ty_plan_key(size_t i, bool in_variant)
{
	return in_variant ? ty_variant_key(i) : i < KEYS ? keys[i].name : NULL;
}

struct reader {
	struct ty_yaml *yaml;
	struct ty_plan *plan;
	uint32_t seen; /* bit per key */
	struct ty_yaml_place place[KEYS]; /* of the value */
	char *base;
};
_Static_assert(KEYS <= 32, "a key is a bit of seen");

int ty_plan_no_memory(struct ty_yaml *y)
{
	ty_yaml_fail(y, "out of memory");
	return -ENOMEM;
}

int ty_plan_copy(struct ty_yaml *y, const char *text, char **ret)
{
	*ret = strdup(text);
	return *ret ? 0 : ty_plan_no_memory(y);
}

int ty_plan_unknown(struct ty_yaml *y, const char *what, const char *word, bool in_variant)
{
	char q[TY_QUOTE], list[256] = "";
	struct ty_nearest n = { word, NULL, SIZE_MAX };
	const char *key;
	for (size_t i = 0; (key = ty_plan_key(i, in_variant)); i++) {
		ty_nearer(&n, key);
		strcat(strcat(list, i ? ", " : ""), key);
	}
	if (n.best)
		return ty_yaml_fail(y, "unknown %s '%s'; did you mean '%s'?", what, ty_quote(q, word), n.best);
	return ty_yaml_fail(y, "unknown %s '%s'; the keys are %s", what, ty_quote(q, word), list);
}

/* ---- values ---- */

static int set_signal(struct reader *r, const struct key *k, const char *text)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGKILL };
	char q[TY_QUOTE];
	const char *name = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		if (strcmp(name, sigabbrev_np(signals[i])) == 0) {
			r->plan->stop = signals[i];
			return 0;
		}
	return FAIL(r, "%s: expected %s, not '%s'", k->name, expected[SIGNAL], ty_quote(q, text));
}

static int set_number(struct reader *r, const struct key *k, const char *text)
{
	char q[TY_QUOTE], *field = (char *)r->plan + k->offset;
	uint64_t v = 0;
	int rc = k->type == TIME ? ty_parse_time(text, &v) : ty_parse_number(text, &v);
	if (rc < 0)
		return FAIL(r, "%s: expected %s, not '%s'", k->name, expected[k->type], ty_quote(q, text));
	if (v < k->min || v > k->max)
		return FAIL(r, "%s: '%s' is out of range, expected %s", k->name, ty_quote(q, text), k->range);
	if (k->type == TIME || k->max > UINT32_MAX)
		*(uint64_t *)field = v;
	else
		*(uint32_t *)field = (uint32_t)v;
	return 0;
}

static int read_metrics(struct reader *r, const struct key *k)
{
	char q[TY_QUOTE];
	const char *text;
	enum ty_x_metric m;
	struct ty_yaml_place at = ty_yaml_here(r->yaml);
	int rc = ty_yaml_list(r->yaml, k->name);
	r->plan->judged = 0;
	while (rc == 0 && (rc = ty_yaml_item(r->yaml, k->name, "the name of a metric", &text)) > 0) {
		rc = 0;
		if (ty_x_metric_find(text, &m) < 0)
			return FAIL(r, "%s: unknown metric '%s'; there are mean, variance, rms, p50, p99, p99.9, max, "
				       "throughput", k->name, ty_quote(q, text));
		r->plan->judged |= 1u << m;
	}
	if (rc == 0 && !r->plan->judged)
		return ty_yaml_fail_at(r->yaml, at, "%s: expected %s", k->name, expected[METRICS]);
	return rc;
}

static int read_value(struct reader *r, const struct key *k)
{
	char q[TY_QUOTE];
	if (k->type == VARIANTS)
		return ty_plan_variants(r->plan, r->yaml);
	if (k->type == METRICS)
		return read_metrics(r, k);
	const char *text = ty_yaml_text(r->yaml, k->name, expected[k->type]);
	if (!text)
		return -EINVAL;
	switch (k->type) {
	case SHELL:
		return ty_plan_copy(r->yaml, text, (char **)((char *)r->plan + k->offset));
	case BASE:
		return ty_plan_copy(r->yaml, text, &r->base);
	case SIGNAL:
		return set_signal(r, k, text);
	case MEASURED:
		if (ty_measured_find(text, &r->plan->measured) == 0)
			return 0;
		return FAIL(r, "%s: expected %s, not '%s'", k->name, expected[MEASURED], ty_quote(q, text));
	default:
		return set_number(r, k, text);
	}
}

static int read_pair(void *arg, const char *key)
{
	struct reader *r = arg;
	const struct key *k = NULL;
	for (size_t i = 0; i < KEYS; i++)
		if (strcmp(key, keys[i].name) == 0)
			k = &keys[i];
	if (!k)
		return ty_plan_unknown(r->yaml, "key", key, false);
	if (r->seen & 1u << (k - keys))
		return FAIL(r, "%s: given twice", k->name);
	r->seen |= 1u << (k - keys);
	int rc = ty_yaml_next(r->yaml);
	r->place[k - keys] = ty_yaml_here(r->yaml);
	return rc < 0 ? rc : read_value(r, k);
}

/* ---- the whole ---- */

static size_t key_index(const char *name)
{
	size_t i = 0;
	while (strcmp(keys[i].name, name) != 0)
		i++;
	return i;
}

static bool given(const struct reader *r, const char *name)
{
	return r->seen & 1u << key_index(name);
}

static int fail_key(struct reader *r, const char *name, const char *what)
{
	return ty_yaml_fail_at(r->yaml, r->place[key_index(name)], "%s: %s", name, what);
}

static bool mentions(const char *text)
{
	return text && strstr(text, "TARRY_EXPERIMENT_LATENCIES");
}

static bool any_mentions(const struct ty_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (mentions(w->v[i]))
			return true;
	return false;
}

/* Can anything that the file starts know where to write latencies? */
static bool writes_latencies(const struct ty_plan *p)
{
	bool any = mentions(p->load) || mentions(p->setup) || mentions(p->ready);
	for (size_t i = 0; i < p->nvariants; i++)
		any = any || any_mentions(&p->variant[i].command) || any_mentions(&p->variant[i].arguments) ||
		      any_mentions(&p->variant[i].env);
	return any;
}

/* What only all keys together can say. */
static int complete(struct reader *r)
{
	struct ty_plan *p = r->plan;
	bool recorded = false;
	if (!given(r, "variants"))
		return ty_yaml_fail_at(r->yaml, (struct ty_yaml_place){ 1, 1 }, "there are no variants to compare");
	if (p->nvariants < 2)
		return fail_key(r, "variants", "expected two or more to compare");
	while (r->base && p->base < p->nvariants && strcmp(p->variant[p->base].name, r->base) != 0)
		p->base++;
	if (p->base == p->nvariants)
		return fail_key(r, "base", "no variant is called so");
	for (size_t i = 0; i < p->nvariants; i++)
		recorded |= p->variant[i].config != NULL;
	if (!given(r, "measure"))
		p->measured = recorded ? TY_MEASURED_REQUESTS : p->load ? TY_MEASURED_LATENCIES : TY_MEASURED_TIME;
	/* else each run would be made, and fail for want of them */
	if (!given(r, "measure") && p->measured == TY_MEASURED_LATENCIES && !writes_latencies(p))
		return fail_key(r, "load", "does not write to $TARRY_EXPERIMENT_LATENCIES; say what to measure: requests, "
				"time, or latencies if somebody else writes them there");
	if (p->ready && !p->load)
		return fail_key(r, "ready", "makes no sense without a load: then the command itself is the workload");
	if (p->measured == TY_MEASURED_TIME) {
		if (given(r, "judge"))
			return fail_key(r, "judge", "makes no sense where time is measured: there is one metric");
		p->judged = 1u << TY_X_MEAN;
	}
	p->seeded = given(r, "seed");
	return 0;
}

int ty_plan_parse(struct ty_plan *p, const char *path, const char *text, size_t len, char *err)
{
	struct reader r = { .plan = p };
	memset(p, 0, sizeof *p);
	p->ready_timeout = 30 * SEC;
	p->stop_timeout = 10 * SEC;
	p->stop = SIGTERM;
	p->repetitions = 5;
	p->warmup = 1;
	p->judged = (1u << TY_X_COUNT) - 1;
	int rc = ty_yaml_open(&r.yaml, path, text, len, err);
	if (rc < 0)
		return rc;
	rc = ty_yaml_document(r.yaml, "experiment", read_pair, &r);
	if (rc == 0)
		rc = complete(&r);
	ty_yaml_close(r.yaml);
	free(r.base);
	if (rc < 0)
		ty_plan_free(p);
	return rc;
}

void ty_plan_free(struct ty_plan *p)
{
	for (size_t i = 0; i < p->nvariants; i++)
		ty_variant_free(&p->variant[i]);
	free(p->variant);
	free(p->load);
	free(p->ready);
	free(p->setup);
	free(p->cleanup);
	memset(p, 0, sizeof *p);
}

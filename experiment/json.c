/* SPDX-License-Identifier: MIT
 *
 * The verdict for programs; docs/JSON.md has the fields.  Runs in `tarry
 * experiment`.  Must stay true: fields are added, never renamed or taken away. */
#include "analyze/json.h"

#include <math.h>
#include <string.h>
#include "analyze/output.h"
#include "experiment/judge.h"

#define FORMAT 1

static json_t *effect(const struct ty_effect *e)
{
	json_t *o = json_object();
	ty_json_set(o, "pairs", ty_json_integer(e->pairs));
	ty_json_set(o, "base", ty_json_real(e->base));
	ty_json_set(o, "value", ty_json_real(e->value));
	ty_json_set(o, "ratio", ty_json_real(e->ratio));
	ty_json_set(o, "ratio_low", ty_json_real(e->low));
	ty_json_set(o, "ratio_high", ty_json_real(e->high));
	ty_json_set(o, "p", ty_json_real(e->p));
	ty_json_set(o, "p_corrected", ty_json_real(e->p_holm));
	ty_json_set(o, "base_variation", ty_json_real(e->cv));
	ty_json_set(o, "tolerance", ty_json_real(e->tolerance));
	ty_json_set(o, "verdict", json_string(ty_e_verdict_name(e->verdict)));
	ty_json_set(o, "why", ty_json_text(ty_e_verdict_why(e->verdict)));
	return o;
}

static json_t *variants(const struct ty_samples *s, const struct ty_judged *j)
{
	json_t *a = json_array();
	for (size_t i = 0; i < s->nvariants; i++) {
		json_t *o = json_object(), *metrics = json_object();
		if (i == s->base)
			json_decref(metrics), metrics = json_null();
		for (unsigned m = 0; i != s->base && m < TY_X_COUNT; m++)
			if (ty_x_metric_there(s, m))
				ty_json_set(metrics, ty_x_metric_name((enum ty_x_metric)m, s->measured),
					    effect(ty_effect(j, i, m)));
		ty_json_set(o, "name", json_string(s->variant[i]));
		ty_json_set(o, "metrics", metrics);
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *failures(const struct ty_samples *s)
{
	json_t *a = json_array();
	for (size_t i = 0; i < s->n; i++) {
		if (!s->v[i].why[0])
			continue;
		json_t *o = json_object();
		ty_json_set(o, "repetition", ty_json_integer(s->v[i].repetition));
		ty_json_set(o, "variant", json_string(s->variant[s->v[i].variant]));
		ty_json_set(o, "why", ty_json_text(s->v[i].why));
		json_array_append_new(a, o);
	}
	return a;
}

/* The comments of the file of samples. */
static json_t *provenance(const struct ty_samples *s)
{
	json_t *o = json_object();
	for (size_t i = 0; i < s->about.n; i++) {
		char key[64];
		const char *colon = strstr(s->about.v[i], ": ");
		if (!colon || colon - s->about.v[i] >= (long)sizeof key)
			continue;
		snprintf(key, sizeof key, "%.*s", (int)(colon - s->about.v[i]), s->about.v[i]);
		json_t *name = ty_json_text(key);
		ty_json_set(o, json_is_string(name) ? json_string_value(name) : "?", ty_json_text(colon + 2));
		json_decref(name);
	}
	return o;
}

int ty_experiment_json(const struct ty_samples *s, const struct ty_judged *j, char *err)
{
	json_t *o = json_object();
	ty_json_set(o, "format", json_integer(FORMAT));
	ty_json_set(o, "samples", ty_json_text(s->path));
	ty_json_set(o, "provenance", provenance(s));
	ty_json_set(o, "base", json_string(s->variant[s->base]));
	ty_json_set(o, "measured", json_string(ty_measured_name(s->measured)));
	ty_json_set(o, "repetitions", ty_json_integer(s->repetitions));
	ty_json_set(o, "seed", ty_json_integer(s->seed));
	ty_json_set(o, "complete", json_boolean(ty_samples_complete(s)));
	ty_json_set(o, "end", ty_json_text(s->end));
	ty_json_set(o, "variants", variants(s, j));
	ty_json_set(o, "failed", failures(s));
	ty_json_set(o, "judged", ty_json_integer(j->tests));
	ty_json_set(o, "worse", ty_json_integer(j->worse));
	ty_json_set(o, "better", ty_json_integer(j->better));
	int e = json_dumpf(o, stdout, JSON_INDENT(1)) || putchar('\n') == EOF;
	json_decref(o);
	return ty_output_end(e, err);
}

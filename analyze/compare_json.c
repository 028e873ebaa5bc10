/* SPDX-License-Identifier: MIT
 *
 * `tarry compare` for programs; docs/JSON.md has the fields.  Runs in readers.
 * Must stay true: fields are added, never renamed or taken away. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "analyze/output.h"
#include "analyze/json.h"
#include "analyze/compare.h"
#include "analyze/names.h"

#define FORMAT 1

static json_t *metric(const struct ty_metric *m)
{
	json_t *o = json_object();
	ty_json_set(o, "base_ns", ty_json_real(m->base.value));
	ty_json_set(o, "new_ns", ty_json_real(m->now.value));
	ty_json_set(o, "base_se_ns", ty_json_real(m->base.se));
	ty_json_set(o, "new_se_ns", ty_json_real(m->now.se));
	ty_json_set(o, "base_variation", ty_json_real(m->base.cv));
	ty_json_set(o, "base_counts", ty_json_integer(m->base.counts));
	ty_json_set(o, "new_counts", ty_json_integer(m->now.counts));
	ty_json_set(o, "change", ty_json_real(m->change));
	ty_json_set(o, "change_se", ty_json_real(m->change_se));
	ty_json_set(o, "tolerance", ty_json_real(m->tolerance));
	ty_json_set(o, "verdict", json_string(ty_verdict_name(m->verdict)));
	return o;
}

static json_t *site(const struct ty_comparison *c, uint32_t i)
{
	static const char *const share[2] = { "base_share", "new_share" }, *const se[2] = { "base_share_se",
											    "new_share_se" };
	static const char *const total[2] = { "base_total_ns", "new_total_ns" };
	char buf[TY_NAME_MAX];
	json_t *o = metric(&c->found.site[i]);
	bool running = i == c->match.n;
	for (int side = 0; side < 2; side++) {
		const struct ty_result *r = &c->side[side].res;
		const struct ty_share *h = running ? &r->running : &r->site[i];
		ty_json_set(o, share[side], r->valid ? ty_json_real(h->share) : json_null());
		ty_json_set(o, se[side], r->valid && r->blocks ? ty_json_real(h->se) : json_null());
		ty_json_set(o, total[side], running ? json_null() : ty_json_integer(c->match.total[side][i]));
	}
	int side = !running && c->match.key[0][i] == TY_NONE;
	const struct run *r = &c->run[side];
	ty_json_set(o, "operation",
	    running ? json_string("running") : ty_json_text(ty_site_operation(r, c->match.key[side][i])));
	ty_json_set(o, "function", running ? json_null() : ty_json_text(ty_site_function(r, c->match.key[side][i], buf)));
	return o;
}

static json_t *sites(const struct ty_comparison *c)
{
	json_t *a = json_array();
	size_t n = c->requests ? c->found.nrank : c->match.n;
	for (size_t i = 0; i < n && (!c->run[0].opt.top || i < c->run[0].opt.top); i++) {
		uint32_t k = c->requests ? c->found.rank[i] : (uint32_t)i;
		if (c->requests || c->match.total[0][k] || c->match.total[1][k])
			json_array_append_new(a, site(c, k));
	}
	return a;
}

int ty_compare_json(const struct ty_comparison *c, char *err)
{
	static const char *const names[2] = { "base", "new" };
	struct ty_provenance p[TY_PROVENANCE];
	json_t *o = json_object(), *latency = json_object(), *differs = json_array();
	size_t n = ty_provenance(c, p);
	ty_json_set(o, "format", json_integer(FORMAT));
	for (int i = 0; i < 2; i++) {
		json_t *s = json_object();
		ty_json_set(s, "store", ty_json_text(c->run[i].opt.store));
		ty_json_set(s, "rule", json_string(ty_rule_name(c->run[i].rule)));
		ty_json_set(s, "requests", ty_json_integer(c->side[i].n));
		ty_json_set(o, names[i], s);
	}
	for (size_t i = 0; i < n; i++) {
		json_t *d = json_object();
		ty_json_set(d, "key", json_string(p[i].key));
		ty_json_set(d, "base", ty_json_text(p[i].text[0]));
		ty_json_set(d, "new", ty_json_text(p[i].text[1]));
		json_array_append_new(differs, d);
		free(p[i].text[0]);
		free(p[i].text[1]);
	}
	ty_json_set(o, "provenance", differs);
	for (unsigned i = 0; c->requests && i < TY_M_COUNT; i++)
		ty_json_set(latency, ty_metric_name((enum ty_metric_id)i), metric(&c->found.latency[i]));
	ty_json_set(o, "latency", latency);
	ty_json_set(o, "sites", sites(c));
	ty_json_set(o, "tolerance", ty_json_real(c->floor));
	ty_json_set(o, "judged", ty_json_integer(c->found.judged));
	ty_json_set(o, "worse", ty_json_integer(c->found.worse));
	ty_json_set(o, "better", ty_json_integer(c->found.better));
	int e = json_dumpf(o, stdout, JSON_INDENT(1)) || putchar('\n') == EOF || fflush(stdout);
	json_decref(o);
	return ty_output_end(e, err);
}

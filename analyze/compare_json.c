/* SPDX-License-Identifier: MIT
 *
 * `tarry compare` for programs; tarry-compare(1) has the fields.  Runs in
 * readers.  Must stay true: fields are added, never renamed or taken away. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "analyze/compare.h"
#include "analyze/names.h"

#define FORMAT 1

static json_t *real(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *integer(uint64_t x)
{
	return json_integer((json_int_t)(x > INT64_MAX ? INT64_MAX : x));
}

static json_t *text(const char *s)
{
	json_t *j = s && *s ? json_string(s) : NULL;
	if (j || !s || !*s)
		return j ? j : json_null();
	char *copy = strdup(s); /* not UTF-8 */
	for (char *p = copy; p && *p; p++)
		*p = (unsigned char)*p >= 0x80 ? '?' : *p;
	j = copy ? json_string(copy) : NULL;
	free(copy);
	return j ? j : json_null();
}

static void set(json_t *o, const char *key, json_t *value)
{
	json_object_set_new(o, key, value);
}

static json_t *metric(const struct ty_metric *m)
{
	json_t *o = json_object();
	set(o, "base_ns", real(m->base.value));
	set(o, "new_ns", real(m->now.value));
	set(o, "base_se_ns", real(m->base.se));
	set(o, "new_se_ns", real(m->now.se));
	set(o, "base_variation", real(m->base.cv));
	set(o, "base_counts", integer(m->base.counts));
	set(o, "new_counts", integer(m->now.counts));
	set(o, "change", real(m->change));
	set(o, "change_se", real(m->change_se));
	set(o, "tolerance", real(m->tolerance));
	set(o, "verdict", json_string(ty_verdict_name(m->verdict)));
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
		set(o, share[side], r->valid ? real(h->share) : json_null());
		set(o, se[side], r->valid && r->blocks ? real(h->se) : json_null());
		set(o, total[side], running ? json_null() : integer(c->match.total[side][i]));
	}
	int side = !running && c->match.key[0][i] == TY_NONE;
	const struct run *r = &c->run[side];
	set(o, "operation",
	    running ? json_string("running") : text(ty_site_operation(r, c->match.key[side][i])));
	set(o, "function", running ? json_null() : text(ty_site_function(r, c->match.key[side][i], buf)));
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
	struct ty_provenance p[8];
	json_t *o = json_object(), *latency = json_object(), *differs = json_array();
	size_t n = ty_provenance(c, p);
	set(o, "format", json_integer(FORMAT));
	for (int i = 0; i < 2; i++) {
		json_t *s = json_object();
		set(s, "store", text(c->run[i].opt.store));
		set(s, "rule", json_string(ty_rule_name(c->run[i].rule)));
		set(s, "requests", integer(c->side[i].n));
		set(o, names[i], s);
	}
	for (size_t i = 0; i < n; i++) {
		json_t *d = json_object();
		set(d, "key", json_string(p[i].key));
		set(d, "base", text(p[i].text[0]));
		set(d, "new", text(p[i].text[1]));
		json_array_append_new(differs, d);
		free(p[i].text[0]);
		free(p[i].text[1]);
	}
	set(o, "provenance", differs);
	for (unsigned i = 0; c->requests && i < TY_M_COUNT; i++)
		set(latency, ty_metric_name((enum ty_metric_id)i), metric(&c->found.latency[i]));
	set(o, "latency", latency);
	set(o, "sites", sites(c));
	set(o, "tolerance", real(c->floor));
	set(o, "judged", integer(c->found.judged));
	set(o, "worse", integer(c->found.worse));
	set(o, "better", integer(c->found.better));
	int e = json_dumpf(o, stdout, JSON_INDENT(1)) || putchar('\n') == EOF || fflush(stdout);
	json_decref(o);
	return e ? ty_err(err, -EIO, "cannot write: %s", strerror(errno)) : 0;
}

/* SPDX-License-Identifier: MIT
 *
 * The tail for programs (docs/JSON.md).  Runs in readers. */
#include "analyze/output.h"
#include "analyze/json.h"
#include "analyze/objects.h"
#include "analyze/tail.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "analyze/report.h"

#define FORMAT 1

static json_t *site_json(const struct ty_tail *t, uint32_t i)
{
	const struct ty_tail_site *s = &t->site[i];
	char buf[TY_NAME_MAX], id[17];
	json_t *o = json_object();
	ty_json_set(o, "site", i == TY_SITE_HELD ? json_null() : json_string(ty_site_id(t->r, i, id)));
	ty_json_set(o, "operation", ty_json_text(ty_site_operation(t->r, i)));
	ty_json_set(o, "function", ty_json_text(ty_site_function(t->r, i, buf)));
	ty_json_set(o, "object", ty_json_text(ty_site_object_name(t->r, i, buf)));
	ty_json_set(o, "other_site", json_boolean(s->other));
	ty_json_set(o, "share", ty_json_real(s->share));
	ty_json_set(o, "share_se", t->blocks ? ty_json_real(s->se) : json_null());
	ty_json_set(o, "more", ty_json_real(s->more));
	ty_json_set(o, "more_se", t->blocks ? ty_json_real(s->more_se) : json_null());
	ty_json_set(o, "longer", ty_json_real(s->longer));
	ty_json_set(o, "longer_se", t->blocks ? ty_json_real(s->longer_se) : json_null());
	ty_json_set(o, "waits_per_request", ty_json_real(s->n));
	ty_json_set(o, "waits_per_request_tail", ty_json_real(s->n_tail));
	ty_json_set(o, "per_request_ns", ty_json_real(s->t));
	ty_json_set(o, "per_request_tail_ns", ty_json_real(s->t_tail));
	ty_json_set(o, "r2_count", ty_json_real(s->r2_count));
	ty_json_set(o, "r2_time", ty_json_real(s->r2_time));
	for (int tail = 0; tail < 2; tail++) {
		json_t *a = json_array();
		for (unsigned k = 0; k < TY_REPEATS; k++)
			json_array_append_new(a, ty_json_integer(s->repeat[tail][k]));
		ty_json_set(o, tail ? "repeats_tail" : "repeats_others", a);
	}
	return o;
}

static json_t *wait_json(const struct ty_tail *t, const struct ty_slow *s, const struct ty_slow_wait *w)
{
	const struct run *r = t->r;
	char id[17], buf[TY_NAME_MAX], object[24];
	json_t *o = json_object();
	bool held = w->part.site == TY_SITE_HELD, woken = w->waker < r->t.nthreads;
	snprintf(object, sizeof object, "0x%" PRIx64, w->object);
	ty_json_set(o, "offset_ns", ty_json_integer(w->part.begin - s->begin));
	ty_json_set(o, "duration_ns", ty_json_integer(w->part.end - w->part.begin));
	ty_json_set(o, "site", held ? json_null() : json_string(ty_site_id(r, w->part.site, id)));
	ty_json_set(o, "operation", ty_json_text(ty_site_operation(r, w->part.site)));
	ty_json_set(o, "function", ty_json_text(ty_site_function(r, w->part.site, buf)));
	ty_json_set(o, "thread", w->part.thread < r->t.nthreads ? ty_json_integer(r->t.threads[w->part.thread].tid) : json_null());
	ty_json_set(o, "object", w->found ? json_string(object) : json_null());
	ty_json_set(o, "object_name", ty_json_text(w->found ? ty_variable_name(r, w->part.thread, w->object) : NULL));
	ty_json_set(o, "waker_thread", woken ? ty_json_integer(r->t.threads[w->waker].tid) : json_null());
	ty_json_set(o, "waker_function", woken && w->waker_path < r->t.npaths
					 ? ty_json_text(ty_path_function(r, w->waker_path, buf)) : json_null());
	ty_json_set(o, "waker_offset_ns", woken ? ty_json_integer(w->waker_at - s->begin) : json_null());
	return o;
}

static json_t *slow_json(const struct ty_tail *t, const struct ty_slow *s)
{
	const struct run *r = t->r;
	const struct ty_thread_info *th = &r->t.threads[s->thread];
	json_t *o = json_object(), *waits = json_array();
	ty_json_set(o, "begin_ns", ty_json_integer(s->begin));
	ty_json_set(o, "latency_ns", ty_json_integer(s->latency));
	ty_json_set(o, "thread", ty_json_integer(th->tid));
	ty_json_set(o, "thread_name", ty_json_text(th->name));
	ty_json_set(o, "class", r->store && s->cls != TY_NONE ? ty_json_text(ty_store_label(r->store, s->cls)) : json_null());
	ty_json_set(o, "summed_waits", ty_json_integer(s->summed));
	ty_json_set(o, "summed_ns", ty_json_integer(s->summed_ns));
	for (size_t i = 0; i < s->waits; i++)
		json_array_append_new(waits, wait_json(t, s, &s->wait[i]));
	ty_json_set(o, "waits", waits);
	return o;
}

json_t *ty_tail_object(const struct ty_tail *t)
{
	static const char *const names[] = { "other_site", "more_waits", "longer_waits" };
	const struct run *r = t->r;
	char doubt[TY_NAME_MAX], id[17];
	json_t *root = json_object(), *head = json_object(), *a, *o;
	ty_json_set(head, "format", ty_json_integer(FORMAT));
	ty_json_set(head, "version", json_string(TY_VERSION));
	ty_json_set(head, "store", ty_json_text(r->opt.store));
	ty_json_set(head, "rule", json_string(ty_rule_name(r->rule)));
	ty_json_set(head, "where", ty_json_text(r->where ? r->where->text : NULL));
	ty_json_set(head, "requests", ty_json_integer(t->n));
	ty_json_set(head, "left_out", ty_json_integer(r->counts.left_out));
	ty_json_set(head, "doubt", ty_json_text(ty_shares_doubt(r, doubt)));
	ty_json_set(root, "tarry", head);
	ty_json_set(root, "quantile", ty_json_real(t->q));
	ty_json_set(root, "from_ns", ty_json_integer(t->from));
	ty_json_set(root, "count", ty_json_integer(t->n_tail));
	ty_json_set(root, "mean_ns", ty_json_real(t->mean));
	ty_json_set(root, "mean_tail_ns", ty_json_real(t->mean_tail));
	ty_json_set(root, "excess_ns", ty_json_real(t->excess));
	ty_json_set(root, "share_sum", t->valid ? ty_json_real(t->sum) : json_null());
	ty_json_set(root, "causes", a = json_array());
	for (size_t i = 0; i < t->causes; i++) {
		const struct ty_cause_row *c = &t->cause[i];
		json_array_append_new(a, o = json_object());
		ty_json_set(o, "cause", json_string(names[c->cause]));
		ty_json_set(o, "site", c->site == TY_SITE_HELD ? json_null() : json_string(ty_site_id(r, c->site, id)));
		ty_json_set(o, "share", ty_json_real(c->share));
		ty_json_set(o, "share_se", t->blocks ? ty_json_real(c->se) : json_null());
	}
	ty_json_set(root, "sites", a = json_array());
	for (uint32_t i = 0; i < r->sites.n; i++)
		if (t->site[i].n > 0)
			json_array_append_new(a, site_json(t, i));
	ty_json_set(root, "running", o = json_object());
	ty_json_set(o, "share", t->valid ? ty_json_real(t->running.share) : json_null());
	ty_json_set(o, "share_se", t->blocks ? ty_json_real(t->running.se) : json_null());
	ty_json_set(o, "per_request_ns", ty_json_real(t->running.t));
	ty_json_set(o, "per_request_tail_ns", ty_json_real(t->running.t_tail));
	ty_json_set(o, "r2_time", ty_json_real(t->running.r2_time));
	ty_json_set(root, "slowest", a = json_array());
	for (size_t i = 0; i < t->nslow; i++)
		json_array_append_new(a, slow_json(t, &t->slow[i]));
	return root;
}

int ty_tail_json(const struct ty_tail *t, char *err)
{
	json_t *root = ty_tail_object(t);
	int e = json_dumpf(root, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
	json_decref(root);
	putchar('\n');
	return ty_output_end(e, err);
}

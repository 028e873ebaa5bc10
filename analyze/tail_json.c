/* SPDX-License-Identifier: MIT
 *
 * The tail for programs (docs/JSON.md).  Runs in readers. */
#include "analyze/tail.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "analyze/report.h"

#define FORMAT 1

static json_t *real(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *integer(uint64_t x)
{
	return json_integer((json_int_t)(x > INT64_MAX ? INT64_MAX : x));
}

/* Text from a recording may be any bytes. */
static json_t *text(const char *s)
{
	json_t *j = s && *s ? json_string(s) : json_null();
	char *copy = j ? NULL : strdup(s);
	for (char *p = copy; p && *p; p++)
		*p = (unsigned char)*p >= 0x80 ? '?' : *p;
	if (copy)
		j = json_string(copy);
	free(copy);
	return j ? j : json_null();
}

static void set(json_t *o, const char *key, json_t *value)
{
	json_object_set_new(o, key, value);
}

static json_t *site_json(const struct ty_tail *t, uint32_t i)
{
	const struct ty_tail_site *s = &t->site[i];
	char buf[TY_NAME_MAX], id[17];
	json_t *o = json_object();
	set(o, "site", i == TY_SITE_HELD ? json_null() : json_string(ty_site_id(t->r, i, id)));
	set(o, "operation", text(ty_site_operation(t->r, i)));
	set(o, "function", text(ty_site_function(t->r, i, buf)));
	set(o, "object", text(ty_site_object_name(t->r, i, buf)));
	set(o, "other_site", json_boolean(s->other));
	set(o, "share", real(s->share));
	set(o, "share_se", t->blocks ? real(s->se) : json_null());
	set(o, "more", real(s->more));
	set(o, "more_se", t->blocks ? real(s->more_se) : json_null());
	set(o, "longer", real(s->longer));
	set(o, "longer_se", t->blocks ? real(s->longer_se) : json_null());
	set(o, "waits_per_request", real(s->n));
	set(o, "waits_per_request_tail", real(s->n_tail));
	set(o, "per_request_ns", real(s->t));
	set(o, "per_request_tail_ns", real(s->t_tail));
	set(o, "r2_count", real(s->r2_count));
	set(o, "r2_time", real(s->r2_time));
	for (int tail = 0; tail < 2; tail++) {
		json_t *a = json_array();
		for (unsigned k = 0; k < TY_REPEATS; k++)
			json_array_append_new(a, integer(s->repeat[tail][k]));
		set(o, tail ? "repeats_tail" : "repeats_others", a);
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
	set(o, "offset_ns", integer(w->part.begin - s->begin));
	set(o, "duration_ns", integer(w->part.end - w->part.begin));
	set(o, "site", held ? json_null() : json_string(ty_site_id(r, w->part.site, id)));
	set(o, "operation", text(ty_site_operation(r, w->part.site)));
	set(o, "function", text(ty_site_function(r, w->part.site, buf)));
	set(o, "thread", w->part.thread < r->t.nthreads ? integer(r->t.threads[w->part.thread].tid) : json_null());
	set(o, "object", w->found ? json_string(object) : json_null());
	set(o, "waker_thread", woken ? integer(r->t.threads[w->waker].tid) : json_null());
	set(o, "waker_function", woken && w->waker_path < r->t.npaths
					 ? text(ty_path_function(r, w->waker_path, buf)) : json_null());
	set(o, "waker_offset_ns", woken ? integer(w->waker_at - s->begin) : json_null());
	return o;
}

static json_t *slow_json(const struct ty_tail *t, const struct ty_slow *s)
{
	const struct run *r = t->r;
	const struct ty_thread_info *th = &r->t.threads[s->thread];
	json_t *o = json_object(), *waits = json_array();
	set(o, "begin_ns", integer(s->begin));
	set(o, "latency_ns", integer(s->end - s->begin));
	set(o, "thread", integer(th->tid));
	set(o, "thread_name", text(th->name));
	set(o, "class", r->store && s->cls != TY_NONE ? text(ty_store_label(r->store, s->cls)) : json_null());
	set(o, "summed_waits", integer(s->summed));
	set(o, "summed_ns", integer(s->summed_ns));
	for (size_t i = 0; i < s->waits; i++)
		json_array_append_new(waits, wait_json(t, s, &s->wait[i]));
	set(o, "waits", waits);
	return o;
}

int ty_tail_json(const struct ty_tail *t, char *err)
{
	static const char *const names[] = { "other_site", "more_waits", "longer_waits" };
	const struct run *r = t->r;
	char doubt[TY_NAME_MAX], id[17];
	json_t *root = json_object(), *head = json_object(), *a, *o;
	set(head, "format", integer(FORMAT));
	set(head, "version", json_string(TY_VERSION));
	set(head, "store", text(r->opt.store));
	set(head, "rule", json_string(ty_rule_name(r->rule)));
	set(head, "where", text(r->where ? r->where->text : NULL));
	set(head, "requests", integer(t->n));
	set(head, "left_out", integer(r->counts.left_out));
	set(head, "doubt", text(ty_shares_doubt(r, doubt)));
	set(root, "tarry", head);
	set(root, "quantile", real(t->q));
	set(root, "from_ns", integer(t->from));
	set(root, "count", integer(t->n_tail));
	set(root, "mean_ns", real(t->mean));
	set(root, "mean_tail_ns", real(t->mean_tail));
	set(root, "excess_ns", real(t->excess));
	set(root, "share_sum", t->valid ? real(t->sum) : json_null());
	set(root, "causes", a = json_array());
	for (size_t i = 0; i < t->causes; i++) {
		const struct ty_cause_row *c = &t->cause[i];
		json_array_append_new(a, o = json_object());
		set(o, "cause", json_string(names[c->cause]));
		set(o, "site", c->site == TY_SITE_HELD ? json_null() : json_string(ty_site_id(r, c->site, id)));
		set(o, "share", real(c->share));
		set(o, "share_se", t->blocks ? real(c->se) : json_null());
	}
	set(root, "sites", a = json_array());
	for (uint32_t i = 0; i < r->sites.n; i++)
		if (t->site[i].n > 0)
			json_array_append_new(a, site_json(t, i));
	set(root, "running", o = json_object());
	set(o, "share", t->valid ? real(t->running.share) : json_null());
	set(o, "share_se", t->blocks ? real(t->running.se) : json_null());
	set(o, "per_request_ns", real(t->running.t));
	set(o, "per_request_tail_ns", real(t->running.t_tail));
	set(o, "r2_time", real(t->running.r2_time));
	set(root, "slowest", a = json_array());
	for (size_t i = 0; i < t->nslow; i++)
		json_array_append_new(a, slow_json(t, &t->slow[i]));
	int e = json_dumpf(root, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
	json_decref(root);
	putchar('\n');
	return e || fflush(stdout) ? ty_err(err, -EIO, "cannot write: %s", strerror(errno)) : 0;
}

/* SPDX-License-Identifier: MIT
 *
 * `tarry blame` for programs; docs/BLAME.md has the fields.  Runs in readers.
 * Must stay true: fields are added, never renamed or taken away. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "analyze/blame.h"
#include "analyze/names.h"

#define FORMAT 1
#define CHAINS 1000 /* there may be tens of thousands, and the tail of them explains nothing */

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

static json_t *site(const struct ty_blame *b, uint32_t i)
{
	char buf[TY_NAME_MAX], id[17];
	if (i == TY_NONE)
		return json_null();
	json_t *o = json_object();
	set(o, "id", json_string(ty_site_id(b->r, i, id)));
	set(o, "operation", text(ty_site_operation(b->r, i)));
	set(o, "function", text(ty_site_function(b->r, i, buf)));
	return o;
}

static void shares(json_t *o, const struct ty_blame *b, const struct ty_result *res, uint32_t i)
{
	const struct ty_share *h = &res->site[i];
	bool ok = res->valid && b->r->rule != TY_RULE_NONE;
	set(o, "share", ok ? real(h->share) : json_null());
	set(o, "share_se", ok && res->blocks ? real(h->se) : json_null());
	set(o, "tail_share", ok ? real(h->tail) : json_null());
	set(o, "per_request_ns", ok ? real(h->mean) : json_null());
	set(o, "total_ns", integer(b->links.v[i].total));
	set(o, "segments", integer(b->links.v[i].count));
}

static json_t *pair(const struct ty_blame *b, uint32_t i)
{
	const struct ty_link *k = &b->links.v[i];
	const struct run *r = b->r;
	bool held = k->kind == TY_K_HELD || k->kind == TY_K_REACQUIRE, thread = k->thread < r->t.nthreads;
	char buf[TY_NAME_MAX];
	json_t *o = json_object();
	set(o, "waiter", site(b, k->waiter));
	set(o, "kind", json_string(ty_kind_name(k->kind)));
	set(o, "holder", site(b, k->holder));
	set(o, "object", text(k->kind == TY_K_KERNEL ? ty_site_object_name(r, k->waiter, buf) : NULL));
	set(o, "thread", thread ? integer(r->t.threads[k->thread].tid) : json_null());
	set(o, "thread_name", thread ? text(r->t.threads[k->thread].name) : json_null());
	shares(o, b, &b->pairs, i);
	set(o, "hold_known", held ? integer(k->hold_n) : json_null());
	set(o, "hold_mean_ns",
	    held && k->hold_n ? real((double)k->hold_total / (double)k->hold_n) : json_null());
	set(o, "hold_max_ns", held && k->hold_n ? integer(k->hold_max) : json_null());
	return o;
}

static json_t *root(const struct ty_blame *b, uint32_t i)
{
	json_t *o = json_object();
	set(o, "kind", json_string(ty_kind_name(b->links.v[i].kind)));
	set(o, "site", site(b, b->links.v[i].waiter));
	shares(o, b, &b->roots, i);
	return o;
}

static json_t *chain(const struct ty_blame *b, uint32_t i)
{
	json_t *o = json_object(), *steps = json_array();
	const struct ty_link *k = &b->links.v[i];
	shares(o, b, &b->chains, i);
	for (;;) {
		json_t *s = json_object();
		set(s, "waiter", site(b, k->waiter));
		set(s, "kind", json_string(ty_kind_name(k->kind)));
		set(s, "holder", site(b, k->holder));
		json_array_append_new(steps, s);
		if (!TY_NEXT_REAL(k->next))
			break;
		k = &b->links.v[k->next];
	}
	bool held = ty_kind_named(k->kind) && k->kind != TY_K_WOKEN;
	set(o, "end",
	    json_string(!held                      ? ty_kind_name(k->kind) :
			k->next == TY_NEXT_RUNNING ? "running" :
			k->next == TY_NEXT_CYCLE   ? "cycle" :
			k->next == TY_NEXT_DEEP    ? "deep" :
						     "history"));
	set(o, "steps", steps);
	return o;
}

/* otherwise: how many if --top does not say. */
static json_t *all(const struct ty_blame *b, const uint32_t *rank, size_t n, size_t otherwise,
		   json_t *(*one)(const struct ty_blame *b, uint32_t i))
{
	json_t *a = json_array();
	size_t top = b->r->opt.top ? b->r->opt.top : otherwise;
	for (size_t i = 0; i < n && i < top; i++)
		json_array_append_new(a, one(b, rank[i]));
	return a;
}

static json_t *classes(const struct ty_blame *b)
{
	static const char *const names[TY_CLASS_COUNT + 1] = {
#define TY_CLASS(id, name, what) [TY_CLASS_##id] = name,
#include "tarry/wrap.def"
		[TY_CLASS_COUNT] = "other",
	};
	json_t *o = json_object();
	for (unsigned i = 0; i <= TY_CLASS_COUNT; i++) {
		if (!b->cls[i].waits)
			continue;
		json_t *c = json_object();
		uint64_t named = 0, sum = 0;
		for (unsigned k = TY_K_HELD; k < TY_K_KINDS; k++) {
			if (b->cls[i].ns[k])
				set(c, ty_kind_name(k), integer(b->cls[i].ns[k]));
			named += ty_kind_named(k) ? b->cls[i].ns[k] : 0;
			sum += b->cls[i].ns[k];
		}
		set(c, "waits", integer(b->cls[i].waits));
		set(c, "total_ns", integer(sum));
		set(c, "named_ns", integer(named));
		set(o, names[i], c);
	}
	return o;
}

static json_t *limits(const struct ty_blame *b)
{
	json_t *o = json_object();
	set(o, "late", integer(b->order.late));
	set(o, "too_late", integer(b->order.too_late));
	set(o, "cycles", integer(b->counts.cycles));
	set(o, "deep", integer(b->counts.deep));
	set(o, "links_full", integer(b->counts.links_full));
	set(o, "parts_full", integer(b->counts.segs_full));
	set(o, "history", integer(b->counts.history));
	set(o, "history_ns", integer(b->counts.history_ns));
	set(o, "objects_dropped", integer(b->wakes.evicted));
	return o;
}

int ty_blame_json(struct ty_blame *b, char *err)
{
	const struct ty_result *q = &b->pairs;
	json_t *o = json_object(), *requests = json_object();
	set(o, "format", json_integer(FORMAT));
	set(o, "store", text(b->r->opt.store));
	set(requests, "rule", json_string(ty_rule_name(b->r->rule)));
	set(requests, "count", integer(q->n));
	set(requests, "mean_ns", q->n ? real(q->mean) : json_null());
	set(requests, "var_ns2", q->n ? real(q->var) : json_null());
	set(requests, "running_share", q->valid ? real(q->running.share) : json_null());
	set(requests, "held_up_share", q->valid ? real(q->site[TY_SITE_HELD].share) : json_null());
	set(requests, "share_sum", q->valid ? real(q->sum) : json_null());
	set(o, "requests", requests);
	set(o, "classes", classes(b));
	set(o, "pairs", all(b, b->rank_pairs, b->npairs, b->npairs, pair));
	set(o, "roots", all(b, b->rank_roots, b->nroots, b->nroots, root));
	set(o, "chains", all(b, b->rank_chains, b->nchains, CHAINS, chain));
	set(o, "limits", limits(b));
	int e = json_dumpf(o, stdout, JSON_INDENT(1)) || putchar('\n') == EOF || fflush(stdout);
	json_decref(o);
	return e ? ty_err(err, -EIO, "cannot write: %s", strerror(errno)) : 0;
}

/* SPDX-License-Identifier: MIT
 *
 * `tarry blame` for programs; docs/JSON.md has the fields.  Runs in readers.
 * Must stay true: fields are added, never renamed or taken away. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "analyze/output.h"
#include "analyze/json.h"
#include "analyze/blame.h"
#include "analyze/names.h"
#include "analyze/objects.h"

#define FORMAT 1
#define CHAINS 1000 /* there may be tens of thousands, and the tail of them explains nothing */

static json_t *site(const struct ty_blame *b, uint32_t i)
{
	char buf[TY_NAME_MAX], id[17];
	if (i == TY_NONE)
		return json_null();
	json_t *o = json_object();
	ty_json_set(o, "id", json_string(ty_site_id(b->r, i, id)));
	ty_json_set(o, "operation", ty_json_text(ty_site_operation(b->r, i)));
	ty_json_set(o, "function", ty_json_text(ty_site_function(b->r, i, buf)));
	return o;
}

static void shares(json_t *o, const struct ty_blame *b, const struct ty_result *res, uint32_t i)
{
	const struct ty_share *h = &res->site[i];
	bool ok = res->valid && b->r->rule != TY_RULE_NONE;
	ty_json_set(o, "share", ok ? ty_json_real(h->share) : json_null());
	ty_json_set(o, "share_se", ok && res->blocks ? ty_json_real(h->se) : json_null());
	ty_json_set(o, "tail_share", ok ? ty_json_real(h->tail) : json_null());
	ty_json_set(o, "per_request_ns", ok ? ty_json_real(h->mean) : json_null());
	ty_json_set(o, "total_ns", ty_json_integer(b->links.v[i].total));
	ty_json_set(o, "segments", ty_json_integer(b->links.v[i].count));
}

static json_t *pair(const struct ty_blame *b, uint32_t i)
{
	const struct ty_link *k = &b->links.v[i];
	const struct run *r = b->r;
	bool held = k->kind == TY_K_HELD || k->kind == TY_K_REACQUIRE, thread = k->thread < r->t.nthreads;
	char buf[TY_NAME_MAX];
	json_t *o = json_object();
	ty_json_set(o, "waiter", site(b, k->waiter));
	ty_json_set(o, "kind", json_string(ty_kind_name(k->kind)));
	ty_json_set(o, "holder", site(b, k->holder));
	ty_json_set(o, "object", ty_json_text(ty_kind_kernel(k->kind) ? ty_site_object_name(r, k->waiter, buf) : NULL));
	ty_json_set(o, "thread", thread ? ty_json_integer(r->t.threads[k->thread].tid) : json_null());
	ty_json_set(o, "thread_name", thread ? ty_json_text(r->t.threads[k->thread].name) : json_null());
	shares(o, b, &b->pairs, i);
	ty_json_set(o, "hold_known", held ? ty_json_integer(k->hold_n) : json_null());
	ty_json_set(o, "hold_mean_ns",
	    held && k->hold_n ? ty_json_real((double)k->hold_total / (double)k->hold_n) : json_null());
	ty_json_set(o, "hold_max_ns", held && k->hold_n ? ty_json_integer(k->hold_max) : json_null());
	return o;
}

static json_t *root(const struct ty_blame *b, uint32_t i)
{
	json_t *o = json_object();
	ty_json_set(o, "kind", json_string(ty_kind_name(b->links.v[i].kind)));
	ty_json_set(o, "site", site(b, b->links.v[i].waiter));
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
		ty_json_set(s, "waiter", site(b, k->waiter));
		ty_json_set(s, "kind", json_string(ty_kind_name(k->kind)));
		ty_json_set(s, "holder", site(b, k->holder));
		json_array_append_new(steps, s);
		if (!TY_NEXT_REAL(k->next))
			break;
		k = &b->links.v[k->next];
	}
	bool held = ty_kind_named(k->kind) && k->kind != TY_K_WOKEN;
	ty_json_set(o, "end",
	    json_string(!held                      ? ty_kind_name(k->kind) :
			k->next == TY_NEXT_RUNNING ? "running" :
			k->next == TY_NEXT_CYCLE   ? "cycle" :
			k->next == TY_NEXT_DEEP    ? "deep" :
						     "history"));
	ty_json_set(o, "steps", steps);
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
				ty_json_set(c, ty_kind_name(k), ty_json_integer(b->cls[i].ns[k]));
			named += ty_kind_named(k) ? b->cls[i].ns[k] : 0;
			sum += b->cls[i].ns[k];
		}
		ty_json_set(c, "waits", ty_json_integer(b->cls[i].waits));
		ty_json_set(c, "total_ns", ty_json_integer(sum));
		ty_json_set(c, "named_ns", ty_json_integer(named));
		ty_json_set(o, names[i], c);
	}
	return o;
}

/* Of all, also of those that are not listed. */
static json_t *counts(const struct ty_blame *b)
{
	json_t *o = json_object();
	ty_json_set(o, "pairs", ty_json_integer(b->npairs));
	ty_json_set(o, "roots", ty_json_integer(b->nroots));
	ty_json_set(o, "chains", ty_json_integer(b->nchains));
	return o;
}

static json_t *limits(const struct ty_blame *b)
{
	json_t *o = json_object();
	ty_json_set(o, "late", ty_json_integer(b->order.late));
	ty_json_set(o, "too_late", ty_json_integer(b->order.too_late));
	ty_json_set(o, "cycles", ty_json_integer(b->counts.cycles));
	ty_json_set(o, "deep", ty_json_integer(b->counts.deep));
	ty_json_set(o, "links_full", ty_json_integer(b->counts.links_full));
	ty_json_set(o, "parts_full", ty_json_integer(b->counts.segs_full));
	ty_json_set(o, "history", ty_json_integer(b->counts.history));
	ty_json_set(o, "history_ns", ty_json_integer(b->counts.history_ns));
	ty_json_set(o, "objects_dropped", ty_json_integer(b->wakes.evicted));
	return o;
}

json_t *ty_blame_object(const struct ty_blame *b)
{
	const struct ty_result *q = &b->pairs;
	json_t *o = json_object(), *requests = json_object();
	ty_json_set(o, "format", json_integer(FORMAT));
	ty_json_set(o, "store", ty_json_text(b->r->opt.store));
	ty_json_set(requests, "rule", json_string(ty_rule_name(b->r->rule)));
	ty_json_set(requests, "count", ty_json_integer(q->n));
	ty_json_set(requests, "mean_ns", q->n ? ty_json_real(q->mean) : json_null());
	ty_json_set(requests, "var_ns2", q->n ? ty_json_real(q->var) : json_null());
	ty_json_set(requests, "running_share", q->valid ? ty_json_real(q->running.share) : json_null());
	ty_json_set(requests, "held_up_share", q->valid ? ty_json_real(q->site[TY_SITE_HELD].share) : json_null());
	ty_json_set(requests, "share_sum", q->valid ? ty_json_real(q->sum) : json_null());
	ty_json_set(o, "requests", requests);
	ty_json_set(o, "classes", classes(b));
	ty_json_set(o, "pairs", all(b, b->rank_pairs, b->npairs, b->npairs, pair));
	ty_json_set(o, "roots", all(b, b->rank_roots, b->nroots, b->nroots, root));
	ty_json_set(o, "chains", all(b, b->rank_chains, b->nchains, CHAINS, chain));
	ty_json_set(o, "counts", counts(b));
	ty_json_set(o, "limits", limits(b));
	return o;
}

int ty_blame_json(struct ty_blame *b, char *err)
{
	json_t *o = ty_blame_object(b);
	int e = json_dumpf(o, stdout, JSON_INDENT(1)) || putchar('\n') == EOF || fflush(stdout);
	json_decref(o);
	return ty_output_end(e, err);
}

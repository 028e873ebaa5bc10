/* SPDX-License-Identifier: MIT
 *
 * The report for programs.  docs/JSON.md is its contract: fields are added,
 * never renamed or taken away; another meaning is another format number.  Runs
 * in readers. */
#include "analyze/output.h"
#include "analyze/json.h"
#include "analyze/orders.h"
#include "analyze/objects.h"
#include "analyze/report.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

#define FORMAT 1

static int add_line(void *arg, const struct ty_line *l)
{
	void **a = arg;
	const struct run *r = a[0];
	json_t *o = json_object();
	bool named = l->symbol && l->symbol->function;
	char offset[24];
	snprintf(offset, sizeof offset, "0x%llx", (unsigned long long)l->frame->offset);
	ty_json_set(o, "function", ty_json_text(named ? l->symbol->function : NULL));
	ty_json_set(o, "module", l->frame->module < 0 ? json_null() : ty_json_text(ty_module_name(&r->t, l->frame->module)));
	ty_json_set(o, "offset", json_string(offset));
	ty_json_set(o, "file", ty_json_text(l->symbol ? l->symbol->file : NULL));
	ty_json_set(o, "line", l->symbol && l->symbol->line ? ty_json_integer(l->symbol->line) : json_null());
	ty_json_set(o, "inlined", json_boolean(l->inlined));
	json_array_append_new(a[1], o);
	return 0;
}

static const char *path_kind_name(enum ty_path_kind k)
{
	static const char *const names[TY_PATH_KINDS] = { "complete", "cut", "leaf", "miss", "not_taken" };
	return names[k];
}

static json_t *site_json(const struct run *r, uint32_t i)
{
	const struct ty_site *s = &r->sites.v[i];
	const struct ty_share *h = &r->res.site[i];
	bool requests = r->rule != TY_RULE_NONE;
	char buf[TY_NAME_MAX], id[17];
	json_t *o = json_object(), *path = json_array();
	const char *class_name = s->op < r->t.nops ? r->t.ops[s->op].class_name : NULL;
	void *arg[2] = { (void *)(uintptr_t)r, path };
	ty_json_set(o, "id", json_string(ty_site_id(r, i, id)));
	ty_json_set(o, "operation", r->sites.by == TY_BY_FUNCTION || s->ops ? json_null() : ty_json_text(ty_site_operation(r, i)));
	ty_json_set(o, "class", r->sites.by == TY_BY_FUNCTION ? json_null() : ty_json_text(class_name));
	ty_json_set(o, "function", ty_json_text(ty_site_function(r, i, buf)));
	ty_json_set(o, "object", ty_json_text(ty_site_object_name(r, i, buf)));
	ty_json_set(o, "path_kind", json_string(path_kind_name(ty_site_has_path(r, i) ? r->names.kind[s->path]
										: TY_PATH_NOT_TAKEN)));
	if (ty_site_has_path(r, i))
		ty_path_each(r, s->path, add_line, arg);
	ty_json_set(o, "path", path);
	ty_json_set(o, "share", requests ? ty_json_real(h->share) : json_null());
	ty_json_set(o, "share_se", requests && r->res.blocks ? ty_json_real(h->se) : json_null());
	ty_json_set(o, "tail_share", requests ? ty_json_real(h->tail) : json_null());
	ty_json_set(o, "per_request_ns", requests ? ty_json_real(h->mean) : json_null());
	ty_json_set(o, "waits", ty_json_integer(s->waits));
	ty_json_set(o, "waits_per_request", requests && r->res.n ? ty_json_real((double)s->waits / (double)r->res.n) : json_null());
	ty_json_set(o, "total_ns", ty_json_integer(s->total));
	ty_json_set(o, "mean_ns", ty_json_real(ty_site_mean(s)));
	ty_json_set(o, "sd_ns", ty_json_real(ty_site_sd(s)));
	ty_json_set(o, "p99_ns", ty_json_integer(ty_site_p99(s)));
	ty_json_set(o, "max_ns", ty_json_integer(s->max));
	ty_json_set(o, "waits_all", ty_json_integer(s->waits_all));
	ty_json_set(o, "total_all_ns", ty_json_integer(s->total_all));
	return o;
}

static json_t *split_json(const struct ty_result *q)
{
	if (!q->ncls)
		return json_null();
	json_t *o = json_object();
	ty_json_set(o, "between_ns2", ty_json_real(q->var_between));
	ty_json_set(o, "within_ns2", ty_json_real(q->var_within));
	return o;
}

static json_t *classes_json(const struct run *r)
{
	json_t *a = json_array();
	for (size_t i = 0; i < r->res.ncls; i++) {
		const struct ty_class_stat *k = &r->res.cls[i];
		const char *text = k->label == TY_NONE ? NULL : r->store ? ty_store_label(r->store, k->label) : "";
		json_t *o = json_object();
		ty_json_set(o, "class", ty_json_text(text));
		ty_json_set(o, "count", ty_json_integer(k->count));
		ty_json_set(o, "mean_ns", ty_json_real(k->mean));
		ty_json_set(o, "var_ns2", ty_json_real(k->var));
		ty_json_set(o, "sd_ns", ty_json_real(sqrt(k->var)));
		ty_json_set(o, "p99_ns", ty_json_integer(k->p99));
		ty_json_set(o, "time_share", ty_json_real(k->time));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *requests_json(const struct run *r)
{
	const struct ty_result *q = &r->res;
	const struct ty_cut_counts *c = &r->counts;
	char buf[TY_NAME_MAX];
	json_t *o = json_object();
	ty_json_set(o, "rule", json_string(ty_rule_name(r->rule)));
	ty_json_set(o, "rule_text", ty_json_text(r->rule_text));
	ty_json_set(o, "where", ty_json_text(r->where ? r->where->text : NULL));
	ty_json_set(o, "left_out", ty_json_integer(r->counts.left_out));
	ty_json_set(o, "count", ty_json_integer(q->n));
	ty_json_set(o, "mean_ns", q->n ? ty_json_real(q->mean) : json_null());
	ty_json_set(o, "var_ns2", q->n ? ty_json_real(q->var) : json_null());
	ty_json_set(o, "sd_ns", q->n ? ty_json_real(sqrt(q->var)) : json_null());
	ty_json_set(o, "p50_ns", q->n ? ty_json_integer(q->p50) : json_null());
	ty_json_set(o, "p95_ns", q->n ? ty_json_integer(q->p95) : json_null());
	ty_json_set(o, "p99_ns", q->n ? ty_json_integer(q->p99) : json_null());
	ty_json_set(o, "p999_ns", q->n ? ty_json_integer(q->p999) : json_null());
	ty_json_set(o, "max_ns", q->n ? ty_json_integer(q->max) : json_null());
	ty_json_set(o, "l2_ns", q->n ? ty_json_real(q->l2) : json_null());
	ty_json_set(o, "rms_ns", q->n ? ty_json_real(q->l2 / sqrt((double)q->n)) : json_null());
	ty_json_set(o, "unfinished", ty_json_integer(c->unfinished));
	ty_json_set(o, "overlap", ty_json_integer(c->overlap + c->negative));
	ty_json_set(o, "overlap_ns", ty_json_integer(c->overlap_ns));
	ty_json_set(o, "late", ty_json_integer(c->late));
	ty_json_set(o, "connections", ty_json_integer(c->accepted + c->inherited));
	ty_json_set(o, "blocks", ty_json_integer(q->blocks));
	ty_json_set(o, "share_sum", q->valid ? ty_json_real(q->sum) : json_null());
	ty_json_set(o, "tail_quantile", ty_json_real(r->opt.tail));
	ty_json_set(o, "tail_from_ns", q->n ? ty_json_integer(q->tail_at) : json_null());
	ty_json_set(o, "tail_count", ty_json_integer(q->tail_n));
	ty_json_set(o, "doubt", ty_json_text(ty_shares_doubt(r, buf)));
	bool txn = r->rule == TY_RULE_TRANSACTION;
	ty_json_set(o, "statements", txn ? ty_json_integer(c->statements) : json_null());
	ty_json_set(o, "think_ns", txn ? ty_json_integer(c->think_ns) : json_null());
	ty_json_set(o, "between_classes_share", q->ncls && q->var > 0 ? ty_json_real(q->var_between / q->var) : json_null());
	ty_json_set(o, "variance_split", split_json(q));
	ty_json_set(o, "classes", classes_json(r));
	return o;
}

static json_t *rest_json(const struct run *r, const struct ty_share *h)
{
	json_t *o = json_object();
	bool requests = r->rule != TY_RULE_NONE;
	ty_json_set(o, "share", requests ? ty_json_real(h->share) : json_null());
	ty_json_set(o, "share_se", requests && r->res.blocks ? ty_json_real(h->se) : json_null());
	ty_json_set(o, "tail_share", requests ? ty_json_real(h->tail) : json_null());
	ty_json_set(o, "mean_ns", requests ? ty_json_real(h->mean) : json_null());
	return o;
}

/* Of the time held up: waits of the thread that worked on another request. */
static json_t *behind_json(const struct run *r)
{
	json_t *list = json_array();
	uint32_t *site = malloc((r->sites.n + 1) * sizeof *site);
	size_t n = site ? ty_behind_rank(r, site, r->sites.n) : 0;
	char id[17], name[TY_NAME_MAX];
	bool by_object = r->sites.by == TY_BY_OBJECT;
	for (size_t i = 0; i < n; i++) {
		json_t *o = rest_json(r, &r->behind.site[site[i]]);
		ty_json_set(o, "site", json_string(ty_site_id(r, site[i], id)));
		ty_json_set(o, "operation", ty_json_text(ty_site_operation(r, site[i])));
		ty_json_set(o, "function", ty_json_text(ty_site_function(r, site[i], name)));
		ty_json_set(o, "object", ty_json_text(by_object ? ty_site_object_name(r, site[i], name) : NULL));
		json_array_append_new(list, o);
	}
	free(site);
	return list;
}

static json_t *losses_json(const struct run *r)
{
	json_t *o = json_object();
	size_t n;
	const char *const *names = ty_store_losses(r->store, &n);
	for (size_t i = 0; i < n; i++)
		ty_json_set(o, names[i], ty_json_integer(ty_sum_loss(r, i)));
	const char *recorder = ty_store_meta(r->store, "losses.recorder");
	json_t *more = recorder ? json_loads(recorder, 0, NULL) : NULL;
	json_object_update_missing(o, more);
	json_decref(more);
	ty_json_set(o, "stragglers", ty_json_integer(r->stragglers));
	ty_json_set(o, "unknown_thread", ty_json_integer(r->counts.unknown_thread));
	ty_json_set(o, "open_waits", ty_json_integer(r->counts.open_waits));
	ty_json_set(o, "open_ns", ty_json_integer(r->counts.open_ns));
	return o;
}

static json_t *coverage_json(const struct run *r)
{
	json_t *o = json_object(), *paths = json_object(), *u = json_object();
	for (unsigned i = 0; i < TY_PATH_KINDS; i++)
		ty_json_set(paths, path_kind_name(i), ty_json_integer(r->cover[i]));
	ty_json_set(u, "threads", ty_json_integer(r->unseen.threads));
	ty_json_set(u, "wall_ns", ty_json_integer(r->unseen.wall));
	ty_json_set(u, "cpu_ns", ty_json_integer(r->unseen.cpu));
	ty_json_set(u, "runq_ns", ty_json_integer(r->unseen.runq));
	ty_json_set(u, "waits_ns", ty_json_integer(r->unseen.waits));
	ty_json_set(u, "unseen_ns", ty_json_integer(r->unseen.unseen));
	ty_json_set(o, "paths", paths);
	ty_json_set(o, "unseen", u);
	const char *imports = ty_store_meta(r->store, "coverage");
	json_t *j = imports ? json_loads(imports, JSON_DECODE_ANY, NULL) : NULL;
	ty_json_set(o, "imports", j ? j : json_null());
	return o;
}

static json_t *operations_json(const struct run *r)
{
	json_t *a = json_array();
	for (size_t i = 0; i < r->t.nops; i++) {
		uint64_t fast = ty_sum_fast(r, i);
		const struct ty_op_total *t = &r->ops[i];
		if (!t->waits && !t->open && !fast)
			continue;
		json_t *o = json_object();
		ty_json_set(o, "operation", ty_json_text(r->t.ops[i].name));
		ty_json_set(o, "class", ty_json_text(r->t.ops[i].class_name));
		ty_json_set(o, "waits", ty_json_integer(t->waits));
		ty_json_set(o, "total_ns", ty_json_integer(t->total));
		ty_json_set(o, "fast_calls", ty_json_integer(fast));
		ty_json_set(o, "open", ty_json_integer(t->open));
		ty_json_set(o, "open_ns", ty_json_integer(t->open_ns));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *processes_json(const struct run *r)
{
	json_t *a = json_array();
	for (size_t i = 0; i < r->t.nprocesses; i++) {
		const struct ty_process *p = &r->t.processes[i];
		uint64_t threads = 0;
		for (size_t k = 0; k < r->t.nthreads; k++)
			threads += r->t.threads[k].process == i;
		json_t *o = json_object();
		bool parent = p->parent >= 0 && (size_t)p->parent < r->t.nprocesses;
		ty_json_set(o, "pid", ty_json_integer(p->pid));
		ty_json_set(o, "parent_pid", parent ? ty_json_integer(r->t.processes[p->parent].pid) : json_null());
		ty_json_set(o, "forked", json_boolean(p->forked));
		ty_json_set(o, "exe", ty_json_text(p->exe));
		ty_json_set(o, "command", ty_json_text(p->cmdline));
		ty_json_set(o, "start_ns", ty_json_integer(p->start));
		ty_json_set(o, "end_ns", p->end ? ty_json_integer(p->end) : json_null());
		ty_json_set(o, "ended", json_boolean(p->ended));
		ty_json_set(o, "ended_waiting", json_boolean(p->ended_waiting));
		ty_json_set(o, "threads", ty_json_integer(threads));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *tarry_json(const struct run *r)
{
	static const char *const by[] = { "site", "function", "object", "operation" };
	json_t *o = json_object();
	ty_json_set(o, "format", ty_json_integer(FORMAT));
	ty_json_set(o, "version", json_string(TY_VERSION));
	ty_json_set(o, "store", ty_json_text(r->opt.store));
	ty_json_set(o, "by", json_string(by[r->sites.by]));
	ty_json_set(o, "recording", json_boolean(ty_store_recording(r->store)));
	ty_json_set(o, "start_ns", ty_json_integer(r->start));
	ty_json_set(o, "from_ns", ty_json_integer(r->from ? r->from : r->start));
	ty_json_set(o, "to_ns", ty_json_integer(r->to != UINT64_MAX ? r->to : r->counts.last ? r->counts.last : r->start));
	ty_json_set(o, "events", ty_json_integer(r->counts.events));
	return o;
}

json_t *ty_report_object(const struct run *r, const bool *only)
{
	json_t *root = json_object(), *sites = json_array();
	size_t n = ty_listed(r, SIZE_MAX);
	ty_json_set(root, "tarry", tarry_json(r));
	ty_json_set(root, "requests", requests_json(r));
	for (size_t i = 0; i < n; i++)
		if (!only || only[r->rank[i]])
			json_array_append_new(sites, site_json(r, r->rank[i]));
	ty_json_set(root, "sites", sites);
	ty_json_set(root, "running", rest_json(r, &r->res.running));
	json_t *held = rest_json(r, &r->res.site[TY_SITE_HELD]);
	ty_json_set(held, "total_ns", ty_json_integer(r->sites.v[TY_SITE_HELD].total));
	ty_json_set(held, "behind", behind_json(r));
	ty_json_set(root, "held_up", held);
	ty_json_set(root, "losses", losses_json(r));
	ty_json_set(root, "coverage", coverage_json(r));
	ty_json_set(root, "operations", operations_json(r));
	ty_json_set(root, "processes", processes_json(r));
	json_t *orders = ty_orders_state(r);
	ty_json_set(root, "orders", orders ? orders : json_null());
	return root;
}

int ty_report_json(struct run *r, char *err)
{
	json_t *root = ty_report_object(r, NULL);
	int e = json_dumpf(root, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
	json_decref(root);
	putchar('\n');
	return ty_output_end(e, err);
}

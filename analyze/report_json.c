/* SPDX-License-Identifier: MIT
 *
 * The report for programs.  docs/JSON.md is its contract: fields are added,
 * never renamed or taken away; another meaning is another format number.  Runs
 * in readers. */
#include "analyze/report.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

#define FORMAT 1

/* JSON has no NaN; a number that does not exist is null. */
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
	json_t *j = s && *s ? json_string(s) : NULL;
	if (j || !s || !*s)
		return j ? j : json_null();
	size_t n = strlen(s);
	char *copy = malloc(n + 1);
	for (size_t i = 0; copy && i <= n; i++)
		copy[i] = (unsigned char)s[i] >= 0x80 ? '?' : s[i];
	j = copy ? json_string(copy) : NULL;
	free(copy);
	return j ? j : json_null();
}

static void set(json_t *o, const char *key, json_t *value)
{
	json_object_set_new(o, key, value); /* frees value and fails when value is NULL */
}

static int add_line(void *arg, const struct ty_line *l)
{
	void **a = arg;
	const struct run *r = a[0];
	json_t *o = json_object();
	bool named = l->symbol && l->symbol->function;
	char offset[24];
	snprintf(offset, sizeof offset, "0x%llx", (unsigned long long)l->frame->offset);
	set(o, "function", text(named ? l->symbol->function : NULL));
	set(o, "module", l->frame->module < 0 ? json_null() : text(ty_module_name(&r->t, l->frame->module)));
	set(o, "offset", json_string(offset));
	set(o, "file", text(l->symbol ? l->symbol->file : NULL));
	set(o, "line", l->symbol && l->symbol->line ? integer(l->symbol->line) : json_null());
	set(o, "inlined", json_boolean(l->inlined));
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
	set(o, "id", json_string(ty_site_id(r, i, id)));
	set(o, "operation", r->sites.by == TY_BY_FUNCTION ? json_null() : text(ty_site_operation(r, i)));
	set(o, "class", r->sites.by == TY_BY_FUNCTION ? json_null() : text(class_name));
	set(o, "function", text(ty_site_function(r, i, buf)));
	set(o, "object", text(ty_site_object_name(r, i, buf)));
	set(o, "path_kind", json_string(path_kind_name(ty_site_has_path(r, i) ? r->names.kind[s->path]
										: TY_PATH_NOT_TAKEN)));
	if (ty_site_has_path(r, i))
		ty_path_each(r, s->path, add_line, arg);
	set(o, "path", path);
	set(o, "share", requests ? real(h->share) : json_null());
	set(o, "share_se", requests && r->res.blocks ? real(h->se) : json_null());
	set(o, "tail_share", requests ? real(h->tail) : json_null());
	set(o, "per_request_ns", requests ? real(h->mean) : json_null());
	set(o, "waits", integer(s->waits));
	set(o, "waits_per_request", requests && r->res.n ? real((double)s->waits / (double)r->res.n) : json_null());
	set(o, "total_ns", integer(s->total));
	set(o, "mean_ns", real(ty_site_mean(s)));
	set(o, "sd_ns", real(ty_site_sd(s)));
	set(o, "p99_ns", integer(ty_site_p99(s)));
	set(o, "max_ns", integer(s->max));
	set(o, "waits_all", integer(s->waits_all));
	set(o, "total_all_ns", integer(s->total_all));
	return o;
}

static json_t *requests_json(const struct run *r)
{
	const struct ty_result *q = &r->res;
	const struct ty_cut_counts *c = &r->counts;
	char buf[TY_NAME_MAX];
	json_t *o = json_object();
	set(o, "rule", json_string(ty_rule_name(r->rule)));
	set(o, "rule_text", text(r->rule_text));
	set(o, "where", text(r->where ? r->where->text : NULL));
	set(o, "left_out", integer(r->counts.left_out));
	set(o, "count", integer(q->n));
	set(o, "mean_ns", q->n ? real(q->mean) : json_null());
	set(o, "var_ns2", q->n ? real(q->var) : json_null());
	set(o, "sd_ns", q->n ? real(sqrt(q->var)) : json_null());
	set(o, "p50_ns", q->n ? integer(q->p50) : json_null());
	set(o, "p95_ns", q->n ? integer(q->p95) : json_null());
	set(o, "p99_ns", q->n ? integer(q->p99) : json_null());
	set(o, "p999_ns", q->n ? integer(q->p999) : json_null());
	set(o, "max_ns", q->n ? integer(q->max) : json_null());
	set(o, "l2_ns", q->n ? real(q->l2) : json_null());
	set(o, "rms_ns", q->n ? real(q->l2 / sqrt((double)q->n)) : json_null());
	set(o, "unfinished", integer(c->unfinished));
	set(o, "overlap", integer(c->overlap + c->negative));
	set(o, "overlap_ns", integer(c->overlap_ns));
	set(o, "late", integer(c->late));
	set(o, "connections", integer(c->accepted + c->inherited));
	set(o, "blocks", integer(q->blocks));
	set(o, "share_sum", q->valid ? real(q->sum) : json_null());
	set(o, "tail_quantile", real(r->opt.tail));
	set(o, "tail_from_ns", q->n ? integer(q->tail_at) : json_null());
	set(o, "tail_count", integer(q->tail_n));
	set(o, "doubt", text(ty_shares_doubt(r, buf)));
	set(o, "between_classes_share", q->ncls ? real(q->between) : json_null());
	json_t *classes = json_array();
	for (size_t i = 0; i < q->ncls; i++) {
		json_t *k = json_object();
		set(k, "class", json_string(r->store ? ty_store_label(r->store, q->cls[i].label) : ""));
		set(k, "count", integer(q->cls[i].count));
		set(k, "mean_ns", real(q->cls[i].mean));
		set(k, "var_ns2", real(q->cls[i].var));
		json_array_append_new(classes, k);
	}
	set(o, "classes", classes);
	return o;
}

static json_t *rest_json(const struct run *r, const struct ty_share *h)
{
	json_t *o = json_object();
	bool requests = r->rule != TY_RULE_NONE;
	set(o, "share", requests ? real(h->share) : json_null());
	set(o, "share_se", requests && r->res.blocks ? real(h->se) : json_null());
	set(o, "tail_share", requests ? real(h->tail) : json_null());
	set(o, "mean_ns", requests ? real(h->mean) : json_null());
	return o;
}

static json_t *losses_json(const struct run *r)
{
	json_t *o = json_object();
	size_t n;
	const char *const *names = ty_store_losses(r->store, &n);
	for (size_t i = 0; i < n; i++)
		set(o, names[i], integer(ty_sum_loss(r, i)));
	const char *recorder = ty_store_meta(r->store, "losses.recorder");
	json_t *more = recorder ? json_loads(recorder, 0, NULL) : NULL;
	json_object_update_missing(o, more);
	json_decref(more);
	set(o, "stragglers", integer(r->stragglers));
	set(o, "unknown_thread", integer(r->counts.unknown_thread));
	set(o, "open_waits", integer(r->counts.open_waits));
	set(o, "open_ns", integer(r->counts.open_ns));
	return o;
}

static json_t *coverage_json(const struct run *r)
{
	json_t *o = json_object(), *paths = json_object(), *u = json_object();
	for (unsigned i = 0; i < TY_PATH_KINDS; i++)
		set(paths, path_kind_name(i), integer(r->cover[i]));
	set(u, "threads", integer(r->unseen.threads));
	set(u, "wall_ns", integer(r->unseen.wall));
	set(u, "cpu_ns", integer(r->unseen.cpu));
	set(u, "runq_ns", integer(r->unseen.runq));
	set(u, "waits_ns", integer(r->unseen.waits));
	set(u, "unseen_ns", integer(r->unseen.unseen));
	set(o, "paths", paths);
	set(o, "unseen", u);
	const char *imports = ty_store_meta(r->store, "coverage");
	json_t *j = imports ? json_loads(imports, JSON_DECODE_ANY, NULL) : NULL;
	set(o, "imports", j ? j : json_null());
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
		set(o, "operation", text(r->t.ops[i].name));
		set(o, "class", text(r->t.ops[i].class_name));
		set(o, "waits", integer(t->waits));
		set(o, "total_ns", integer(t->total));
		set(o, "fast_calls", integer(fast));
		set(o, "open", integer(t->open));
		set(o, "open_ns", integer(t->open_ns));
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
		set(o, "pid", integer(p->pid));
		set(o, "parent_pid", parent ? integer(r->t.processes[p->parent].pid) : json_null());
		set(o, "forked", json_boolean(p->forked));
		set(o, "exe", text(p->exe));
		set(o, "command", text(p->cmdline));
		set(o, "start_ns", integer(p->start));
		set(o, "end_ns", p->end ? integer(p->end) : json_null());
		set(o, "ended", json_boolean(p->ended));
		set(o, "ended_waiting", json_boolean(p->ended_waiting));
		set(o, "threads", integer(threads));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *tarry_json(const struct run *r)
{
	static const char *const by[] = { "site", "function", "object", "operation" };
	json_t *o = json_object();
	set(o, "format", integer(FORMAT));
	set(o, "version", json_string(TY_VERSION));
	set(o, "store", text(r->opt.store));
	set(o, "by", json_string(by[r->sites.by]));
	set(o, "recording", json_boolean(ty_store_recording(r->store)));
	set(o, "start_ns", integer(r->start));
	set(o, "from_ns", integer(r->from ? r->from : r->start));
	set(o, "to_ns", integer(r->to != UINT64_MAX ? r->to : r->counts.last));
	set(o, "events", integer(r->counts.events));
	return o;
}

int ty_report_json(struct run *r, char *err)
{
	json_t *root = json_object(), *sites = json_array();
	size_t n = ty_listed(r, SIZE_MAX);
	set(root, "tarry", tarry_json(r));
	set(root, "requests", requests_json(r));
	for (size_t i = 0; i < n; i++)
		json_array_append_new(sites, site_json(r, r->rank[i]));
	set(root, "sites", sites);
	set(root, "running", rest_json(r, &r->res.running));
	json_t *held = rest_json(r, &r->res.site[TY_SITE_HELD]);
	set(held, "total_ns", integer(r->sites.v[TY_SITE_HELD].total));
	set(root, "held_up", held);
	set(root, "losses", losses_json(r));
	set(root, "coverage", coverage_json(r));
	set(root, "operations", operations_json(r));
	set(root, "processes", processes_json(r));
	int e = json_dumpf(root, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
	json_decref(root);
	putchar('\n');
	return e || fflush(stdout) ? ty_err(err, -EIO, "cannot write the report: %s", strerror(errno)) : 0;
}

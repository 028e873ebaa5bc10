/* SPDX-License-Identifier: MIT
 *
 * `tarry info --json`: one object; keys are only ever added.  Runs in readers. */
#include <stdio.h>

#include "analyze/info.h"
#include "analyze/json.h"

#define FORMAT 1

/* NULL values (no memory, not UTF-8) become null. */
static void set(json_t *o, const char *key, json_t *value)
{
	json_object_set_new(o, key, value ? value : json_null());
}
static json_t *num(uint64_t v) { return json_integer((json_int_t)(v > INT64_MAX ? INT64_MAX : v)); }
static json_t *time_or_null(uint64_t v) { return v ? num(v) : json_null(); }
static json_t *meta_copy(const struct ty_info *i, const char *key)
{
	return json_incref(ty_info_meta(i, key));
}

static json_t *unseen_json(const struct ty_unseen *u)
{
	if (!u->threads)
		return json_null(); /* schedstat could not be read */
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "threads", (json_int_t)u->threads,
		"wall_ns", (json_int_t)u->wall, "cpu_ns", (json_int_t)u->cpu, "runq_ns", (json_int_t)u->runq,
		"waits_ns", (json_int_t)u->waits, "unseen_ns", (json_int_t)u->unseen);
}

static json_t *processes(const struct ty_info *i)
{
	const struct ty_tables *t = &i->run.t;
	json_t *a = json_array();
	for (size_t k = 0; k < t->nprocesses; k++) {
		const struct ty_process *p = &t->processes[k];
		json_t *o = json_object();
		set(o, "pid", num(p->pid));
		set(o, "ppid", num(p->ppid));
		set(o, "parent_pid", p->parent >= 0 ? num(t->processes[p->parent].pid) : json_null());
		set(o, "forked", json_boolean(p->forked));
		set(o, "ended", json_boolean(p->ended));
		set(o, "ended_waiting", json_boolean(p->ended_waiting));
		set(o, "start_ns", num(p->start));
		set(o, "end_ns", time_or_null(p->end));
		set(o, "exe", json_string(p->exe));
		set(o, "command", json_string(p->cmdline));
		set(o, "unseen", unseen_json(&i->unseen[k]));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *thread_losses(const struct ty_info *i, const struct ty_thread_info *th)
{
	json_t *o = json_object();
	for (size_t l = 0; l < i->nlosses; l++)
		if (th->loss[l])
			set(o, i->loss[l], num(th->loss[l]));
	return o;
}

static json_t *threads(const struct ty_info *i)
{
	const struct ty_tables *t = &i->run.t;
	json_t *a = json_array();
	for (size_t k = 0; k < t->nthreads; k++) {
		const struct ty_thread_info *th = &t->threads[k];
		uint64_t events = 0, fast = 0;
		for (size_t op = 0; op < t->nops; op++) {
			events += th->recorded[op];
			fast += th->fast[op];
		}
		json_t *o = json_object();
		set(o, "pid", num(t->processes[th->process].pid));
		set(o, "tid", num(th->tid));
		set(o, "name", json_string(th->name));
		set(o, "start_ns", num(th->start));
		set(o, "end_ns", time_or_null(th->end));
		set(o, "events", num(events));
		set(o, "fast_calls", num(fast));
		set(o, "sampled_ns", num(th->sampled_ns));
		set(o, "cpu_ns", num(th->cpu_ns));
		set(o, "runq_ns", num(th->runq_ns));
		set(o, "waits_ns", num(th->waits_ns));
		set(o, "losses", thread_losses(i, th));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *modules(const struct ty_info *i)
{
	json_t *a = json_array();
	for (size_t k = 0; k < i->run.t.nmodules; k++) {
		const struct ty_module_info *m = &i->run.t.modules[k];
		json_t *o = json_object();
		set(o, "path", json_string(m->path));
		set(o, "build_id", m->build_id[0] ? json_string(m->build_id) : json_null());
		set(o, "rows", json_string(m->rows));
		set(o, "row_count", num(m->row_count));
		set(o, "rows_skipped", num(m->rows_skipped));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *operations(const struct ty_info *i)
{
	json_t *a = json_array();
	for (size_t k = 0; k < i->run.t.nops; k++) {
		if (!i->recorded[k] && !i->fast[k])
			continue;
		json_t *o = json_object();
		set(o, "operation", json_string(i->run.t.ops[k].name));
		set(o, "class", json_string(i->run.t.ops[k].class_name));
		set(o, "events", num(i->recorded[k]));
		set(o, "fast_calls", num(i->fast[k]));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *losses(const struct ty_info *i)
{
	json_t *o = json_object();
	for (size_t l = 0; l < i->nlosses; l++)
		set(o, i->loss[l], num(i->lost[l]));
	json_object_update_missing(o, ty_info_meta(i, "losses.recorder"));
	return o;
}

void ty_info_json(const struct ty_info *i)
{
	json_t *root = json_object();
	set(root, "tarry", json_pack("{s:i,s:s,s:o}", "format", FORMAT, "version", TY_VERSION, "store", ty_json_text(i->path)));
	set(root, "state", json_string(i->state));
	set(root, "start_ns", num(i->start));
	set(root, "end_ns", time_or_null(i->end));
	set(root, "events", num(i->events));
	set(root, "blocks", num(i->blocks));
	set(root, "bytes", num(i->bytes));
	set(root, "meta", json_incref(i->meta));
	set(root, "processes", processes(i));
	set(root, "threads", threads(i));
	set(root, "modules", modules(i));
	set(root, "operations", operations(i));
	set(root, "orders", meta_copy(i, "orders.state"));
	set(root, "losses", losses(i));
	set(root, "self_check", meta_copy(i, "selfcheck"));
	set(root, "coverage", meta_copy(i, "coverage"));
	json_dumpf(root, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
	json_decref(root);
	putchar('\n');
}

/* SPDX-License-Identifier: MIT
 *
 * The first pass: opens the store, takes its tables, and turns the options
 * that depend on them (window, rule) into numbers.  Runs in readers.  Must stay
 * true: nothing in the store is changed. */
#include "analyze/run.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "analyze/live.h"
#include "analyze/names.h"

static const char *const rule_names[] = { "auto", "socket", "marker", "site", "none", "transaction" };

const char *ty_rule_name(enum ty_rule rule)
{
	return rule_names[rule];
}

/* Into r->rule and r->rule_text. */
static int parse_rule(struct run *r, const char *text, char *err)
{
	for (unsigned i = 0; i < sizeof rule_names / sizeof *rule_names; i++)
		if (i != TY_RULE_SITE && !strcmp(text, rule_names[i])) {
			r->rule = (enum ty_rule)i;
			return 0;
		}
	if (!strncmp(text, "site:", 5) && text[5]) {
		r->rule = TY_RULE_SITE;
		free(r->rule_text);
		r->rule_text = strdup(text + 5);
		return r->rule_text ? 0 : ty_err(err, -ENOMEM, "out of memory");
	}
	return ty_err(err, -EINVAL, "no rule '%s' for requests: there are auto, socket, transaction, marker, site:TEXT, none",
		      text);
}

int ty_time_parse(const char *text, uint64_t start, uint64_t *ret)
{
	static const struct { const char *unit; double ns; } units[] = {
		{ "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 }, { "m", 60e9 }, { "min", 60e9 },
	};
	char *end;
	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	uint64_t raw = strtoull(text, &end, 10);
	if (!*end && raw >= 1000000000) {
		*ret = raw;
		return errno ? -EINVAL : 0;
	}
	double x = strtod(text, &end);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!strcmp(end, units[i].unit)) {
			double ns = x * units[i].ns;
			if (!(ns < 9e18))
				return -EINVAL;
			*ret = start + (uint64_t)llround(ns);
			return 0;
		}
	return -EINVAL;
}

void ty_tables_take(struct run *r)
{
	r->t.ops = ty_store_ops(r->store, &r->t.nops);
	r->t.processes = ty_store_processes(r->store, &r->t.nprocesses);
	r->t.threads = ty_store_threads(r->store, &r->t.nthreads);
	r->t.modules = ty_store_modules(r->store, &r->t.nmodules);
	r->t.paths = ty_store_paths(r->store, &r->t.npaths);
	r->t.fds = ty_store_descriptors(r->store, &r->t.nfds);
}

static void find_start(struct run *r)
{
	const char *text = ty_store_meta(r->store, "start");
	r->start = text ? strtoull(text, NULL, 10) : 0;
	if (r->start)
		return;
	r->start = UINT64_MAX;
	for (size_t i = 0; i < r->t.nprocesses; i++)
		if (r->t.processes[i].start < r->start)
			r->start = r->t.processes[i].start;
	if (r->start == UINT64_MAX)
		r->start = 0;
}

uint64_t ty_run_end(const struct run *r)
{
	const char *text = r->store ? ty_store_meta(r->store, "end") : NULL;
	uint64_t end = text ? strtoull(text, NULL, 10) : 0; /* only the recorder that ended in order says so */
	end = end ? end : r->counts.last;
	return end > r->start ? end : r->start;
}

static int find_window(struct run *r, char *err)
{
	r->from = 0;
	r->to = UINT64_MAX;
	if (r->opt.from && ty_time_parse(r->opt.from, r->start, &r->from))
		return ty_err(err, -EINVAL, "--from: '%s' is not a time (2.5s, or CLOCK_MONOTONIC ns)", r->opt.from);
	if (r->opt.to && ty_time_parse(r->opt.to, r->start, &r->to))
		return ty_err(err, -EINVAL, "--to: '%s' is not a time (2.5s, or CLOCK_MONOTONIC ns)", r->opt.to);
	if (r->from > r->to)
		return ty_err(err, -EINVAL, "--from is after --to");
	return 0;
}

/* A text of the store's meta, whose values are JSON; "" if there is none. */
static void meta_text(struct run *r, const char *key, char *buf, size_t size)
{
	const char *value = ty_store_meta(r->store, key);
	json_t *j = value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
	snprintf(buf, size, "%s", json_is_string(j) ? json_string_value(j) : "");
	json_decref(j);
}

/* Without --requests the configuration that was recorded decides, then `auto`. */
static int find_rule(struct run *r, char *err)
{
	char text[256];
	if (r->opt.requests)
		return parse_rule(r, r->opt.requests, err);
	meta_text(r, "requests", text, sizeof text);
	return parse_rule(r, *text ? text : "auto", err);
}

/* The recorder puts symbols into the store when it ends. */
static int find_symbols(struct run *r, char *err)
{
	char state[32];
	meta_text(r, "state", state, sizeof state);
	if (!strcmp(state, "complete"))
		return 0;
	r->live = ty_live_new(r->t.modules, r->t.nmodules);
	return r->live ? 0 : ty_err(err, -ENOMEM, "out of memory");
}

/* Numbers are near when they are alike as text: a slip of the finger. */
static int check_filters(const struct run *r, char *err)
{
	char asked[2][16], have[16];
	snprintf(asked[0], sizeof asked[0], "%u", r->opt.process);
	snprintf(asked[1], sizeof asked[1], "%u", r->opt.thread);
	struct ty_near process = { .text = asked[0] }, thread = { .text = asked[1] };
	bool a = !r->opt.process, b = !r->opt.thread;
	for (size_t i = 0; !a && i < r->t.nprocesses; i++) {
		a = r->t.processes[i].pid == r->opt.process;
		snprintf(have, sizeof have, "%u", r->t.processes[i].pid);
		ty_near_add(&process, have);
	}
	for (size_t i = 0; !b && i < r->t.nthreads; i++) {
		b = r->t.threads[i].tid == r->opt.thread;
		snprintf(have, sizeof have, "%u", r->t.threads[i].tid);
		ty_near_add(&thread, have);
	}
	if (!a)
		return ty_not_there("--process", "no process", &process, err);
	return b ? 0 : ty_not_there("--thread", "no thread", &thread, err);
}

/* A text for which no wait can end a request; what is still recorded may yet have it. */
static int check_rule(const struct run *r, char *err)
{
	if (r->rule != TY_RULE_SITE || !r->opt.requests || ty_store_recording(r->store))
		return 0;
	for (uint32_t i = 0; i < r->t.npaths; i++)
		if (ty_path_contains(r, i, r->rule_text))
			return 0;
	for (size_t i = 0; i < r->t.nops; i++)
		if (strstr(r->t.ops[i].name, r->rule_text))
			return 0;
	struct ty_near near = { .text = r->rule_text };
	ty_near_functions(&near, r, true);
	return ty_not_there("--requests site:", "no call path and no operation has", &near, err);
}

int ty_pass_load(struct run *r, char *err)
{
	int e = ty_store_open(&r->store, r->opt.store, err);
	if (e)
		return e;
	ty_tables_take(r);
	find_start(r);
	e = find_window(r, err);
	if (!e)
		e = find_rule(r, err);
	if (!e)
		e = find_symbols(r, err);
	if (!e)
		e = check_filters(r, err);
	if (!e)
		e = check_rule(r, err);
	return !e && r->opt.where ? ty_where_open(r, err) : e;
}

void ty_run_free(struct run *r)
{
	for (size_t i = 0; r->names.function && i < r->names.ngroups; i++)
		free(r->names.function[i]);
	free(r->names.function);
	free(r->names.group);
	free(r->names.kind);
	free(r->names.match);
	free(r->names.match_op);
	free(r->names.fd);
	free(r->rule_text);
	ty_where_free(r->where);
	free(r->ops);
	free(r->rank);
	ty_result_free(&r->res);
	ty_result_free(&r->behind);
	ty_sites_free(&r->sites);
	ty_ledger_free(&r->rows);
	ty_ledger_free(&r->behind_rows);
	ty_live_free(r->live);
	if (r->store)
		ty_store_close(r->store);
	memset(r, 0, sizeof *r);
}

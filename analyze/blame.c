/* SPDX-License-Identifier: MIT
 *
 * `tarry blame`: options, and the order of the passes.  Runs in readers. */
#include "analyze/blame.h"

#include <stdio.h>

#include "analyze/where_options.h"
#include "cli/cmd.h"

static const struct argp_option options[] = {
	{ "by", 'b', "WHAT", 0,
	  "site (the default), function, operation",
	  1 },
	{ "top", 'k', "K", 0,
	  "list only the first K of each table (default: 10)", 1 },
	{ "tail", 'q', "Q", 0, "tail: requests above Q percent (default 99)", 1 },
	{ 0 }
};

static const char *parse_by(const char *text, enum ty_by *ret)
{
	static const struct {
		const char *name;
		enum ty_by by;
	} names[] = {
		{ "site", TY_BY_SITE },
		{ "function", TY_BY_FUNCTION },
		{ "operation", TY_BY_OPERATION },
	};
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(text, names[i].name)) {
			*ret = names[i].by;
			return NULL;
		}
	return "one of site, function, operation";
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ty_options *o = state->input;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o;
		break;
	case 'b':
		ty_expected(state, "--by", parse_by(arg, &o->by), arg);
		break;
	case 'k':
		ty_expected(state, "--top", ty_positive(arg, &o->top), arg);
		break;
	case 'q':
		ty_expected(state, "--tail", ty_percent(arg, &o->tail), arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- the events ---- */

int ty_blame_begin(struct ty_blame *b, struct run *r, char *err)
{
	int e = ty_sites_init(&r->sites, r->opt.by, r->names.group, r->t.npaths, r->names.ngroups, r->t.nops);
	if (!e)
		e = ty_blame_init(b, r);
	return e ? ty_err(err, e, "out of memory") : 0;
}

int ty_blame_end(struct ty_blame *b)
{
	int e = ty_blame_events(b, NULL, 0);
	return e ? e : ty_cut_end(&b->cut);
}

/* All events with the rule in force; *again: another rule is to be used instead.
 * From the start, whatever the window: wakes and connections before it count. */
static int read_once(struct ty_blame *b, struct run *r, bool *again, char *err)
{
	struct ty_scan *scan = NULL;
	const struct ty_ev *ev;
	enum ty_rule before = r->rule;
	size_t n;
	int e = ty_blame_begin(b, r, err);
	if (e)
		return e;
	e = ty_scan_open(&scan, r->store, 0, r->to, err);
	while (!e && (e = ty_scan_next(scan, &ev, &n, err)) == 1) {
		e = ty_blame_events(b, ev, n);
		if (e)
			ty_err(err, e, TY_BLAME_FAILED, strerror(-e));
		if (b->cut.saw_mark)
			break;
		if (r->progress)
			r->progress(r->progress_arg, ty_scan_done(scan));
	}
	if (!e && (e = ty_blame_end(b)))
		ty_err(err, e, TY_BLAME_FAILED, strerror(-e));
	r->stragglers = scan ? ty_scan_stragglers(scan) : 0;
	*again = !e && before == TY_RULE_AUTO && r->rule != TY_RULE_SOCKET;
	ty_scan_close(scan);
	return e;
}

int ty_blame_read(struct ty_blame *b, struct run *r, char *err)
{
	bool again = false;
	int e = read_once(b, r, &again, err);
	if (!e && again) {
		ty_blame_free(b);
		ty_sites_free(&r->sites);
		ty_ledger_free(&r->rows);
		e = read_once(b, r, &again, err);
	}
	if (!e && (e = ty_blame_finish(b)))
		ty_err(err, e, "adding up requests: %s", strerror(-e));
	return e;
}

int cmd_blame(int argc, char **argv)
{
	struct run r = { .opt = { .tail = 0.99 } };
	struct ty_blame b = { 0 };
	struct ty_progress progress;
	static const struct argp_child children[] = { { &ty_common_argp, 0, NULL, 0 }, { 0 } };
	const struct argp argp = {
		options,
		parse,
		"STORE",
		"Names who ended the waits that make the latency of requests vary, and the root causes "
		"behind them.\v"
		"Exit status: 0 a report was written, "
		"1 it could not be, 2 usage.",
		children,
		NULL,
		NULL
	};
	char err[TY_ERR_MAX] = "";
	if (ty_arguments(&argp, "tarry blame", argc, argv, &r.opt))
		return TY_EXIT_USAGE;
	ty_progress_start(&progress, "reading");
	r.progress = ty_progress_show;
	r.progress_arg = &progress;
	int e = ty_pass_load(&r, err);
	bool usage = e == -EINVAL && r.store; /* the store was fine, an option was not */
	if (!e)
		e = ty_pass_names(&r, err);
	if (!e)
		e = ty_blame_read(&b, &r, err);
	if (!e)
		e = ty_pass_left(&r, err);
	ty_progress_end(&progress);
	if (!e)
		e = r.opt.json ? ty_blame_json(&b, err) : ty_blame_text(&b, err);
	if (e)
		ty_say("%s", *err ? err : strerror(-e));
	ty_blame_free(&b);
	ty_run_free(&r);
	return usage ? TY_EXIT_USAGE : e ? TY_EXIT_FAIL : TY_EXIT_OK;
}

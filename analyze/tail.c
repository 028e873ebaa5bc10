/* SPDX-License-Identifier: MIT
 *
 * `tarry tail`: options, and the passes.  Runs in readers. */
#include "analyze/tail.h"

#include <stdio.h>

#include "analyze/where_options.h"
#include "cli/cmd.h"

#define SLOW_MAX 1000

struct asked {
	struct ty_options opt; /* of ty_common_argp */
	uint32_t slowest, top;
};

static const struct argp_option options[] = {
	{ "quantile", 'q', "Q", 0, "the slowest: those above Q percent (default 99)", 1 },
	{ "slowest", 'n', "K", 0, "show the K slowest as timelines (default 5)", 1 },
	{ "top", 'k', "K", 0, "list only the first K causes (default 10)", 1 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct asked *a = state->input;
	bool many;
	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &a->opt; break;
	case 'q': ty_expected(state, "--quantile", ty_percent(arg, &a->opt.tail), arg); break;
	case 'n':
		many = ty_parse_positive(arg, &a->slowest) || a->slowest > SLOW_MAX;
		ty_expected(state, "--slowest", many ? "a whole number from 1 to 1000" : NULL, arg);
		break;
	case 'k': ty_expected(state, "--top", ty_positive(arg, &a->top), arg); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct ty_pass passes[] = {
	{ "load", ty_pass_load },         /* open the store, take its tables, window, rule and --where */
	{ "names", ty_pass_names },       /* which paths are the same site */
	{ "cut", ty_pass_cut },           /* all events: sites, requests; tail_rows.c watches */
	{ "variance", ty_pass_variance }, /* all requests: where the tail begins */
};

int cmd_tail(int argc, char **argv)
{
	struct asked a = { .slowest = 5, .top = 10, .opt = { .tail = 0.99 } };
	static const struct argp_child children[] = { { &ty_common_argp, 0, NULL, 0 }, { 0 } };
	const struct argp argp = { options, parse, "STORE",
		"Shows what distinguishes the slowest requests.\v"
		"Exit status: 0 the tail was shown, 1 it could not be, 2 usage.", children, NULL, NULL };
	char err[TY_ERR_MAX] = "";
	if (ty_arguments(&argp, "tarry tail", argc, argv, &a))
		return TY_EXIT_USAGE;
	struct run r = { .opt = a.opt };
	struct ty_tail t = { .q = a.opt.tail, .k = a.slowest };
	ty_tail_watch(&t, &r);
	int status = ty_passes(&r, passes, sizeof passes / sizeof *passes);
	int e = status ? 0 : ty_tail_sums(&t, err);
	if (!e && !status)
		e = ty_tail_wakers(&t, err);
	if (!e && !status)
		e = r.opt.json ? ty_tail_json(&t, err) : ty_tail_text(&t, a.top, err);
	if (e) {
		ty_say("%s", *err ? err : strerror(-e));
		status = TY_EXIT_FAIL;
	}
	ty_tail_free(&t);
	ty_run_free(&r);
	return status;
}

/* SPDX-License-Identifier: MIT
 *
 * `tarry compare`: options, and the passes over both recordings.  Runs in
 * readers.  Must stay true: exit status 1 means a regression or a failure, and
 * nothing else. */
#include "analyze/compare.h"

#include <math.h>
#include <stdio.h>

#include "analyze/fold.h"
#include "analyze/where_options.h"
#include "cli/cmd.h"

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "for programs instead of people", 1 },
	{ "tolerance", 't', "PERCENT", 0,
	  "smaller changes of a metric are none (default 5)",
	  1 },
	{ "top", 'k', "K", 0, "list the K sites that changed most (default: 10)", 1 },
	{ "requests", 'r', "RULE", 0, "auto, socket, transaction, marker, site:TEXT or none", 2 },
	{ "where", 'w', "EXPR", 0, "only such requests; EXPR: tarry-tree(1)", 2 },
	{ 0 }
};

struct asked {
	struct ty_options opt;
	const char *store[2];
	double floor;
};

static int parse_number(const char *text, double least, double most, double *ret)
{
	char *end;
	double x = strtod(text, &end);
	if (end == text || *end || !(x >= least && x <= most))
		return -EINVAL;
	*ret = x;
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct asked *a = state->input;
	double x = 0;
	switch (key) {
	case 'j':
		a->opt.json = true;
		break;
	case 't':
		ty_expected(state, "--tolerance", parse_number(arg, 0, 1000, &x) ? "a number from 0 to 1000" : NULL, arg);
		a->floor = x / 100;
		break;
	case 'k':
		ty_expected(state, "--top", ty_positive(arg, &a->opt.top), arg);
		break;
	case 'r':
		a->opt.requests = arg;
		break;
	case 'w':
		a->opt.where = arg;
		break;
	case ARGP_KEY_ARG:
		if (a->store[1])
			argp_error(state, "two stores at a time, not also '%s'", arg);
		a->store[a->store[0] ? 1 : 0] = arg;
		break;
	case ARGP_KEY_END:
		if (!a->store[1])
			argp_error(state, "which two stores? The base, then the new one.");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- both ---- */

static int read_one(struct run *r, bool *usage, char *err)
{
	int e = ty_pass_load(r, err);
	*usage = e == -EINVAL && r->store; /* the store was fine, an option was not */
	if (!e)
		e = ty_pass_names(r, err);
	if (!e)
		e = ty_pass_cut(r, err);
	return e ? e : ty_pass_left(r, err);
}

static int measure(struct ty_comparison *c, char *err)
{
	int e = ty_match_sides(&c->match, &c->run[0], &c->run[1]);
	for (int i = 0; !e && i < 2; i++) {
		struct ty_ledger rows = { .limit = (size_t)64 << 20 };
		e = ty_ledger_fold(&c->run[i].rows, (const uint32_t *const[]){ c->match.of[i] }, 1,
				   c->match.n, &rows);
		if (!e)
			e = ty_side_take(&c->side[i], &rows, c->match.n, c->match.waits[i]);
		ty_ledger_free(&rows);
	}
	c->requests = c->side[0].n && c->side[1].n;
	if (!e)
		e = ty_compare(&c->found, &c->side[0], &c->side[1], c->match.n, c->floor);
	return e ? ty_err(err, e, "comparing: %s", strerror(-e)) : 0;
}

int cmd_compare(int argc, char **argv)
{
	struct asked a = { .floor = TY_SIDE_FLOOR, .opt.tail = 0.99 };
	struct ty_comparison c = { 0 };
	const struct argp argp = {
		options,
		parse,
		"BASE NEW",
		"Compares two recordings: latency, and what each wait site takes of it.\v"
		"A metric that varies in the base is judged only if it changes by more than that explains.  "
		"Exit status: 0 no regression, 1 a regression or a failure, 2 usage.",
		NULL,
		NULL,
		NULL
	};
	char err[TY_ERR_MAX] = "";
	struct ty_progress progress;
	bool usage = false;
	int e = 0;
	if (ty_arguments(&argp, "tarry compare", argc, argv, &a))
		return TY_EXIT_USAGE;
	c.floor = a.floor;
	for (int i = 0; !e && i < 2; i++) {
		c.run[i].opt = a.opt;
		c.run[i].opt.store = a.store[i];
		c.run[i].progress = ty_progress_show;
		c.run[i].progress_arg = &progress;
		ty_progress_start(&progress, i ? "reading the new one" : "reading the base");
		e = read_one(&c.run[i], &usage, err);
		ty_progress_end(&progress);
	}
	if (!e)
		e = measure(&c, err);
	if (!e)
		e = a.opt.json ? ty_compare_json(&c, err) : ty_compare_text(&c, err);
	if (e)
		ty_say("%s", *err ? err : strerror(-e));
	bool worse = c.found.worse > 0;
	ty_compared_free(&c.found);
	ty_side_free(&c.side[0]);
	ty_side_free(&c.side[1]);
	ty_match_free(&c.match);
	ty_run_free(&c.run[0]);
	ty_run_free(&c.run[1]);
	return usage ? TY_EXIT_USAGE : e || worse ? TY_EXIT_FAIL : TY_EXIT_OK;
}

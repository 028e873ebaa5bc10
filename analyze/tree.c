/* SPDX-License-Identifier: MIT
 *
 * `tarry tree`: options, and the passes.  Runs in readers. */
#include "analyze/tree.h"

#include <stdio.h>

#include "analyze/where_options.h"
#include "cli/cmd.h"

struct asked {
	struct ty_options opt; /* of ty_common_argp */
	struct ty_tree_wanted want;
	uint32_t depth;
};

enum { KEY_ROOT = 256, KEY_DEPTH, KEY_NO_FOLD, KEY_ALL };

static const struct argp_option options[] = {
	{ "root", KEY_ROOT, "FUNCTION", 0, "the tree under this function, not of the request", 1 },
	{ "factors", 'k', "K", 0, "name the K best factors (default 5)", 1 },
	{ "least", 'd', "PCT", 0, "factors hold at least PCT percent (default 5)", 1 },
	{ "all-factors", KEY_ALL, NULL, 0, "also those hardly above a better one under them", 1 },
	{ "depth", KEY_DEPTH, "N", 0, "print only N levels of the tree (default: all)", 1 },
	{ "no-fold", KEY_NO_FOLD, NULL, 0, "keep the frames that all paths begin with", 1 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct asked *a = state->input;
	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &a->opt; break;
	case KEY_ROOT: a->want.root = arg; break;
	case 'k': ty_expected(state, "--factors", ty_positive(arg, &a->want.k), arg); break;
	case 'd': ty_expected(state, "--least", ty_percent(arg, &a->want.d), arg); break;
	case KEY_DEPTH: ty_expected(state, "--depth", ty_positive(arg, &a->depth), arg); break;
	case KEY_ALL: a->want.all = true; break;
	case KEY_NO_FOLD: a->want.no_fold = true; break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct ty_pass passes[] = {
	{ "load", ty_pass_load },         /* open the store, take its tables, window, rule and --where */
	{ "names", ty_pass_names },       /* which paths are the same site */
	{ "cut", ty_pass_cut },           /* all events: sites, requests */
	{ "variance", ty_pass_variance }, /* all requests: the variance of their latency */
};

int ty_tree_make(struct ty_tree *t, struct ty_factors *f, struct run *r, const struct ty_tree_wanted *a, char *err)
{
	int e = ty_tree_build(t, r, a->root, !a->no_fold, err);
	struct ty_progress progress;
	ty_progress_start(&progress, "adding up");
	t->progress = ty_progress_show;
	/* cppcheck-suppress autoVariables ; taken back below */
	t->progress_arg = &progress;
	if (!e)
		e = ty_tree_sums(t, &r->rows, err);
	t->progress = NULL;
	t->progress_arg = NULL;
	ty_progress_end(&progress);
	if (!e) {
		ty_tree_shares(t);
		t->latency_share = r->res.var > 0 ? t->var / r->res.var : 0;
		e = ty_tree_check(t, err);
	}
	if (!e && (e = ty_tree_errors(t, &r->rows, a->d / 5)))
		ty_err(err, e, "adding up pairs: %s", strerror(-e));
	if (!e && (e = ty_factors(t, a->k, a->d, a->all, f)))
		ty_err(err, e, "out of memory");
	return e;
}

static int tree(struct run *r, const struct asked *a, char *err)
{
	struct ty_tree t = { 0 };
	struct ty_factors f = { 0 };
	struct ty_tree_show show = { .depth = a->depth, .least = a->want.d / 5 };
	int e = ty_tree_make(&t, &f, r, &a->want, err);
	if (!e)
		e = r->opt.json ? ty_tree_json(&t, &f, r, &show, err) : ty_tree_text(&t, &f, r, &show, err);
	ty_factors_free(&f);
	ty_tree_free(&t);
	return e;
}

int cmd_tree(int argc, char **argv)
{
	struct asked a = { .want = { .k = 5, .d = 0.05 }, .opt = { .tail = 0.99 } };
	static const struct argp_child children[] = { { &ty_common_argp, 0, NULL, 0 }, { 0 } };
	const struct argp argp = { options, parse, "STORE",
		"Shows through which functions the variance of latency comes.\v"
		"Exit status: 0 the tree was written, 1 it could not be, 2 usage.", children, NULL, NULL };
	char err[TY_ERR_MAX] = "";
	if (ty_arguments(&argp, "tarry tree", argc, argv, &a))
		return TY_EXIT_USAGE;
	struct run r = { .opt = a.opt };
	int status = ty_passes(&r, passes, sizeof passes / sizeof *passes);
	int e = status ? 0 : tree(&r, &a, err);
	if (e) {
		ty_say("%s", *err ? err : strerror(-e));
		status = e == -EINVAL ? TY_EXIT_USAGE : TY_EXIT_FAIL;
	}
	ty_run_free(&r);
	return status;
}

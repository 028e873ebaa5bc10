/* SPDX-License-Identifier: MIT
 *
 * `tarry report`: options, and the list of passes.  Runs in readers. */
#include <argp.h>

#include "analyze/html.h"
#include "analyze/where_options.h"
#include "cli/cmd.h"

struct asked { struct ty_options opt; struct ty_html html; };

/* ---- options ---- */

enum { KEY_HTML = 256 };

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "for programs instead of people", 1 },
	{ "html", KEY_HTML, "FILE", 0, "all as a page for a browser; -: standard output", 1 },
	{ "by", 'b', "WHAT", 0, "site (the default), function, object, operation", 1 },
	{ "top", 'k', "K", 0, "list only the first K (default: 10, in JSON all)", 1 },
	{ "tail", 'q', "Q", 0, "tail: requests above Q percent (default 99)", 1 },
	{ "requests", 'r', "RULE", 0, "auto, socket, transaction, marker, site:TEXT, none", 2 },
	{ "from", 'f', "T", 0, "begin of a window, from the start (2.5s), or ns", 2 },
	{ "to", 't', "T", 0, "end of the window", 2 },
	{ "process", 'p', "PID", 0, "only this process", 2 },
	{ "thread", 'T', "TID", 0, "only this thread", 2 },
	{ "where", 'w', "EXPR", 0, "only such requests; EXPR: tarry-tree(1)", 2 },
	{ "path", 'P', "TEXT", 0, "list only sites with TEXT in their call path", 2 },
	{ 0 }
};

static const char *parse_by(const char *text, enum ty_by *ret)
{
	static const char *const names[] = { "site", "function", "object", "operation" };
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(text, names[i])) {
			*ret = (enum ty_by)i;
			return NULL;
		}
	return "one of site, function, object, operation";
}

/* The page chooses its sites, and searches and sorts them itself. */
static void check_html(const struct ty_options *o, struct argp_state *state)
{
	if (o->json)
		argp_error(state, "--html or --json, not both");
	if (o->by != TY_BY_SITE || o->top || o->path)
		argp_error(state, "--by, --top and --path are not for --html: the page chooses and sorts its sites itself");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct asked *a = state->input;
	struct ty_options *o = &a->opt;
	switch (key) {
	case 'j': o->json = true; break;
	case KEY_HTML: a->html.file = arg; break;
	case 'b': ty_expected(state, "--by", parse_by(arg, &o->by), arg); break;
	case 'k': ty_expected(state, "--top", ty_positive(arg, &o->top), arg); break;
	case 'q': ty_expected(state, "--tail", ty_percent(arg, &o->tail), arg); break;
	case 'r': o->requests = arg; break;
	case 'f': o->from = arg; break;
	case 't': o->to = arg; break;
	case 'p': ty_expected(state, "--process", ty_positive(arg, &o->process), arg); break;
	case 'T': ty_expected(state, "--thread", ty_positive(arg, &o->thread), arg); break;
	case 'P': o->path = arg; break;
	case 'w': o->where = arg; break;
	case ARGP_KEY_END:
		ty_one_store(key, arg, state, &o->store);
		if (a->html.file)
			check_html(o, state);
		break;
	default: return ty_one_store(key, arg, state, &o->store);
	}
	return 0;
}

/* ---- the passes ---- */

static const struct ty_pass passes[] = {
	{ "load", ty_pass_load },         /* open the store, take its tables, window and rule */
	{ "names", ty_pass_names },       /* which paths are booked together */
	{ "cut", ty_pass_cut },           /* all events: sites, requests */
	{ "left", ty_pass_left },         /* whether a window or a filter left any request */
	{ "variance", ty_pass_variance }, /* all requests: shares, errors, tails, quantiles */
	{ "behind", ty_pass_behind }, /* all requests: the same of what held-up ones waited behind */
	{ "cover", ty_pass_cover },       /* what could not be seen */
	{ "rank", ty_pass_rank },         /* the order of the report */
};

int cmd_report(int argc, char **argv)
{
	struct asked a = { .opt = { .tail = 0.99 } };
	struct ty_progress progress;
	const struct argp argp = { options, parse, "STORE",
		"Names the wait sites that make the latency of requests vary.\v"
		"Exit status: 0 a report was written, "
		"1 it could not be, 2 usage.", NULL, NULL, NULL };
	char err[TY_ERR_MAX] = "";
	int e = 0;
	if (ty_arguments(&argp, "tarry report", argc, argv, &a))
		return TY_EXIT_USAGE;
	struct run r = { .opt = a.opt, .want_behind = true };
	if (a.html.file && (e = ty_html_check(&a.html, r.opt.store, err))) {
		ty_say("%s", err);
		return e == -EINVAL ? TY_EXIT_USAGE : TY_EXIT_FAIL;
	}
	if (a.html.file)
		ty_html_watch(&a.html, &r);
	ty_progress_start(&progress, "reading");
	r.progress = ty_progress_show;
	r.progress_arg = &progress;
	for (size_t i = 0; !e && i < sizeof passes / sizeof *passes; i++) {
		e = passes[i].run(&r, err);
		if (e) {
			ty_progress_end(&progress);
			ty_say("%s", *err ? err : strerror(-e));
			/* the store was fine, an option was not */
			bool usage = r.store && e == -EINVAL && (passes[i].run == ty_pass_load || passes[i].run == ty_pass_rank);
			ty_html_free(&a.html);
			ty_run_free(&r);
			return usage ? TY_EXIT_USAGE : TY_EXIT_FAIL;
		}
	}
	ty_progress_end(&progress);
	e = a.html.file ? ty_html_write(&a.html, &r, err) :
	    r.opt.json  ? ty_report_json(&r, err) :
			  ty_report_text(&r, err);
	if (e)
		ty_say("%s", *err ? err : strerror(-e));
	ty_html_free(&a.html);
	ty_run_free(&r);
	return e ? TY_EXIT_FAIL : TY_EXIT_OK;
}

/* SPDX-License-Identifier: MIT
 *
 * `tarry report`: options, and the list of passes.  Runs in readers. */
#include <argp.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "analyze/run.h"
#include "cli/cmd.h"

/* ---- options ---- */

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "for programs (docs/JSON.md) instead of people", 1 },
	{ "by", 'b', "WHAT", 0, "book waits by site (call path and operation, the default), function, object or operation", 1 },
	{ "top", 'k', "K", 0, "list only the first K (default: 10, in JSON all)", 1 },
	{ "tail", 'q', "Q", 0, "tail shares above the quantile Q percent of latency (default 99)", 1 },
	{ "requests", 'r', "RULE", 0, "what a request is: auto, socket, marker, site:TEXT, none", 2 },
	{ "from", 'f', "T", 0, "only requests and waits inside a window; T is a time since the start of the recording "
		"(2.5s, 300ms), or CLOCK_MONOTONIC ns if it is a whole number of at least 1000000000", 2 },
	{ "to", 't', "T", 0, "end of the window", 2 },
	{ "process", 'p', "PID", 0, "only this process", 2 },
	{ "thread", 'T', "TID", 0, "only this thread", 2 },
	{ "where", 'w', "EXPR", 0, "only requests of which this is true: site:TEXT, latency>5ms, class=TEXT, thread=TID, "
		"process=PID, time in 2s..5s, joined by and, or, not and parentheses", 2 },
	{ "path", 'P', "TEXT", 0, "list only sites with TEXT in a function, module or file of the call path", 2 },
	{ 0 }
};

static int parse_by(const char *text, enum ty_by *ret)
{
	static const char *const names[] = { "site", "function", "object", "operation" };
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(text, names[i])) {
			*ret = (enum ty_by)i;
			return 0;
		}
	return -EINVAL;
}

static int parse_positive(const char *text, uint32_t *ret)
{
	char *end;
	errno = 0;
	unsigned long x = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || x == 0 || x > INT32_MAX)
		return -EINVAL;
	*ret = (uint32_t)x;
	return 0;
}

static int parse_tail(const char *text, double *ret)
{
	char *end;
	double x = strtod(text, &end);
	if (end == text || *end || !(x > 0 && x < 100))
		return -EINVAL;
	*ret = x / 100;
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ty_options *o = state->input;
	int bad = 0;
	switch (key) {
	case 'j': o->json = true; break;
	case 'b': bad = parse_by(arg, &o->by); break;
	case 'k': bad = parse_positive(arg, &o->top); break;
	case 'q': bad = parse_tail(arg, &o->tail); break;
	case 'r': o->requests = arg; break;
	case 'f': o->from = arg; break;
	case 't': o->to = arg; break;
	case 'p': bad = parse_positive(arg, &o->process); break;
	case 'T': bad = parse_positive(arg, &o->thread); break;
	case 'P': o->path = arg; break;
	case 'w': o->where = arg; break;
	case ARGP_KEY_ARG:
		if (o->store)
			argp_error(state, "one store at a time, not also '%s'", arg);
		o->store = arg;
		break;
	case ARGP_KEY_END:
		if (!o->store)
			argp_error(state, "which store? (tarry record writes one)");
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	if (bad)
		argp_error(state, "'%s' makes no sense there", arg);
	return 0;
}

/* ---- progress ---- */

struct progress { struct timespec start; unsigned calls; bool shown; };

static void show_progress(void *arg, double done)
{
	struct progress *p = arg;
	struct timespec now;
	if (++p->calls % 16)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	double s = (double)(now.tv_sec - p->start.tv_sec) + (double)(now.tv_nsec - p->start.tv_nsec) / 1e9;
	if (s < 1)
		return;
	p->shown = true;
	fprintf(stderr, "\rreading: %3.0f %%", done * 100);
}

/* ---- the passes ---- */

static const struct pass {
	const char *name;
	int (*run)(struct run *r, char *err);
} passes[] = {
	{ "load", ty_pass_load },         /* open the store, take its tables, window and rule */
	{ "names", ty_pass_names },       /* which paths are booked together */
	{ "cut", ty_pass_cut },           /* all events: sites, requests */
	{ "variance", ty_pass_variance }, /* all requests: shares, errors, tails, quantiles */
	{ "cover", ty_pass_cover },       /* what could not be seen */
	{ "rank", ty_pass_rank },         /* the order of the report */
};

int cmd_report(int argc, char **argv)
{
	struct run r = { .opt = { .tail = 0.99 } };
	struct progress progress = { 0 };
	const struct argp argp = { options, parse, "STORE",
		"Names the wait sites that make the latency of requests vary.\v"
		"The store may still be being recorded.  Exit status: 0 a report was written, "
		"1 it could not be, 2 usage.", NULL, NULL, NULL };
	char err[TY_ERR_MAX] = "";
	int e = 0;
	static char name[] = "tarry report"; /* as usage and errors call us */
	argv[0] = name;
	argp_err_exit_status = TY_EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &r.opt))
		return TY_EXIT_USAGE;
	if (isatty(STDERR_FILENO)) {
		clock_gettime(CLOCK_MONOTONIC, &progress.start);
		r.progress = show_progress;
		r.progress_arg = &progress;
	}
	for (size_t i = 0; !e && i < sizeof passes / sizeof *passes; i++) {
		e = passes[i].run(&r, err);
		if (e) {
			if (progress.shown)
				fprintf(stderr, "\r              \r");
			ty_say("%s", *err ? err : strerror(-e));
			/* the store was fine, an option was not */
			bool usage = passes[i].run == ty_pass_load && r.store && e == -EINVAL;
			ty_run_free(&r);
			return usage ? TY_EXIT_USAGE : TY_EXIT_FAIL;
		}
	}
	if (progress.shown)
		fprintf(stderr, "\r              \r");
	e = r.opt.json ? ty_report_json(&r, err) : ty_report_text(&r, err);
	if (e)
		ty_say("%s", err);
	ty_run_free(&r);
	return e ? TY_EXIT_FAIL : TY_EXIT_OK;
}

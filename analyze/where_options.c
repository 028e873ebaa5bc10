/* SPDX-License-Identifier: MIT
 *
 * Options and passes that the commands on requests share.  Runs in readers. */
#include "analyze/where_options.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/cmd.h"

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "for programs instead of people", 1 },
	{ "where", 'w', "EXPR", 0, "only such requests; EXPR: tarry-tree(1)", 2 },
	{ "requests", 'r', "RULE", 0, "auto, socket, transaction, marker, site:TEXT", 2 },
	{ "from", 'f', "T", 0, "begin of a window, from the start (2.5s), or ns", 2 },
	{ "to", 't', "T", 0, "end of the window", 2 },
	{ "process", 'p', "PID", 0, "only this process", 2 },
	{ "thread", 'T', "TID", 0, "only this thread", 2 },
	{ 0 }
};

int ty_parse_positive(const char *text, uint32_t *ret)
{
	char *end;
	errno = 0;
	unsigned long x = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || x == 0 || x > INT32_MAX)
		return -EINVAL;
	*ret = (uint32_t)x;
	return 0;
}

int ty_parse_percent(const char *text, double *ret)
{
	char *end;
	double x = strtod(text, &end);
	if (end == text || *end || !(x > 0 && x < 100))
		return -EINVAL;
	*ret = x / 100;
	return 0;
}

void ty_expected(struct argp_state *state, const char *option, const char *expected, const char *arg)
{
	if (expected)
		argp_error(state, "%s: %s is expected, not '%s'", option, expected, arg);
}

error_t ty_one_store(int key, const char *arg, struct argp_state *state, const char **store)
{
	switch (key) {
	case ARGP_KEY_ARG:
		if (*store)
			argp_error(state, "one store at a time, not also '%s'", arg);
		*store = arg;
		return 0;
	case ARGP_KEY_END:
		if (!*store)
			argp_error(state, "which store? (tarry record writes one)");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ty_options *o = state->input;
	switch (key) {
	case 'j': o->json = true; break;
	case 'w': o->where = arg; break;
	case 'r': o->requests = arg; break;
	case 'f': o->from = arg; break;
	case 't': o->to = arg; break;
	case 'p': ty_expected(state, "--process", ty_positive(arg, &o->process), arg); break;
	case 'T': ty_expected(state, "--thread", ty_positive(arg, &o->thread), arg); break;
	default: return ty_one_store(key, arg, state, &o->store);
	}
	return 0;
}

const struct argp ty_common_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

/* ---- progress, passes ---- */

void ty_progress_start(struct ty_progress *p, const char *what)
{
	*p = (struct ty_progress){ .what = what };
	clock_gettime(CLOCK_MONOTONIC, &p->start);
}

void ty_progress_show(void *progress, double done)
{
	struct ty_progress *p = progress;
	struct timespec now;
	if (++p->calls % 16 || !isatty(STDERR_FILENO))
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	double s = (double)(now.tv_sec - p->start.tv_sec) + (double)(now.tv_nsec - p->start.tv_nsec) / 1e9;
	if (s < 1)
		return;
	p->shown = true;
	fprintf(stderr, "\r%s: %3.0f %%", p->what, done * 100);
}

void ty_progress_end(struct ty_progress *p)
{
	if (p->shown)
		fprintf(stderr, "\r%*s\r", (int)strlen(p->what) + 8, "");
}

int ty_passes(struct run *r, const struct ty_pass *pass, size_t n)
{
	struct ty_progress progress;
	char err[TY_ERR_MAX] = "";
	int e = 0;
	size_t i = 0;
	ty_progress_start(&progress, "reading");
	r->progress = ty_progress_show;
	/* cppcheck-suppress autoVariables ; taken back below */
	r->progress_arg = &progress;
	while (i < n && !(e = pass[i].run(r, err)))
		i++;
	r->progress = NULL;
	r->progress_arg = NULL;
	ty_progress_end(&progress);
	if (!e && r->rule == TY_RULE_NONE) {
		if (r->opt.requests && !strcmp(r->opt.requests, "none"))
			ty_say("--requests none: no requests, so there is nothing to explain");
		else if (!r->found_none)
			ty_say("the configuration of %s says requests: none; --requests auto looks for them",
			       r->opt.store);
		else
			ty_say("there are no requests in %s: neither an accepted connection nor a marker was seen; "
			       "--requests site:TEXT can cut a worker's time (tarry report says more)", r->opt.store);
		return TY_EXIT_FAIL;
	}
	if (!e && !r->rows.n)
		e = ty_none_left(r, err);
	if (!e)
		return 0;
	ty_say("%s", *err ? err : strerror(-e));
	/* the store was fine, an option was not */
	return r->store && e == -EINVAL ? TY_EXIT_USAGE : TY_EXIT_FAIL;
}

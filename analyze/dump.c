/* SPDX-License-Identifier: MIT
 *
 * `tarry dump`: events as text, one a line, in order of end.  Runs in readers.
 * What is printed of one event stands in dump_event.c.  A reader of our output
 * that goes away (head, less) is no error. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/dump.h"
#include "analyze/fmt.h"
#include "analyze/where_options.h"
#include "cli/cmd.h"

enum { OPT_RAW = 256, OPT_PATHS, OPT_OP };

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "one JSON object a line, instead of columns", 1 },
	{ "paths", OPT_PATHS, NULL, 0, "the whole call path, not the innermost function", 1 },
	{ "raw", OPT_RAW, NULL, 0, "times as CLOCK_MONOTONIC ns", 1 },
	{ "from", 'f', "T", 0, "ends at T or later, from the start (2.5s), or ns", 2 },
	{ "to", 't', "T", 0, "begins at T or earlier", 2 },
	{ "process", 'p', "PID", 0, "only this process", 2 },
	{ "thread", 'T', "TID", 0, "only this thread", 2 },
	{ "op", OPT_OP, "NAME", 0, "only this operation (recv) or class (mutex)", 2 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct dump *d = state->input;
	switch (key) {
	case 'j': d->json = true; break;
	case OPT_PATHS: d->paths = true; break;
	case OPT_RAW: d->raw = true; break;
	case OPT_OP: d->op = arg; break;
	case 'f': d->run.opt.from = arg; break;
	case 't': d->run.opt.to = arg; break;
	case 'p': ty_expected(state, "--process", ty_positive(arg, &d->run.opt.process), arg); break;
	case 'T': ty_expected(state, "--thread", ty_positive(arg, &d->run.opt.thread), arg); break;
	default: return ty_one_store(key, arg, state, &d->run.opt.store);
	}
	return 0;
}

static int prepare(struct dump *d, char *err)
{
	const struct ty_tables *t = &d->run.t;
	d->wanted = calloc(t->nops + 1, 1);
	d->who = calloc(t->nthreads + 1, sizeof *d->who);
	d->tail = calloc(t->npaths + 1, sizeof *d->tail);
	return d->wanted && d->who && d->tail ? 0 : ty_err(err, -ENOMEM, "no memory");
}

static void release(struct dump *d)
{
	for (size_t i = 0; d->who && i < d->run.t.nthreads; i++)
		free(d->who[i]);
	for (size_t i = 0; d->tail && i < d->run.t.npaths; i++)
		free(d->tail[i]);
	free(d->who);
	free(d->tail);
	free(d->wanted);
}

/* Marks which operations are wanted; -EINVAL when there is none of that name. */
static int choose_ops(struct dump *d, char *err)
{
	const struct ty_tables *t = &d->run.t;
	bool found = false;
	for (size_t i = 0; i < t->nops; i++) {
		d->wanted[i] = !d->op || !strcmp(d->op, t->ops[i].name) || !strcmp(d->op, t->ops[i].class_name);
		found = found || d->wanted[i];
	}
	if (found || !d->op)
		return 0;
	struct ty_near near = { .text = d->op };
	for (size_t i = 0; i < t->nops; i++) {
		ty_near_add(&near, t->ops[i].name);
		ty_near_add(&near, t->ops[i].class_name);
	}
	return ty_not_there("--op", "no operation and no class", &near, err);
}

static bool wanted(const struct dump *d, const struct ty_ev *e)
{
	const struct ty_tables *t = &d->run.t;
	const struct ty_options *o = &d->run.opt;
	if (e->kind == TY_EV_MARK ? d->op != NULL : !d->wanted[e->op])
		return false;
	return (!o->thread || t->threads[e->thread].tid == o->thread) &&
	       (!o->process || t->processes[t->threads[e->thread].process].pid == o->process);
}

/* 0 also when nobody reads any more. */
static int print_all(struct dump *d, char *err)
{
	struct ty_scan *c;
	const struct ty_ev *ev;
	struct ty_progress progress;
	size_t n;
	bool quiet = isatty(STDOUT_FILENO); /* not between the lines of an output that goes to the same terminal */
	int r = ty_scan_open(&c, d->run.store, d->run.from, d->run.to, err);
	if (r < 0)
		return r;
	ty_progress_start(&progress, "printing");
	ty_fmt_much(stdout);
	while (!ferror(stdout) && (r = ty_scan_next(c, &ev, &n, err)) == 1) {
		for (size_t i = 0; i < n && !ferror(stdout); i++)
			if (wanted(d, &ev[i]))
				(d->json ? ty_dump_json : ty_dump_text)(d, &ev[i]);
		if (!quiet)
			ty_progress_show(&progress, ty_scan_done(c));
	}
	ty_progress_end(&progress);
	ty_scan_close(c);
	if (r >= 0 && (ferror(stdout) || fflush(stdout)))
		return errno == EPIPE ? 0 : ty_err(err, -EIO, "cannot write: %s", strerror(errno));
	return r < 0 ? r : 0;
}

int cmd_dump(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "STORE",
		"Events as text, one a line, in the order in which they ended.\v"
		"A line: time of the end in s, process/thread, kind, operation, object, duration, result, function.  "
		"Exit status: 0 all was printed, 1 it could not be, 2 usage.",
		NULL, NULL, NULL };
	struct dump d = { 0 };
	char err[TY_ERR_MAX] = "";
	if (ty_arguments(&argp, "tarry dump", argc, argv, &d))
		return TY_EXIT_USAGE;
	int e = ty_pass_load(&d.run, err);
	bool usage = e == -EINVAL && d.run.store;
	if (!e)
		e = prepare(&d, err);
	if (!e) {
		e = choose_ops(&d, err);
		usage = e == -EINVAL;
	}
	if (!e)
		e = print_all(&d, err);
	if (e)
		ty_say("%s", *err ? err : strerror(-e));
	release(&d);
	ty_run_free(&d.run);
	return !e ? TY_EXIT_OK : usage ? TY_EXIT_USAGE : TY_EXIT_FAIL;
}

/* SPDX-License-Identifier: MIT
 *
 * `tarry top`: who waits where right now.  Options, opening, plain frames.
 * Runs in a reader.  Must stay true: the program and the recorder do not
 * notice that they are watched. */
#include <argp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "analyze/top.h"
#include "analyze/where_options.h"
#include "cli/cmd.h"

#define BATCH_WIDTH 132u
#define BATCH_SITES 10u

struct given {
	struct ty_top top;
	bool batch;
	uint64_t frames;
	double delay, window;
	char found[4096];
};

enum { OPT_WINDOW = 256 };

static const struct argp_option options[] = {
	{ "batch", 'b', NULL, 0, "plain text, one frame after the other", 1 },
	{ "count", 'n', "N", 0, "end after N frames", 1 },
	{ "delay", 'd', "SECONDS", 0, "time between frames (default 2)", 1 },
	{ "window", OPT_WINDOW, "SECONDS", 0, "requests and sites of the last ones (default 5)", 1 },
	{ "sort", 's', "WHAT", 0, "wait (the default), operation, name, id", 1 },
	{ "requests", 'r', "RULE", 0, "auto, socket, transaction, marker, site:TEXT, none", 2 },
	{ "process", 'p', "PID", 0, "only this process", 2 },
	{ 0 }
};

static double seconds(const char *option, const char *arg, double least, struct argp_state *state)
{
	char *end;
	double x = strtod(arg, &end);
	if (end == arg || *end || !(x >= least && x <= 3600))
		argp_error(state, "%s: '%s' is not a number of seconds from %g to 3600", option, arg, least);
	return x;
}

static uint32_t number(const char *option, const char *arg, struct argp_state *state)
{
	uint32_t x = 0;
	ty_expected(state, option, ty_positive(arg, &x), arg);
	return x;
}

static enum ty_top_sort parse_sort(const char *arg, struct argp_state *state)
{
	static const char *const names[TY_SORTS] = { "wait", "operation", "name", "id" };
	for (unsigned i = 0; i < TY_SORTS; i++)
		if (!strcmp(arg, names[i]))
			return (enum ty_top_sort)i;
	argp_error(state, "--sort: there are wait, operation, name, id, not '%s'", arg);
	return TY_SORT_WAIT;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct given *g = state->input;
	struct ty_options *o = &g->top.run.opt;
	switch (key) {
	case 'b': g->batch = true; break;
	case 'n': g->frames = number("--count", arg, state); break;
	case 'd': g->delay = seconds("--delay", arg, 0.1, state); break;
	case OPT_WINDOW: g->window = seconds("--window", arg, 1, state); break;
	case 's': g->top.sort = parse_sort(arg, state); break;
	case 'r': o->requests = arg; break;
	case 'p': o->process = number("--process", arg, state); break;
	case ARGP_KEY_ARG: return ty_one_store(key, arg, state, &o->store);
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int open_top(struct ty_top *t, const char *store, char *err)
{
	t->run.opt.store = store;
	int e = ty_pass_load(&t->run, err);
	if (!e)
		e = ty_top_attach(t, err);
	if (!e)
		e = ty_top_tables(t, err);
	if (!e)
		e = ty_top_recent(t, err);
	return e ? e : ty_top_threads(t);
}

int ty_top_refresh(struct ty_top *t, char *err)
{
	t->ended = atomic_load_explicit(&t->arena->closed, memory_order_relaxed) ||
		   !ty_store_recording(t->run.store);
	if (t->ended)
		return 0;
	int e = ty_store_refresh(t->run.store, err);
	if (!e)
		e = ty_top_tables(t, err);
	if (!e)
		e = ty_top_recent(t, err);
	return e ? e : ty_top_threads(t);
}

static void close_top(struct ty_top *t)
{
	ty_top_recent_free(t);
	if (t->arena)
		munmap(t->arena, t->mapped);
	ty_run_free(&t->run);
}

/* 0 also when nobody reads any more. */
static int print_frame(const struct ty_top *t, uint64_t n, char *err)
{
	struct ty_top_lines l = { 0 };
	int e = ty_top_lines(t, BATCH_WIDTH, BATCH_SITES, &l);
	if (n)
		putchar('\n');
	for (size_t i = 0; i < l.n; i++)
		puts(l.v[i]);
	ty_top_lines_free(&l);
	if (fflush(stdout) || ferror(stdout))
		return errno == EPIPE ? -EPIPE : ty_err(err, -EIO, "cannot write: %s", strerror(errno));
	return e ? ty_err(err, e, "out of memory") : 0;
}

static int batch(struct given *g, char *err)
{
	struct timespec pause = { (time_t)g->delay, (long)((g->delay - (double)(time_t)g->delay) * 1e9) };
	int e = 0;
	for (uint64_t n = 0; !e && (!g->frames || n < g->frames); n++) {
		if (n) {
			nanosleep(&pause, NULL);
			e = ty_top_refresh(&g->top, err);
		}
		if (g->top.ended)
			return 0;
		e = e ? e : print_frame(&g->top, n, err);
	}
	return e == -EPIPE ? 0 : e;
}

int cmd_top(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse,
		"[STORE]",
		"Shows who waits where right now in a program that is being recorded.\v"
		"Without STORE: the recording that runs here, if it is the only one.  Keys: q quit, h help, "
		"s sort, "
		"space refresh, d delay, arrows and Page Up, Page Down scroll.  Exit status: 0 until asked "
		"to end, or the "
		"recording ended; 1 nothing could be shown, 2 usage.",
		NULL,
		NULL,
		NULL
	};
	static struct given g = { .delay = 2, .window = 5 };
	char err[TY_ERR_MAX] = "";
	if (ty_arguments(&argp, "tarry top", argc, argv, &g))
		return TY_EXIT_USAGE;
	int e = g.top.run.opt.store ? 0 : ty_top_find(g.found, sizeof g.found, err);
	g.top.window = (uint64_t)(g.window * 1e9);
	if (!e && !g.batch && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
		e = ty_err(err, -ENOTTY, "tarry top needs a terminal; -b prints plain text");
	if (!e)
		e = open_top(&g.top, *g.found ? g.found : g.top.run.opt.store, err);
	bool usage = e == -EINVAL && g.top.run.store;
	if (!e)
		e = g.batch ? batch(&g, err) : ty_top_screen(&g.top, &g.delay, g.frames, err);
	if (e)
		ty_say("%s", *err ? err : strerror(-e));
	else if (g.top.ended)
		ty_say("the recording has ended; `tarry report %s` shows it", g.top.run.opt.store);
	close_top(&g.top);
	return !e ? TY_EXIT_OK : usage ? TY_EXIT_USAGE : TY_EXIT_FAIL;
}

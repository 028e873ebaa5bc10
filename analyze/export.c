/* SPDX-License-Identifier: MIT
 *
 * `tarry export`: options, the output file, and the list of formats.  Runs in
 * readers.  Must stay true: a file that exists stays as it is unless --force
 * was given, a failed export leaves no file behind, and a reader of our
 * output that goes away is no error. */
#include <argp.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/export.h"
#include "analyze/fmt.h"
#include "analyze/where_options.h"
#include "cli/cmd.h"

enum { OPT_FORCE = 256, OPT_WEIGHT, OPT_IN_REQUESTS, OPT_WHAT, OPT_FORMAT };

static const struct argp_option options[] = {
	{ "format", OPT_FORMAT, "FORMAT", 0, "folded, pprof, chrome (Perfetto, too) or csv", 1 },
	{ "output", 'o', "FILE", 0, "a new FILE instead of standard output", 1 },
	{ "force", OPT_FORCE, NULL, 0, "overwrite FILE", 1 },
	{ "weight", OPT_WEIGHT, "UNIT", 0, "folded: us of waiting (the default), or waits", 2 },
	{ "in-requests", OPT_IN_REQUESTS, NULL, 0, "folded: only waits inside requests", 2 },
	{ "what", OPT_WHAT, "ROWS", 0, "csv: events (the default), sites or requests", 2 },
	{ "requests", 'r', "RULE", 0, "auto, socket, transaction, marker, site:TEXT, none", 3 },
	{ "from", 'f', "T", 0, "begin of a window, from the start (2.5s), or ns", 3 },
	{ "to", 't', "T", 0, "end of the window", 3 },
	{ "process", 'p', "PID", 0, "only this process", 3 },
	{ "thread", 'T', "TID", 0, "only this thread", 3 },
	{ 0 }
};

static const struct format {
	const char *name;
	int (*write)(struct export *x, char *err);
	bool binary;
} formats[] = {
	{ "folded", ty_export_folded, false },
	{ "pprof", ty_export_pprof, true },
	{ "chrome", ty_export_chrome, false },
	{ "csv", ty_export_csv, false },
};

struct given {
	struct export x;
	const struct format *format;
	const char *file, *weight, *what;
	bool force;
};

static const struct format *parse_format(const char *arg, struct argp_state *state)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (!strcmp(arg, formats[i].name))
			return &formats[i];
	argp_error(state, "no format '%s': there are folded, pprof, chrome, csv", arg);
	return NULL;
}

/* -1: none of them */
static int find_word(const char *arg, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(arg, words[i]))
			return i;
	return -1;
}

/* Options that only one format understands. */
static void check(struct given *g, struct argp_state *state)
{
	static const char *const weights[] = { "us", "waits", NULL }, *const parts[] = { "events", "sites", "requests", NULL };
	int weight = g->weight ? find_word(g->weight, weights) : 0, what = g->what ? find_word(g->what, parts) : 0;
	if (!g->format)
		argp_error(state, "which format? --format folded, pprof, chrome or csv");
	if ((g->weight || g->x.in_requests) && g->format->write != ty_export_folded)
		argp_error(state, "--weight and --in-requests are options of --format folded");
	if (g->what && g->format->write != ty_export_csv)
		argp_error(state, "--what is an option of --format csv");
	if (g->force && !g->file)
		argp_error(state, "--force without -o FILE");
	ty_expected(state, "--weight", weight < 0 ? "us or waits" : NULL, g->weight);
	ty_expected(state, "--what", what < 0 ? "one of events, sites, requests" : NULL, g->what);
	g->x.waits = weight == 1;
	g->x.what = (enum ty_what)what;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct given *g = state->input;
	struct ty_options *o = &g->x.run.opt;
	switch (key) {
	case OPT_FORMAT: g->format = parse_format(arg, state); break;
	case 'o': g->file = strcmp(arg, "-") ? arg : NULL; break;
	case OPT_FORCE: g->force = true; break;
	case OPT_WEIGHT: g->weight = arg; break;
	case OPT_IN_REQUESTS: g->x.in_requests = true; break;
	case OPT_WHAT: g->what = arg; break;
	case 'r': o->requests = arg; break;
	case 'f': o->from = arg; break;
	case 't': o->to = arg; break;
	case 'p': ty_expected(state, "--process", ty_positive(arg, &o->process), arg); break;
	case 'T': ty_expected(state, "--thread", ty_positive(arg, &o->thread), arg); break;
	case ARGP_KEY_END:
		ty_one_store(key, arg, state, &o->store);
		check(g, state);
		break;
	default: return ty_one_store(key, arg, state, &o->store);
	}
	return 0;
}

/* ---- output ---- */

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;
	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* What is not whole yet is not left behind by Ctrl-C. */
static const char *volatile partial;

static void drop_partial(int sig)
{
	if (partial)
		unlink(partial);
	raise(sig); /* with what it did before, once this has returned */
}

static void watch_signals(const char *file)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction before, act = { .sa_handler = drop_partial, .sa_flags = (int)SA_RESETHAND };
	partial = file;
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		if (!sigaction(signals[i], NULL, &before) && before.sa_handler == SIG_DFL)
			sigaction(signals[i], &act, NULL);
}

static int open_output(struct given *g, char *err)
{
	g->x.out = stdout;
	if (!g->file && g->format->binary && isatty(STDOUT_FILENO))
		return ty_err(err, -EINVAL, "--format %s is not for a terminal: write it to a file with -o",
			      g->format->name);
	if (!g->file)
		return 0;
	if (same_file(g->file, g->x.run.opt.store))
		return ty_err(err, -EINVAL, "%s is the store itself", g->file);
	int fd = open(g->file, O_WRONLY | O_CREAT | O_CLOEXEC | (g->force ? O_TRUNC : O_EXCL), 0666);
	if (fd < 0 && errno == EEXIST)
		return ty_err(err, -EEXIST, "%s exists; --force overwrites it", g->file);
	if (fd >= 0 && !g->force)
		watch_signals(g->file);
	g->x.out = fd < 0 ? NULL : fdopen(fd, "w");
	return g->x.out ? 0 : ty_err(err, -errno, "cannot create %s: %s", g->file, strerror(errno));
}

/* Returns e, or what went wrong with writing the rest. */
static int close_output(struct given *g, int e, char *err)
{
	bool bad = fflush(g->x.out) != 0;
	int why = errno;
	bad = bad || ferror(g->x.out);
	if (g->file && fclose(g->x.out) != 0 && !bad) {
		bad = true;
		why = errno;
	}
	partial = NULL;
	if (!e && bad && (g->file || why != EPIPE))
		e = ty_err(err, -EIO, "cannot write %s: %s", g->file ? g->file : "the output", strerror(why));
	if (e && g->file && !g->force)
		unlink(g->file);
	return e;
}

/* ---- all of it ---- */

static int export_store(struct given *g, bool *usage, char *err)
{
	struct run *r = &g->x.run;
	struct ty_progress progress;
	int e = ty_pass_load(r, err);
	*usage = e && r->store && e == -EINVAL;
	if (e)
		return e;
	e = open_output(g, err);
	*usage = e == -EINVAL;
	if (e)
		return e;
	/* not between the lines of an output that goes to the same terminal */
	ty_progress_start(&progress, "exporting");
	if (g->file || !isatty(STDOUT_FILENO)) {
		r->progress = ty_progress_show;
		r->progress_arg = &progress;
	}
	ty_fmt_much(g->x.out);
	e = g->format->write(&g->x, err);
	ty_progress_end(&progress);
	*usage = e == -ENODATA;
	return close_output(g, e, err);
}

int cmd_export(int argc, char **argv)
{
	static const struct argp argp = { options,
					  parse,
					  "STORE",
					  "Writes a recording in a format that other programs show.\v"
					  "Exit status: 0 all was "
					  "written, 1 it could not be, 2 usage.",
					  NULL,
					  NULL,
					  NULL };
	struct given g = { .x.run.opt.tail = 0.99 };
	char err[TY_ERR_MAX] = "";
	bool usage = false;
	if (ty_arguments(&argp, "tarry export", argc, argv, &g))
		return TY_EXIT_USAGE;
	int e = export_store(&g, &usage, err);
	if (e)
		ty_say("%s", *err ? err : strerror(-e));
	ty_run_free(&g.x.run);
	return !e ? TY_EXIT_OK : usage ? TY_EXIT_USAGE : TY_EXIT_FAIL;
}

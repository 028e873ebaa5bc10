/* SPDX-License-Identifier: MIT
 *
 * `tarry export`: options, the output file, and the list of formats.  Runs in
 * readers.  Must stay true: a file that exists stays as it is unless --force
 * was given, a failed export leaves no file behind, and a reader of our
 * output that goes away is no error. */
#include <argp.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyze/export.h"
#include "cli/cmd.h"

enum { OPT_FORCE = 256, OPT_WEIGHT, OPT_IN_REQUESTS, OPT_WHAT, OPT_FORMAT };

static const struct argp_option options[] = {
	{ "format", OPT_FORMAT, "FORMAT", 0, "folded (flame graphs), pprof, chrome (chrome://tracing, Perfetto) or csv", 1 },
	{ "output", 'o', "FILE", 0, "write FILE instead of standard output; one that exists is left alone", 1 },
	{ "force", OPT_FORCE, NULL, 0, "overwrite FILE", 1 },
	{ "weight", OPT_WEIGHT, "UNIT", 0, "folded: us of waiting (the default), or waits", 2 },
	{ "in-requests", OPT_IN_REQUESTS, NULL, 0, "folded: only what was waited inside requests", 2 },
	{ "what", OPT_WHAT, "ROWS", 0, "csv: events (the default), sites or requests", 2 },
	{ "requests", 'r', "RULE", 0, "what a request is: auto, socket, marker, site:TEXT, none", 3 },
	{ "from", 'f', "T", 0, "only what lies inside a window; T is a time since the start of the recording "
		"(2.5s, 300ms), or CLOCK_MONOTONIC ns if it is a whole number of at least 1000000000", 3 },
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

static uint32_t parse_id(const char *arg, struct argp_state *state)
{
	char *end;
	errno = 0;
	unsigned long v = strtoul(arg, &end, 10);
	if (*arg < '0' || *arg > '9' || *end || errno || v == 0 || v > INT32_MAX)
		argp_error(state, "'%s' is no process or thread id", arg);
	return (uint32_t)v;
}

static const struct format *parse_format(const char *arg, struct argp_state *state)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (!strcmp(arg, formats[i].name))
			return &formats[i];
	argp_error(state, "no format '%s': there are folded, pprof, chrome, csv", arg);
	return NULL;
}

static void parse_word(const char *arg, const char *const *words, int *ret, struct argp_state *state)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(arg, words[i])) {
			*ret = i;
			return;
		}
	argp_error(state, "'%s' makes no sense there", arg);
}

/* Options that only one format understands. */
static void check(struct given *g, struct argp_state *state)
{
	static const char *const weights[] = { "us", "waits", NULL }, *const parts[] = { "events", "sites", "requests", NULL };
	int weight = 0, what = 0;
	if (!g->x.run.opt.store)
		argp_error(state, "which store? (tarry record writes one)");
	if (!g->format)
		argp_error(state, "which format? --format folded, pprof, chrome or csv");
	if ((g->weight || g->x.in_requests) && g->format->write != ty_export_folded)
		argp_error(state, "--weight and --in-requests are options of --format folded");
	if (g->what && g->format->write != ty_export_csv)
		argp_error(state, "--what is an option of --format csv");
	if (g->force && !g->file)
		argp_error(state, "--force without -o FILE");
	if (g->weight)
		parse_word(g->weight, weights, &weight, state);
	if (g->what)
		parse_word(g->what, parts, &what, state);
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
	case 'p': o->process = parse_id(arg, state); break;
	case 'T': o->thread = parse_id(arg, state); break;
	case ARGP_KEY_ARG:
		if (o->store)
			argp_error(state, "one store at a time, not also '%s'", arg);
		o->store = arg;
		break;
	case ARGP_KEY_END: check(g, state); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- output ---- */

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;
	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
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
	if (!e && bad && (g->file || why != EPIPE))
		e = ty_err(err, -EIO, "cannot write %s: %s", g->file ? g->file : "the output", strerror(why));
	if (e && g->file && !g->force)
		unlink(g->file);
	return e;
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
	if ((double)(now.tv_sec - p->start.tv_sec) + (double)(now.tv_nsec - p->start.tv_nsec) / 1e9 < 1)
		return;
	p->shown = true;
	fprintf(stderr, "\rexporting: %3.0f %%", done * 100);
}

static int export_store(struct given *g, bool *usage, char *err)
{
	struct run *r = &g->x.run;
	struct progress progress = { 0 };
	int e = ty_pass_load(r, err);
	*usage = e && r->store && (e == -EINVAL || e == -ESRCH);
	if (e)
		return e;
	e = open_output(g, err);
	*usage = e == -EINVAL;
	if (e)
		return e;
	/* not between the lines of an output that goes to the same terminal */
	if (isatty(STDERR_FILENO) && (g->file || !isatty(STDOUT_FILENO))) {
		clock_gettime(CLOCK_MONOTONIC, &progress.start);
		r->progress = show_progress;
		r->progress_arg = &progress;
	}
	e = g->format->write(&g->x, err);
	if (progress.shown)
		fprintf(stderr, "\r                 \r");
	*usage = e == -ENODATA;
	return close_output(g, e, err);
}

int cmd_export(int argc, char **argv)
{
	static const struct argp argp = { options,
					  parse,
					  "STORE",
					  "Writes a recording in a format that other programs show.\v"
					  "The store may still be being recorded.  Exit status: 0 all was "
					  "written, 1 it could not be, 2 usage.",
					  NULL,
					  NULL,
					  NULL };
	struct given g = { 0 };
	char err[TY_ERR_MAX] = "";
	bool usage = false;
	static char name[] = "tarry export"; /* as usage and errors call us */
	argv[0] = name;
	argp_err_exit_status = TY_EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &g))
		return TY_EXIT_USAGE;
	int e = export_store(&g, &usage, err);
	if (e)
		ty_say("%s", *err ? err : strerror(-e));
	ty_run_free(&g.x.run);
	return !e ? TY_EXIT_OK : usage ? TY_EXIT_USAGE : TY_EXIT_FAIL;
}

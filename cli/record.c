/* SPDX-License-Identifier: MIT
 * tarry record: options, and the order of things.  The work is done in
 * recorder/: program.c looks at the command, launch.c starts it, session.c
 * records.  Everything that can be refused is refused before anything starts. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cmd.h"
#include "cli/status.h"
#include "recorder/launch.h"
#include "recorder/proc.h"
#include "recorder/program.h"
#include "recorder/session.h"

#define TELL_TURNS 100u  /* with processes left, before we say so */
#define PAUSE_TURNS 20u  /* between two looks at who is left */
#define LOOKS 3u

enum { KEY_NO_CHILDREN = 256, KEY_ONLY, KEY_MAX_SIZE, KEY_KEEP, KEY_PAUSED, KEY_MIN_PATH, KEY_SELF_CHECK, KEY_ORDER };

static const struct argp_option options[] = {
	{ "output", 'o', "STORE", 0, "Store to create (default: CMD.PID.tarry here)", 0 },
	{ "config", 'c', "FILE", 0, "Configuration in YAML; options come after it", 0 },
	{ "no-children", KEY_NO_CHILDREN, 0, 0, "Record only the program itself", 0 },
	{ "only", KEY_ONLY, "EXE", 0, "Record only processes of this executable", 0 },
	{ "max-size", KEY_MAX_SIZE, "SIZE", 0, "Drop the oldest events beyond this size, e.g. 1G", 0 },
	{ "keep", KEY_KEEP, "TIME", 0, "Keep only the last so much time, e.g. 5m", 0 },
	{ "paused", KEY_PAUSED, 0, 0, "Start without recording; `tarry ctl STORE on` begins", 0 },
	{ "min-path", KEY_MIN_PATH, "TIME", 0, "IO shorter than this gets no path (default 10us)", 0 },
	{ "self-check", KEY_SELF_CHECK, "N", 0, "Check one call path in N with a second unwinder", 0 },
	{ "order", KEY_ORDER, "ORDER", 0, "Grant waiters so: eldest, or eldest:cond,mutex", 0 },
	{ "quiet", 'q', 0, 0, "No status line and no summary", 0 },
	{ "verbose", 'v', 0, 0, "Summary also when standard error is no terminal", 0 },
	{ 0 },
};

struct record {
	struct ty_settings set;
	struct ty_program program;
	struct ty_launch launch;
	const char *store;
	char **command;
	bool ordered;              /* --order was given */
	bool quiet, verbose, line; /* line: the status line is on the terminal */
	char default_store[300], library[4096];
};

static void want(struct argp_state *st, int rc, const char *what, const char *arg, const char *example)
{
	if (rc < 0)
		argp_error(st, "%s \"%s\": write it like %s", what, arg, example);
}

static void self_check(struct argp_state *st, struct ty_settings *s, const char *arg)
{
	char *end;
	const char *digits = strncmp(arg, "1/", 2) == 0 ? arg + 2 : arg;
	unsigned long n = strtoul(digits, &end, 10);
	want(st, *end || end == digits || n > UINT32_MAX ? -EINVAL : 0, "--self-check", arg, "1/16");
	s->self_check = (uint32_t)n;
}

static void order(struct argp_state *st, struct record *o, const char *arg)
{
	char err[TY_ERR_MAX];
	if (!o->ordered)
		o->set.orders.rules = 0;
	o->ordered = true;
	if (ty_orders_add(&o->set.orders, arg, err) < 0)
		argp_error(st, "--order: %s", err);
}

static error_t option(int key, char *arg, struct argp_state *st)
{
	struct record *o = st->input;
	switch (key) {
	case 'o':
		if (!*arg)
			argp_error(st, "--output needs the name of the store");
		o->store = arg;
		return 0;
	case 'c': /* read by read_config, before all others */
		return 0;
	case KEY_NO_CHILDREN:
		o->set.children = false;
		return 0;
	case KEY_ONLY:
		if (strlen(arg) >= sizeof o->set.only || strchr(arg, '/'))
			argp_error(st, "--only takes the base name of an executable, at most 63 characters");
		snprintf(o->set.only, sizeof o->set.only, "%s", arg);
		return 0;
	case KEY_MAX_SIZE:
		want(st, ty_parse_size(arg, &o->set.max_size), "--max-size", arg, "500M or 2G");
		return 0;
	case KEY_KEEP:
		want(st, ty_parse_time(arg, &o->set.keep_ns), "--keep", arg, "30s or 5m");
		return 0;
	case KEY_PAUSED:
		o->set.paused = true;
		return 0;
	case KEY_MIN_PATH:
		want(st, ty_parse_time(arg, &o->set.min_path_ns), "--min-path", arg, "10us or 0");
		return 0;
	case KEY_SELF_CHECK:
		self_check(st, &o->set, arg);
		return 0;
	case KEY_ORDER:
		order(st, o, arg);
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case ARGP_KEY_ARG: /* the command and all that is its own */
		o->command = &st->argv[st->next - 1];
		st->next = st->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(st, "which program? tarry record -- PROGRAM ARGUMENT...");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t config_option(int key, char *arg, struct argp_state *st)
{
	struct record *o = st->input;
	char err[TY_ERR_MAX];
	if (key == ARGP_KEY_ARG)
		st->next = st->argc;
	if (key == 'c' && ty_settings_read(&o->set, arg, err) < 0) {
		ty_say("%s", err);
		exit(TY_EXIT_USAGE);
	}
	return 0;
}

static void parse(struct record *o, int argc, char **argv)
{
	static const char doc[] = "Runs PROGRAM and records where it waits.  Signals are passed on to it, its exit "
				  "status is returned; 127, 126: it could not be started, 1: it cannot be recorded "
				  "or the recording is not complete, 2: usage or configuration.";
	static const struct argp config = { .options = options, .parser = config_option };
	static const struct argp argp = { .options = options, .parser = option, .args_doc = "-- PROGRAM [ARGUMENT...]",
					  .doc = doc };
	argp_err_exit_status = TY_EXIT_USAGE;
	ty_settings_default(&o->set);
	/* The file first, wherever it stands: options override it.  Silent, for
	 * the second pass says what is wrong with the options. */
	argp_parse(&config, argc, argv, ARGP_IN_ORDER | ARGP_NO_ERRS | ARGP_NO_HELP, NULL, o);
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, o);
}

/* ---- status line ---- */

static void clear_line(struct record *o)
{
	if (o->line)
		fputs("\r\033[K", stderr);
	o->line = false;
}

static void show(struct record *o, struct ty_recorder *r, struct ty_status *status)
{
	char text[200];
	struct ty_summary sum;
	uint64_t now = ty_now();
	if (o->quiet || !isatty(STDERR_FILENO) || !ty_status_due(status, now))
		return;
	ty_session_figures(r, &sum);
	if (!ty_status_line(status, &sum, now, text, sizeof text))
		return;
	fprintf(stderr, "\r%s\033[K", text);
	fflush(stderr);
	o->line = true;
}

static void sum_up(struct record *o, const struct ty_summary *s)
{
	char text[500];
	bool tell = !o->quiet && (isatty(STDERR_FILENO) || o->verbose);
	clear_line(o);
	if (s->refused)
		ty_say("%u process%s built for another version of tarry and stayed off", s->refused,
		       s->refused == 1 ? " was" : "es were");
	if (!s->attached && !s->refused && !o->set.only[0])
		ty_say("%s: nothing was recorded: libtarry.so was not loaded into the program", o->store);
	for (uint32_t i = 0; i < s->notes; i++)
		ty_say("%s", s->note[i]);
	if (*s->trouble)
		ty_say("%s: the recording is not complete: %s", o->store, s->trouble);
	if (tell) {
		ty_status_sum(o->store, s, text, sizeof text);
		ty_say("%s", text);
	}
}

/* ---- the recording ---- */

/* After the command's end. */
struct after {
	unsigned turns, looks, pause;
};

static bool goes_on(struct record *o, struct ty_recorder *r, struct after *a)
{
	struct ty_launch *l = &o->launch;
	if (!l->ended)
		return true;
	if (l->stop)
		return false;
	if (a->pause) {
		a->pause--;
		return true;
	}
	if (ty_session_alive(r)) {
		if (++a->turns == TELL_TURNS && !o->quiet && isatty(STDERR_FILENO)) {
			clear_line(o);
			ty_say("the program has ended; recording goes on until its processes have (Ctrl-C ends it)");
		}
		return true;
	}
	/* a child of ours that is just being started may still join */
	a->pause = PAUSE_TURNS;
	return l->children && ++a->looks < LOOKS;
}

static void record(struct record *o, struct ty_recorder *r, struct ty_summary *sum)
{
	uint64_t now = ty_now();
	struct ty_status status = { .began = now, .shown = now };
	struct after after = { 0 };
	do {
		ty_session_turn(r);
		ty_launch_signals(&o->launch);
		show(o, r, &status);
	} while (goes_on(o, r, &after));
	ty_session_finish(r, o->launch.early, sum);
}

static int start(struct record *o)
{
	char err[TY_ERR_MAX];
	struct ty_recorder *r;
	struct ty_summary sum;
	if (ty_launch_fork(&o->launch, o->program.path, o->command, o->library, err) < 0) {
		ty_say("%s", err);
		return TY_EXIT_FAIL;
	}
	if (!o->store) {
		const char *slash = strrchr(o->command[0], '/');
		snprintf(o->default_store, sizeof o->default_store, "%.200s.%d.tarry",
			 slash ? slash + 1 : o->command[0], o->launch.pid);
		o->store = o->default_store;
	}
	if (ty_session_start(&r, &o->set, o->store, o->command, err) < 0) {
		ty_launch_cancel(&o->launch);
		ty_say("%s", err);
		return TY_EXIT_FAIL;
	}
	ty_session_first_pid(r, o->launch.pid);
	ty_session_watch_fd(r, o->launch.signals);
	int rc = ty_launch_go(&o->launch, ty_session_locator(r));
	if (rc < 0) {
		ty_session_finish(r, true, &sum);
		ty_store_remove(o->store);
		ty_say("%s: %s", o->command[0], strerror(-rc));
		return rc == -ENOENT ? 127 : 126;
	}
	record(o, r, &sum);
	sum_up(o, &sum);
	return *sum.trouble && o->launch.status == 0 ? TY_EXIT_FAIL : o->launch.status;
}

int cmd_record(int argc, char **argv)
{
	static struct record o;
	char err[TY_ERR_MAX], name[] = "tarry record";
	argv[0] = name;
	parse(&o, argc, argv);
	int rc = ty_program_check(o.command[0], &o.program, err);
	if (rc == 0)
		rc = ty_library_find(o.library, sizeof o.library, err) < 0 ? -ENOTSUP : 0;
	if (rc < 0) {
		ty_say("%s", err);
		ty_settings_free(&o.set);
		return rc == -ENOENT ? 127 : rc == -EACCES ? 126 : TY_EXIT_FAIL;
	}
	if (*o.program.warning)
		ty_say("%s", o.program.warning);
	if (ty_orders_warning(&o.set.orders, err))
		ty_say("%s", err);
	rc = start(&o);
	ty_settings_free(&o.set);
	return rc;
}

/* SPDX-License-Identifier: MIT
 * Sub-commands of `tarry`.  Each takes its own argc/argv (argv[0] is the
 * command's name) and returns the exit status: 0 ok, 1 finding or failure,
 * 2 usage.  `record` returns the recorded program's status. */
#ifndef TY_CMD_H
#define TY_CMD_H

#include <argp.h>
#include <stdint.h>

enum { TY_EXIT_OK = 0, TY_EXIT_FAIL = 1, TY_EXIT_USAGE = 2 };

#define TY_COMMANDS(X)                                                            \
	X(record, "run a program and record where it waits")                      \
	X(report, "name the wait sites that make latency vary")                   \
	X(blame, "name who ended the waits, and the root causes behind them")      \
	X(tree, "through which functions the variance of latency comes")         \
	X(tail, "what distinguishes the slowest requests")                       \
	X(compare, "two recordings side by side; says what got worse")            \
	X(experiment, "variants of a program against each other, run by run")      \
	X(info, "what a store holds: provenance, counts, losses, coverage")       \
	X(dump, "events as text, one a line")                                     \
	X(export, "folded stacks, pprof, Chrome trace or CSV for other programs")  \
	X(top, "who waits where right now, in a recording in progress")            \
	X(ctl, "switch recording, or orders of waiters, in a running program")

#define X(name, what) int cmd_##name(int argc, char **argv);
TY_COMMANDS(X)
#undef X

/* Hidden: the recorder of a plain preload; argv as preload/start.c passes it. */
int cmd_recorder(int argc, char **argv);

/* Reads a command's options into `input`; name is what usage and errors call it, "tarry info".
 * 0, or TY_EXIT_USAGE.  For a mistake argp ends the program with that, after a line about it. */
static inline int ty_arguments(const struct argp *argp, const char *name, int argc, char **argv, void *input)
{
	argv[0] = (char *)(uintptr_t)name;
	argp_err_exit_status = TY_EXIT_USAGE;
	return argp_parse(argp, argc, argv, 0, NULL, input) ? TY_EXIT_USAGE : TY_EXIT_OK;
}

/* "tarry: ..." on standard error, one line. */
void ty_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif

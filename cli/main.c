/* SPDX-License-Identifier: MIT
 * `tarry`: finds the sub-command.  What each does stands in its own file. */
#include <stdio.h>
#include <string.h>
#include "analyze/output.h"
#include "cli/cmd.h"
#include "common/err.h"

static const struct {
	const char *name, *what;
	int (*run)(int argc, char **argv);
} commands[] = {
#define X(name, what) { #name, what, cmd_##name },
	TY_COMMANDS(X)
#undef X
};
#define COUNT (sizeof commands / sizeof *commands)

static void help(FILE *to)
{
	fprintf(to, "Usage: tarry COMMAND [OPTION...] ...\n"
		    "Records where a program waits, and names the waits that make its latency vary.\n\n");
	for (size_t i = 0; i < COUNT; i++)
		fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].what);
	fprintf(to, "\n`tarry COMMAND --help` says more.  Begin with: tarry record -- PROGRAM\n");
}

static int printed(int failed)
{
	char err[TY_ERR_MAX];
	int e = ty_output_end(failed, err);
	if (e)
		ty_say("%s", err);
	return e ? TY_EXIT_FAIL : TY_EXIT_OK;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--recorder") == 0)
		return cmd_recorder(argc - 1, argv + 1);
	if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
		return printed(puts("tarry " TY_VERSION) < 0);
	}
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)) {
		help(stdout);
		return printed(0);
	}
	for (size_t i = 0; argc > 1 && i < COUNT; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	if (argc > 1)
		ty_say("no command \"%s\"; `tarry --help` lists them", argv[1]);
	else
		help(stderr);
	return TY_EXIT_USAGE;
}

/* SPDX-License-Identifier: MIT
 * tarry ctl STORE on|off|status: switches recording in a running program, one
 * word in the arena whose locator the store holds. */
#include <argp.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include "cli/cmd.h"
#include "common/store.h"
#include "recorder/arena.h"

static const char *locator_of(struct ty_store *s, char *buf, size_t size)
{
	const char *json = ty_store_meta(s, "arena");
	json_t *j = json ? json_loads(json, JSON_DECODE_ANY, NULL) : NULL;
	snprintf(buf, size, "%s", j && json_is_string(j) ? json_string_value(j) : "");
	json_decref(j);
	return buf;
}

static int act(struct ty_arena *a, const char *what)
{
	if (strcmp(what, "status") != 0)
		atomic_store_explicit(&a->enabled, strcmp(what, "on") == 0, memory_order_relaxed);
	printf("%s\n", atomic_load_explicit(&a->enabled, memory_order_relaxed) ? "on" : "off");
	return fflush(stdout) ? TY_EXIT_FAIL : TY_EXIT_OK;
}

static int run(const char *store, const char *what)
{
	char err[TY_ERR_MAX], locator[128];
	struct ty_store *s;
	struct ty_arena *a;
	if (ty_store_open(&s, store, err) < 0) {
		ty_say("%s", err);
		return TY_EXIT_FAIL;
	}
	locator_of(s, locator, sizeof locator);
	ty_store_close(s);
	if (!*locator) {
		ty_say("%s: this recording is complete, nothing runs that could be switched", store);
		return TY_EXIT_FAIL;
	}
	if (ty_arena_attach(&a, locator, err) < 0) {
		ty_say("%s: %s", store, err);
		return TY_EXIT_FAIL;
	}
	int rc = act(a, what);
	ty_arena_detach(a);
	return rc;
}

static error_t option(int key, char *arg, struct argp_state *state)
{
	char **words = state->input;
	switch (key) {
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			argp_error(state, "too many arguments");
		words[state->arg_num] = arg;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num < 2)
			argp_error(state, "STORE and one of on, off, status are needed");
		if (strcmp(words[1], "on") && strcmp(words[1], "off") && strcmp(words[1], "status"))
			argp_error(state, "\"%s\" is none of on, off, status", words[1]);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_ctl(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = option,
		.args_doc = "STORE on|off|status",
		.doc = "Switches recording in a running program, and prints what is the case then.",
	};
	char *words[2] = { NULL, NULL }, name[] = "tarry ctl";
	argv[0] = name;
	argp_err_exit_status = TY_EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, words) != 0)
		return TY_EXIT_USAGE;
	return run(words[0], words[1]);
}

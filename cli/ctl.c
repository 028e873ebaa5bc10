/* SPDX-License-Identifier: MIT
 * tarry ctl STORE on|off|native|ordered|status: switches recording, or the orders
 * of waiters, in a running program: words in the arena whose locator the store holds. */
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

static const char *const words[] = { "on", "off", "native", "ordered", "status" };

static bool known(const char *word)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return false;
}

static int act(struct ty_arena *a, const char *store, const char *what)
{
	bool orders = a->orders.conf.rules > 0 || a->orders.conf.sync != TY_SYNC_NATIVE;
	bool order = !strcmp(what, "native") || !strcmp(what, "ordered");
	if (order && !orders) {
		ty_say("%s: recorded without orders (orders and fsync in the configuration, tarry record --order)",
		       store);
		return TY_EXIT_FAIL;
	}
	if (order)
		atomic_store_explicit(&a->orders_native, strcmp(what, "native") == 0, memory_order_relaxed);
	else if (strcmp(what, "status") != 0)
		atomic_store_explicit(&a->enabled, strcmp(what, "on") == 0, memory_order_relaxed);
	printf("%s%s\n", atomic_load_explicit(&a->enabled, memory_order_relaxed) ? "on" : "off", !orders ? "" :
	       atomic_load_explicit(&a->orders_native, memory_order_relaxed) ? ", native" : ", ordered");
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
	int rc = act(a, store, what);
	ty_arena_detach(a);
	return rc;
}

static error_t option(int key, char *arg, struct argp_state *state)
{
	char **given = state->input;
	switch (key) {
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			argp_error(state, "too many arguments");
		given[state->arg_num] = arg;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num < 2)
			argp_error(state, "STORE and one of on, off, native, ordered, status are needed");
		if (!known(given[1]))
			argp_error(state, "\"%s\" is none of on, off, native, ordered, status", given[1]);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_ctl(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = option,
		.args_doc = "STORE on|off|native|ordered|status",
		.doc = "Switches recording, or the orders of waiters, in a running program, and prints what is the "
		       "case then.\v"
		       "on, off: whether waits are recorded.  native: new waiters are granted as libc grants them, "
		       "ordered: again in the order that the recording was started with.  status: changes nothing.\n\n"
		       "Exit status: 0 done, 1 nothing runs that could be switched, 2 usage.",
	};
	char *given[2] = { NULL, NULL };
	if (ty_arguments(&argp, "tarry ctl", argc, argv, given))
		return TY_EXIT_USAGE;
	return run(given[0], given[1]);
}

/* SPDX-License-Identifier: MIT
 *
 * `tarry info`: what a store holds, what was lost, what could not be seen.
 * Runs in readers; reads tables and heads of blocks, never events. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/info.h"
#include "analyze/where_options.h"
#include "cli/cmd.h"

enum { OPT_ALL = 256 };

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "for programs instead of people", 0 },
	{ "all", OPT_ALL, NULL, 0, "all processes, threads and modules", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ty_info *i = state->input;
	switch (key) {
	case 'j': i->json = true; break;
	case OPT_ALL: i->all = true; break;
	default: return ty_one_store(key, arg, state, &i->path);
	}
	return 0;
}

/* A value that is not JSON is shown as text. */
static int take_meta(void *arg, const char *key, const char *value)
{
	json_t *j = json_loads(value, JSON_DECODE_ANY, NULL);
	if (!j)
		j = json_string(value);
	json_object_set_new(arg, key, j);
	return 0;
}

static void sum_threads(struct ty_info *i)
{
	const struct ty_tables *t = &i->run.t;
	for (size_t k = 0; k < t->nthreads; k++) {
		const struct ty_thread_info *th = &t->threads[k];
		for (size_t o = 0; o < t->nops; o++) {
			i->fast[o] += th->fast[o];
			i->recorded[o] += th->recorded[o];
		}
		for (size_t l = 0; l < i->nlosses; l++)
			i->lost[l] += th->loss[l];
		if (!th->sampled_ns)
			continue;
		struct ty_unseen *u = &i->unseen[th->process];
		uint64_t known = th->cpu_ns + th->runq_ns + th->waits_ns;
		u->threads++;
		u->wall += th->sampled_ns;
		u->cpu += th->cpu_ns;
		u->runq += th->runq_ns;
		u->waits += th->waits_ns;
		u->unseen += th->sampled_ns > known ? th->sampled_ns - known : 0;
	}
}

static int gather(struct ty_info *i, char *err)
{
	struct ty_tables *t = &i->run.t;
	struct ty_extent x;
	struct stat st;
	int e = ty_store_extent(i->run.store, &x, err);
	if (e)
		return e;
	i->loss = ty_store_losses(i->run.store, &i->nlosses);
	i->meta = json_object();
	i->fast = calloc(t->nops + 1, sizeof *i->fast);
	i->recorded = calloc(t->nops + 1, sizeof *i->recorded);
	i->lost = calloc(i->nlosses + 1, sizeof *i->lost);
	i->unseen = calloc(t->nprocesses + 1, sizeof *i->unseen);
	if (!i->meta || !i->fast || !i->recorded || !i->lost || !i->unseen)
		return ty_err(err, -ENOMEM, "no memory");
	ty_store_meta_each(i->run.store, take_meta, i->meta);
	sum_threads(i);
	i->blocks = x.blocks;
	i->events = x.events;
	i->start = i->run.start;
	i->end = (uint64_t)json_integer_value(ty_info_meta(i, "end"));
	if (!i->end)
		i->end = x.last;
	i->bytes = stat(i->path, &st) == 0 ? (uint64_t)st.st_size : 0;
	const char *state = json_string_value(ty_info_meta(i, "state"));
	i->state = state && strcmp(state, "recording") != 0 ? state :
		   ty_store_recording(i->run.store) ? "recording" : "recorder ended early";
	return 0;
}

int cmd_info(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "STORE",
		"What a store holds: where it comes from, processes, threads, modules, counts of operations, "
		"losses, self-check, coverage, and time that could not be seen.\v"
		"Exit status: 0 it was printed, 1 it could not be, 2 usage.",
		NULL, NULL, NULL };
	struct ty_info i = { 0 };
	char err[TY_ERR_MAX] = "";
	if (ty_arguments(&argp, "tarry info", argc, argv, &i))
		return TY_EXIT_USAGE;
	i.run.opt.store = i.path;
	i.run.opt.requests = "none"; /* not a question of `info` */
	int e = ty_pass_load(&i.run, err);
	if (!e)
		e = gather(&i, err);
	if (!e)
		(i.json ? ty_info_json : ty_info_text)(&i);
	if (!e && (ferror(stdout) || fflush(stdout)) && errno != EPIPE) /* head, less: may leave early */
		e = ty_err(err, -EIO, "cannot write: %s", strerror(errno));
	if (e)
		ty_say("%s", *err ? err : strerror(-e));
	json_decref(i.meta);
	free(i.fast);
	free(i.recorded);
	free(i.lost);
	free(i.unseen);
	ty_run_free(&i.run);
	return e ? TY_EXIT_FAIL : TY_EXIT_OK;
}

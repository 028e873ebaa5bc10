/* SPDX-License-Identifier: MIT
 *
 * `tarry experiment`: options and exit statuses; the work is done in plan.c
 * (what), course.c (all runs), run.c (one) and judge.c.  Must stay true: what
 * can be refused is refused before anything is started. */
#include "experiment/experiment.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "cli/cmd.h"
#include "common/err.h"
#include "common/yaml.h"
#include "recorder/program.h"

enum { KEY_JUDGE = 256, KEY_FAIL_ON_WORSE, KEY_KEEP };

static const struct argp_option options[] = {
	{ "config", 'c', "FILE", 0, "the experiment (tarry-experiment(1))", 1 },
	{ "output", 'o', "FILE", 0, "samples, a row a run (default: beside the file)", 1 },
	{ "dry-run", 'n', NULL, 0, "print plan and order of the runs; start nothing", 1 },
	{ "keep", KEY_KEEP, "DIR", 0, "keep what the runs wrote, and recordings", 1 },
	{ "judge", KEY_JUDGE, "FILE", 0, "run nothing; judge these samples again", 2 },
	{ "json", 'j', NULL, 0, "the verdict for programs", 2 },
	{ "fail-on-worse", KEY_FAIL_ON_WORSE, NULL, 0, "status 1 if a variant is worse than the base", 2 },
	{ "quiet", 'q', NULL, 0, "no line for each run that went well", 2 },
	{ 0 },
};

static error_t option(int key, char *arg, struct argp_state *st)
{
	struct ty_experiment *x = st->input;
	switch (key) {
	case 'c':
		x->config = arg;
		return 0;
	case 'o':
		x->output = arg;
		return 0;
	case 'n':
		x->dry_run = true;
		return 0;
	case 'j':
		x->json = true;
		return 0;
	case 'q':
		x->quiet = true;
		return 0;
	case KEY_KEEP:
		x->keep = arg;
		return 0;
	case KEY_JUDGE:
		x->judge = arg;
		return 0;
	case KEY_FAIL_ON_WORSE:
		x->fail_on_worse = true;
		return 0;
	case ARGP_KEY_ARG: /* the command and all that is its own */
		x->command = &st->argv[st->next - 1];
		st->next = st->argc;
		return 0;
	case ARGP_KEY_END:
		if (!x->config == !x->judge)
			argp_error(st, "which experiment? -c FILE, or --judge FILE.tsv for samples that are there");
		if (x->judge && (x->command || x->output || x->keep || x->dry_run))
			argp_error(st, "--judge runs nothing, so it takes no command, --output, --keep or --dry-run");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- before anything starts ---- */

/* Can each variant's program be started, and recorded where it shall be? */
static int check_programs(const struct ty_experiment *x, char *err)
{
	const struct ty_plan *p = &x->plan;
	struct ty_program program;
	char library[4096], why[TY_ERR_MAX];
	for (uint32_t i = 0; i < p->nvariants; i++) {
		const struct ty_variant *v = &p->variant[i];
		bool recorded = ty_stage_recorded(p, i);
		if (!v->command.n && !x->command)
			return ty_err(err, -EINVAL, "variant %s has no command, and none is given: "
						    "tarry experiment -c %s -- PROGRAM ...", v->name, x->config);
		int rc = ty_program_check(v->command.n ? v->command.v[0] : x->command[0], &program, why);
		if (rc == -ENOTSUP && !recorded)
			rc = 0;
		if (rc == 0 && recorded)
			rc = ty_library_find(library, sizeof library, why);
		if (rc < 0)
			return ty_err(err, -EINVAL, "variant %s: %s", v->name, why);
	}
	return 0;
}

static int prepare(struct ty_experiment *x, char *err)
{
	int rc = ty_yaml_load(x->config, &x->text, &x->len, err);
	if (rc == 0)
		rc = ty_plan_parse(&x->plan, x->config, x->text, x->len, err);
	if (rc == 0)
		rc = check_programs(x, err);
	if (rc < 0)
		return rc;
	if (!x->plan.seeded) {
		uint32_t seed; /* short, for it is to be typed */
		if (getrandom(&seed, sizeof seed, 0) == sizeof seed)
			x->plan.seed = seed;
	}
	ssize_t n = readlink("/proc/self/exe", x->self, sizeof x->self - 1);
	x->self[n > 0 ? n : 0] = 0;
	return n > 0 ? 0 : ty_err(err, -errno, "/proc/self/exe: %s", strerror(errno));
}

/* ---- after ---- */

/* The exit status. */
static int verdict(const struct ty_experiment *x, char *err)
{
	const struct ty_samples *s = &x->samples;
	struct ty_judged j;
	int rc = ty_judge(&j, s);
	if (rc < 0)
		return ty_err(err, TY_EXIT_FAIL, "out of memory");
	rc = x->json ? ty_experiment_json(s, &j, err) : ty_experiment_text(s, &j, err);
	bool worse = x->fail_on_worse && j.worse;
	ty_judged_free(&j);
	return rc < 0 || worse || ty_samples_failed(s) || !ty_samples_complete(s) ? TY_EXIT_FAIL : TY_EXIT_OK;
}

static int judge(struct ty_experiment *x, char *err)
{
	int rc = ty_samples_read(&x->samples, x->judge, err);
	return rc < 0 ? TY_EXIT_USAGE : verdict(x, err);
}

static int perform(struct ty_experiment *x, char *err)
{
	int interrupt = 0;
	if (prepare(x, err) < 0)
		return TY_EXIT_USAGE;
	if (x->dry_run)
		return ty_plan_text(x, err) < 0 ? TY_EXIT_FAIL : TY_EXIT_OK;
	if (ty_samples_from(&x->samples, &x->plan) < 0 || ty_experiment_about(x) < 0)
		return ty_err(err, TY_EXIT_FAIL, "out of memory");
	if (x->plan.repetitions < TY_E_PAIRS)
		ty_say("%u repetitions are too few to tell a difference; the samples are taken all the same",
		       x->plan.repetitions);
	if (ty_experiment_run(x, &interrupt, err) < 0)
		return TY_EXIT_FAIL;
	int status = verdict(x, err);
	return interrupt ? 128 + interrupt : status;
}

int cmd_experiment(int argc, char **argv)
{
	static const char doc[] =
		"Runs variants of a program several times, in random order, and says which "
		"differ from the base by more than it differs from itself.\v"
		"Exit status: 0 done, whatever the verdict; 1 a run failed, or a variant is worse "
		"and --fail-on-worse; 2 usage or a mistake in the file; 130 interrupted.";
	static const struct argp argp = { .options = options, .parser = option, .doc = doc,
					  .args_doc = "-c FILE [-- PROGRAM [ARGUMENT...]]" };
	static struct ty_experiment x;
	char err[TY_ERR_MAX] = "", name[] = "tarry experiment";
	argv[0] = name;
	argp_err_exit_status = TY_EXIT_USAGE;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &x);
	int status = x.judge ? judge(&x, err) : perform(&x, err);
	if (*err)
		ty_say("%s", err);
	ty_samples_free(&x.samples);
	ty_plan_free(&x.plan);
	free(x.text);
	return status;
}

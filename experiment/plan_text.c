/* SPDX-License-Identifier: MIT
 *
 * `tarry experiment --dry-run`: what would be done.  Runs in `tarry experiment`. */
#include "experiment/experiment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/fmt.h"
#include "analyze/output.h"
#include "common/err.h"

static void show_words(const char *title, char *const *word)
{
	printf("  %-12s", title);
	for (; word && *word; word++)
		printf(" %s", *word);
	putchar('\n');
}

static void show_variant(const struct ty_experiment *x, uint32_t i)
{
	const struct ty_variant *v = &x->plan.variant[i];
	struct ty_stage st = { .plan = &x->plan, .command = x->command, .self = "tarry" };
	char **argv = ty_stage_argv(&st, i, "STORE");
	printf("\n%s%s\n", v->name, i == x->plan.base ? " (base)" : "");
	show_words("command:", argv);
	if (v->env.n)
		show_words("environment:", v->env.v);
	free(argv);
}

static void show_step(const char *title, const char *command)
{
	if (command)
		printf("  %-12s %s\n", title, command);
}

static void show_steps(const struct ty_plan *p)
{
	char time[TY_FMT];
	printf("\nEach run\n");
	show_step("setup:", p->setup);
	printf("  %-12s starts\n", "the program");
	show_step("ready:", p->ready);
	if (p->ready)
		printf("  %-12s for at most %s\n", "", ty_fmt_ns(time, (double)p->ready_timeout));
	show_step("load:", p->load);
	if (p->load_timeout)
		printf("  %-12s for at most %s\n", "", ty_fmt_ns(time, (double)p->load_timeout));
	if (p->load)
		printf("  %-12s SIG%s, after %s SIGKILL\n", "stop:", sigabbrev_np(p->stop),
		       ty_fmt_ns(time, (double)p->stop_timeout));
	show_step("cleanup:", p->cleanup);
	printf("  %-12s %s\n", "measured:", ty_measured_name(p->measured));
}

static int show_order(const struct ty_plan *p)
{
	size_t rows = (size_t)p->warmup + p->repetitions;
	uint32_t *order = calloc(rows * p->nvariants, sizeof *order);
	if (!order)
		return -ENOMEM;
	ty_plan_order(p, order);
	printf("\nOrder (seed %llu%s)\n", (unsigned long long)p->seed,
	       p->seeded ? "" : "; another one each time, for the file does not say one");
	for (size_t row = 0; row < rows; row++) {
		if (row < p->warmup)
			printf("  %-12s", "warm-up");
		else
			printf("  %-12zu", row - p->warmup + 1);
		for (size_t i = 0; i < p->nvariants; i++)
			printf(" %s", p->variant[order[row * p->nvariants + i]].name);
		putchar('\n');
	}
	free(order);
	return 0;
}

int ty_plan_text(const struct ty_experiment *x, char *err)
{
	const struct ty_plan *p = &x->plan;
	size_t runs = ((size_t)p->warmup + p->repetitions) * p->nvariants;
	fputs("tarry experiment ", stdout);
	ty_fmt_put(stdout, x->config);
	printf(": %zu variants, %u repetitions and %u for warming up: %zu runs\n", p->nvariants, p->repetitions,
	       p->warmup, runs);
	for (uint32_t i = 0; i < p->nvariants; i++)
		show_variant(x, i);
	show_steps(p);
	if (show_order(p) < 0)
		return ty_err(err, -ENOMEM, "out of memory");
	return ty_output_end(0, err);
}

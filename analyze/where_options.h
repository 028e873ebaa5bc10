/* SPDX-License-Identifier: MIT
 *
 * What the commands that read requests share: options, progress, and the
 * passes up to the rows of requests. */
#ifndef TY_WHERE_OPTIONS_H
#define TY_WHERE_OPTIONS_H

#include <argp.h>
#include <time.h>

#include "analyze/run.h"

/* Options of both; the command's own argp names it as child and hands it &options. */
extern const struct argp ty_common_argp;

int ty_parse_positive(const char *text, uint32_t *ret);   /* a whole number above 0 */
int ty_parse_percent(const char *text, double *ret);      /* above 0, below 100 -> 0..1 */
#define TY_POSITIVE "a whole number from 1 to 2147483647"
#define TY_PERCENT "a number above 0 and below 100"
/* Ends the program with usage, if something is expected: "--top: ... is expected, not 'x'". */
void ty_expected(struct argp_state *state, const char *option, const char *expected, const char *arg);
/* ARGP_KEY_ARG and ARGP_KEY_END of a command that takes one store, whose name goes into *store (argv's
 * memory); other keys are unknown. */
error_t ty_one_store(int key, const char *arg, struct argp_state *state, const char **store);
/* One option's value: what was expected if it is none. */
static inline const char *ty_positive(const char *arg, uint32_t *ret)
{
	return ty_parse_positive(arg, ret) ? TY_POSITIVE : NULL;
}
static inline const char *ty_percent(const char *arg, double *ret)
{
	return ty_parse_percent(arg, ret) ? TY_PERCENT : NULL;
}

struct ty_pass {
	const char *name;
	int (*run)(struct run *r, char *err);
};
/* On a terminal: what is being done and how far it is, once it takes a second. */
struct ty_progress { const char *what; struct timespec start; unsigned calls; bool shown; };
void ty_progress_start(struct ty_progress *p, const char *what);
void ty_progress_show(void *progress, double done);
void ty_progress_end(struct ty_progress *p);
/* Runs the passes with progress on a terminal.  0, or an exit status after a line of complaint. */
int ty_passes(struct run *r, const struct ty_pass *pass, size_t n);

#endif

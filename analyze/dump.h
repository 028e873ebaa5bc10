/* SPDX-License-Identifier: MIT
 * One `tarry dump`: options, and the lines it prints. */
#ifndef TY_DUMP_H
#define TY_DUMP_H

#include "analyze/run.h"

struct dump {
	struct run run; /* store, tables, window; no pass but `load` */
	bool json, paths, raw;
	const char *op;
	bool *wanted;   /* [ops] */
	char **who;     /* [nthreads] text of a thread; NULL: not seen yet, as the next one */
	char **tail;    /* [npaths] the rest of a line, from the function on */
};

/* One line each on standard output. */
void ty_dump_text(struct dump *d, const struct ty_ev *e);
void ty_dump_json(struct dump *d, const struct ty_ev *e);

#endif

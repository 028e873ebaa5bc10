/* SPDX-License-Identifier: MIT
 * Title, headings and the end of what a command writes to standard output. */
#ifndef TY_OUTPUT_H
#define TY_OUTPUT_H

#include <stdbool.h>

/* "tarry WHAT of STORE", the first line. */
void ty_output_title(const char *what, const char *store, bool recording);
/* On a line of its own after an empty one; bold on a terminal. */
void ty_output_heading(const char *text);
/* Flushes.  failed: the writer already knows of an error.  0 or -EIO with a line in err. */
int ty_output_end(int failed, char *err);

#endif

/* SPDX-License-Identifier: MIT
 * The end of what a command writes to standard output. */
#ifndef TY_OUTPUT_H
#define TY_OUTPUT_H

/* Flushes.  failed: the writer already knows of an error.  0 or -EIO with a line in err. */
int ty_output_end(int failed, char *err);

#endif

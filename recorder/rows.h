/* SPDX-License-Identifier: MIT
 * Making the row table of include/tarry/rows.h from a file's .eh_frame. */
#ifndef TARRY_RECORDER_ROWS_H
#define TARRY_RECORDER_ROWS_H

#include <stddef.h>

#include "recorder/elf.h"
#include "tarry/rows.h"

/* The rows of all executable segments of e.  On success returns 0, *ret is one
 * malloc'd block of *bytes bytes that the caller frees, and err holds "" or a
 * note: a file without .eh_frame gets a table of one STOP row, and says so.
 * On failure a negative errno, one line in err, *ret and *bytes untouched:
 *   -EINVAL  damaged .eh_frame
 *   -ERANGE  code above 4 GiB (no table is possible)
 *   -ENOENT  no executable segment
 * A single function whose rules are damaged, or too large to be followed within
 * bounded work, becomes STOP rows and is counted in ->skipped. */
int ty_rows_build(struct ty_elf *e, struct ty_rows **ret, size_t *bytes, char *err);

#endif

/* SPDX-License-Identifier: MIT
 * Can this command be recorded?  Looked at before anything is started. */
#ifndef TY_PROGRAM_H
#define TY_PROGRAM_H

#include <limits.h>
#include <stddef.h>
#include "common/store.h" /* TY_ERR_MAX */

struct ty_program {
	char path[PATH_MAX];      /* what to exec */
	char warning[TY_ERR_MAX]; /* runs, but will not be recorded, and why; or "" */
};

/* 0, or one line in err and
 *   -ENOENT   no such command
 *   -EACCES   found, but cannot be executed
 *   -ENOTSUP  can be executed but not recorded */
int ty_program_check(const char *command, struct ty_program *p, char *err);
/* libtarry.so: beside this executable, or in ../lib/tarry.  -ENOENT, -EINVAL (a
 * path that LD_PRELOAD cannot express). */
int ty_library_find(char *path, size_t size, char *err);

#endif

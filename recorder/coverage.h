/* SPDX-License-Identifier: MIT
 * Which waiting functions a program imports, which of them are wrapped, and
 * what in it can wait without a call that anybody could wrap. */
#ifndef TY_COVERAGE_H
#define TY_COVERAGE_H

#include <stddef.h>
#include <stdint.h>
#include "recorder/elf.h"
#include "tarry/ops.h"

struct ty_imports {
	uint64_t wrapped[(TY_OP_FUNCTIONS + 63) / 64]; /* by op */
	uint64_t unwrapped;                            /* by row of the list in coverage.c */
	uint64_t unseen;                               /* parts that can wait unseen, likewise */
};

/* What one module imports. */
void ty_coverage_imports(struct ty_elf *e, const char *path, struct ty_imports *out);

struct ty_recorder;
/* JSON for the store's meta key "coverage"; malloc'd, NULL without memory. */
char *ty_coverage_json(const struct ty_recorder *r);

#endif

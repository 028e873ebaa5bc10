/* SPDX-License-Identifier: MIT
 *
 * Inside the reading of an experiment file; only plan.c and plan_variants.c
 * include this.  Functions return 0 or a negative errno; what is wrong, and
 * where, is then in the err that the file was opened with (ty_yaml_open). */
#ifndef TY_PLAN_READ_H
#define TY_PLAN_READ_H

#include "common/yaml.h"
#include "experiment/plan.h"

#define FAIL(r, ...) ty_yaml_fail((r)->yaml, __VA_ARGS__)

/* plan.c */
int ty_plan_no_memory(struct ty_yaml *y); /* -ENOMEM */
int ty_plan_copy(struct ty_yaml *y, const char *text, char **ret); /* *ret is the caller's */
/* -EINVAL: no such key; what: "key" or "key of a variant". */
int ty_plan_unknown(struct ty_yaml *y, const char *what, const char *word, bool in_variant);

/* plan_variants.c */
/* The value of the key `variants`, whose begin is the current event, into p, which owns what was read also after an
 * error. */
int ty_plan_variants(struct ty_plan *p, struct ty_yaml *y);
const char *ty_variant_key(size_t i); /* NULL after the last */
void ty_variant_free(struct ty_variant *v);

#endif

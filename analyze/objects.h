/* SPDX-License-Identifier: MIT
 * What the commands print with --json, as objects (docs/JSON.md): the page of
 * `tarry report --html` holds the same ones.  The caller owns them; NULL: no memory. */
#ifndef TY_OBJECTS_H
#define TY_OBJECTS_H

#include <jansson.h>

#include "analyze/blame.h"
#include "analyze/tail.h"
#include "analyze/tree.h"

/* only: by site, which are listed; NULL: all, or as many as --top says. */
json_t *ty_report_object(const struct run *r, const bool *only);
json_t *ty_tree_object(const struct ty_tree *t, const struct ty_factors *f, const struct run *r,
		       const struct ty_tree_show *show);
json_t *ty_tail_object(const struct ty_tail *t);
json_t *ty_blame_object(const struct ty_blame *b);

#endif

/* SPDX-License-Identifier: MIT
 * What both report formats show, so that they cannot differ. */
#ifndef TY_REPORT_H
#define TY_REPORT_H

#include <stdio.h>

#include "analyze/names.h"

/* Sum over the counted threads of a per-thread counter. */
uint64_t ty_sum_fast(const struct run *r, size_t op);
uint64_t ty_sum_loss(const struct run *r, size_t loss);
/* Why there is nothing to trust in the shares; NULL: nothing wrong. */
const char *ty_shares_doubt(const struct run *r, char buf[TY_NAME_MAX]);
/* One line on what a request was, or on how to get requests. */
const char *ty_rule_words(const struct run *r, char buf[TY_NAME_MAX]);
/* A counter of the recorder's losses in words, "": not known. */
const char *ty_recorder_loss_what(const char *name);
size_t ty_listed(const struct run *r, size_t otherwise); /* sites to list */
/* Those at the front of the rank that have waits inside requests; without requests all. */
size_t ty_ranked_inside(const struct run *r);

/* report_paths.c: the call paths and the losses of the text */
void ty_text_paths(const struct run *r, FILE *out);
void ty_text_losses(const struct run *r, FILE *out);

#endif

/* SPDX-License-Identifier: MIT
 * What `tarry info` knows of a store; info.c reads, info_text.c and info_json.c print. */
#ifndef TY_INFO_H
#define TY_INFO_H

#include <jansson.h>
#include "analyze/run.h"

struct ty_info {
	const char *path;
	bool json, all;
	struct run run;       /* store, tables and start; no pass but `load` */
	json_t *meta;         /* object: every meta key, values decoded */
	const char *const *loss;
	size_t nlosses;
	uint64_t *fast, *recorded; /* [ops] over all threads */
	uint64_t *lost;            /* [losses] over all threads */
	struct ty_unseen *unseen;  /* [processes] */
	uint64_t events, blocks, bytes, start, end;
	const char *state;         /* "complete", "recording", "recorder ended early" */
};

/* A key of meta; NULL: not there. */
static inline json_t *ty_info_meta(const struct ty_info *i, const char *key)
{
	return json_object_get(i->meta, key);
}
/* To standard output, whose error flag says whether it could be written. */
void ty_info_text(const struct ty_info *i);
void ty_info_json(const struct ty_info *i);
void ty_info_orders(const struct ty_info *i); /* a section of the text */

#endif

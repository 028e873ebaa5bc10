/* SPDX-License-Identifier: MIT
 * Orders in the recorder: settings into the arena, names into numbers there, and the
 * counters out of it into the store.  Main thread.  Without an order in force none
 * of these does anything. */
#ifndef TY_RECORDER_ORDERS_H
#define TY_RECORDER_ORDERS_H

#include <jansson.h>
#include "recorder/recorder.h"

#define TY_SWITCHES 64u /* changes of `tarry ctl native` kept */

/* A module of an image, for its variables. */
struct ty_order_place {
	uint64_t image, start, end, base;
	uint32_t module;
	bool told; /* its variables are in the arena */
};
struct ty_order_book {
	const struct ty_order_settings *o;
	struct ty_matcher *matcher;   /* the worker's */
	struct ty_match *pending;     /* paths whose modules are not known yet */
	struct ty_order_place *place;
	size_t places, cap;
	struct ty_map place_at;       /* mix(image, module, base) -> index + 1 */
	uint16_t variables;           /* rules for which some variable was found */
	uint64_t objects_no_room;
	uint64_t waits[TY_OP_COUNT];  /* recorded, by operation */
	struct { uint64_t when; bool native; } change[TY_SWITCHES];
	uint32_t changes;             /* all of them; what does not fit is counted only */
	bool native;
	uint64_t stored;              /* sum of the counters that the store has */
};

/* The settings as the traced side needs them. */
void ty_orders_fill(struct ty_order_conf *c, const struct ty_order_settings *o);
int ty_orders_new(struct ty_recorder *r); /* 0 or -ENOMEM; ty_orders_free also then */
void ty_orders_free(struct ty_recorder *r);

/* What the drain meets. */
void ty_orders_wait(struct ty_recorder *r, unsigned op);
void ty_orders_path(struct ty_recorder *r, uint64_t path, uint64_t image, const uint64_t *frame, uint32_t frames);
void ty_orders_mapped(struct ty_recorder *r, uint64_t image, const struct ty_range *range);
void ty_orders_built(struct ty_recorder *r, struct ty_built *b); /* takes over its variables */
void ty_orders_pass_end(struct ty_recorder *r);

/* orders_meta.c: what the store says of them.  names: the worker has stopped. */
json_t *ty_orders_json(const struct ty_recorder *r, bool names);
char *ty_orders_text(const struct ty_order_settings *o); /* "eldest on cond; fsync coalesce", malloc'd */
bool ty_orders_changed(struct ty_recorder *r); /* since it was last asked */
/* The i-th rule that matched no wait, in words; false after the last.  *i from 0. */
bool ty_orders_unmatched(const struct ty_recorder *r, uint32_t *i, char *buf, size_t size);

#endif

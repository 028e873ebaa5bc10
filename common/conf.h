/* SPDX-License-Identifier: MIT
 *
 * Configuration: YAML for people, one struct for the program.  One row per key
 * in conf.c; configs/default.yaml documents each (a test compares the two lists).
 */
#ifndef TY_CONF_H
#define TY_CONF_H

#include "common/orders.h"
#include "common/store.h" /* TY_ERR_MAX */
#include "tarry/arena.h"

struct ty_settings {
	/* record */
	uint64_t min_path_ns;      /* min_path: 10us */
	uint32_t self_check;       /* self_check: off | 1/N */
	uint32_t depth;            /* max_depth: 128 */
	uint64_t arena_bytes;      /* arena: 64M */
	uint64_t class_mask;       /* operations: [all] or list of class names, '-name' takes one out */
	bool children;             /* children: true */
	char only[64];             /* only: NAME of the executable, base name */
	bool paused;               /* paused: false */
	uint32_t capture_bytes;    /* capture_bytes: 0, first bytes of requests to tell their class by */
	char protocol[16];         /* protocol: auto | mysql | postgresql | redis | memcached | http */
	uint64_t max_size;         /* max_size: 0 (bytes of store; 0: no bound) */
	uint64_t keep_ns;          /* keep: 0 (keep the last so much time; 0: all) */
	uint64_t drain_ns;         /* drain: 2ms, how often rings are emptied */
	uint64_t sync_ns;          /* sync: 10s, how often the store is flushed */
	bool symbols;              /* symbols: true, embed names and lines at the end */
	bool debuginfod;           /* debuginfod: false, ask DEBUGINFOD_URLS */
	struct ty_order_settings orders; /* orders, order_age, order_idle, order_bound, fsync, fsync_interval, unsafe */
	/* report */
	char requests[256];        /* requests: auto | socket | transaction | marker | none | site:TEXT */
	char *text;                /* the file as read, for the store; owned */
};

void ty_settings_default(struct ty_settings *s);
/* Merges the file into *s.  Error: "FILE:LINE:COL: what", -EINVAL (or errno of the open). */
int ty_settings_read(struct ty_settings *s, const char *path, char *err);
/* The same from memory, for the fuzzer; name is used in messages. */
int ty_settings_parse(struct ty_settings *s, const char *name, const char *text, size_t len, char *err);
void ty_settings_free(struct ty_settings *s);
/* The i-th key and what it does, NULL after the last. */
const char *ty_settings_key(size_t i, const char **doc);
/* "10us", "2ms", "1s", "5m", "0" -> ns;  "64M", "1G", "4096" -> bytes.  0 or -EINVAL. */
int ty_parse_time(const char *text, uint64_t *ns);
int ty_parse_size(const char *text, uint64_t *bytes);

#endif

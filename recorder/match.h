/* SPDX-License-Identifier: MIT
 * Names for the rules of orders: which call paths have a function, and which
 * modules a variable, that a rule's pattern matches.  Belongs to the worker, whose
 * ELF files it reads; only the counters are read elsewhere. */
#ifndef TY_MATCH_H
#define TY_MATCH_H

#include <stdatomic.h>
#include "common/orders.h"
#include "recorder/elf.h"

struct ty_match_frame {
	uint64_t offset;  /* in the module; before the module is known, the raw frame */
	uint32_t module;
	uint16_t rules;   /* whose pattern for the module's name fits */
	bool exact;
};
struct ty_match { /* a call path to be decided, malloc'd */
	struct ty_match *next;
	uint64_t path, image;
	uint16_t count, tries;
	struct ty_match_frame frame[];
};
struct ty_variable { uint64_t lo, hi; uint16_t rules; }; /* ELF addresses */

struct ty_matcher;

/* o and to live as long as it does; decisions are stored into to->decided, by nobody
 * else.  NULL: no memory. */
struct ty_matcher *ty_matcher_new(const struct ty_order_settings *o, struct ty_orders *to, bool debuginfod);
void ty_matcher_free(struct ty_matcher *m); /* NULL is allowed */
/* elf: by module, NULL where the file could not be opened. */
void ty_matcher_path(struct ty_matcher *m, struct ty_elf *const *elf, size_t elfs, const struct ty_match *p);
/* Variables of a module that some rule names; *ret malloc'd. */
size_t ty_matcher_variables(struct ty_matcher *m, struct ty_elf *e, struct ty_variable **ret);
/* Rules for which some call path was found, and paths that found no place; any thread. */
uint32_t ty_matcher_found(struct ty_matcher *m);
uint64_t ty_matcher_no_room(struct ty_matcher *m);

/* fnmatch, for names of which compilers make clones: "f.part.0" is f, too. */
bool ty_name_matches(const char *pattern, const char *name);

#endif

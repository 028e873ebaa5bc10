/* SPDX-License-Identifier: MIT
 * Names behind paths, for the pass over paths and for both report formats. */
#ifndef TY_NAMES_H
#define TY_NAMES_H

#include "analyze/run.h"

#define TY_NAME_MAX 512

/* Frames of libtarry itself (the start trampoline) are not shown. */
bool ty_frame_hidden(const struct ty_tables *t, const struct ty_frame *f);
const char *ty_module_name(const struct ty_tables *t, int32_t module); /* base name, "?" for unknown code */

/* One line of a call path: a frame, or a function inlined into it. */
struct ty_line {
	const struct ty_frame *frame;
	const struct ty_symbol *symbol; /* NULL or function NULL: no name is known */
	bool inlined;
};
/* Calls cb for each line, leaf first, until it returns non-zero; returns that. */
int ty_path_each(const struct run *r, uint32_t path, int (*cb)(void *arg, const struct ty_line *l), void *arg);
/* "function" or "module+0x1234". */
const char *ty_line_name(const struct run *r, const struct ty_line *l, char buf[TY_NAME_MAX]);
/* Does its function, or its library, only wait or do IO for its caller? */
bool ty_line_wrapper(const struct run *r, const struct ty_line *l);
/* Who asked: the leaf-most function that is not a wrapper around waiting. */
const char *ty_path_function(const struct run *r, uint32_t path, char buf[TY_NAME_MAX]);
/* Does TEXT occur in a function, module or file name of the path? */
bool ty_path_contains(const struct run *r, uint32_t path, const char *text);

/* Of a site, as the report shows them. */
const char *ty_site_function(const struct run *r, uint32_t site, char buf[TY_NAME_MAX]); /* "" none */
const char *ty_site_operation(const struct run *r, uint32_t site);
/* Name of the static variable that an event of the thread waited for; NULL: none. */
const char *ty_variable_name(const struct run *r, uint32_t thread, uint64_t object);
/* The object's name, or its address when it was the only one; NULL: none. */
const char *ty_site_object_name(const struct run *r, uint32_t site, char buf[TY_NAME_MAX]);
/* Same for the same operation and path in every recording: 16 hex digits. */
const char *ty_site_id(const struct run *r, uint32_t site, char buf[17]);
bool ty_site_has_path(const struct run *r, uint32_t site);
/* What tells it from those of the list with its name. */
struct ty_apart {
	char caller[TY_NAME_MAX]; /* the function, with its line where the name is not enough */
	/* what stands behind the site's name: " < caller", " < itself at file:line", or " at file:line" when it is
	 * no caller but another place in the function that the site is named after */
	char words[TY_NAME_MAX + 8];
};
/* false: it needs nothing. */
bool ty_site_apart(const struct run *r, uint32_t site, const uint32_t *list, size_t n, struct ty_apart *ret);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Files that people write in YAML, read event by event: every complaint has a
 * line and a column, "FILE:LINE:COLUMN: what", and nothing is built from input
 * that will be refused.  No anchors, aliases, tags or second documents.
 */
#ifndef TY_YAML_H
#define TY_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include "common/store.h" /* TY_ERR_MAX */

struct ty_yaml;

/* The whole file, at most 1 MiB, and a NUL after it; owned by the caller. */
int ty_yaml_load(const char *path, char **text, size_t *len, char *err);

/* text must live until the close.  name is used in messages. */
int ty_yaml_open(struct ty_yaml **ret, const char *name, const char *text, size_t len, char *err);
void ty_yaml_close(struct ty_yaml *y);

/* Called for each key of a mapping, which is the current event; it reads the value
 * (ty_yaml_next first).  key lives until then.  0 or a negative errno. */
typedef int ty_yaml_pair(void *arg, const char *key);

/* The one document, which must be a mapping or nothing at all. */
int ty_yaml_document(struct ty_yaml *y, const char *what, ty_yaml_pair *pair, void *arg);
/* The mapping that is the current event, to its end. */
int ty_yaml_mapping(struct ty_yaml *y, const char *what, ty_yaml_pair *pair, void *arg);

/* To the next event, which becomes the current one. */
int ty_yaml_next(struct ty_yaml *y);
bool ty_yaml_is_list(const struct ty_yaml *y);
bool ty_yaml_is_list_end(const struct ty_yaml *y);
/* Is the current event the begin of a list, and of one that may be read? */
int ty_yaml_list(struct ty_yaml *y, const char *what);
/* Inside a list: 1 and the next item's text, 0 at the list's end. */
int ty_yaml_item(struct ty_yaml *y, const char *what, const char *wants, const char **text);
/* The scalar that is the current event, NULL with err set; lives until the next event. */
const char *ty_yaml_text(struct ty_yaml *y, const char *what, const char *wants);

/* Where the current event begins, and a complaint about that place or a remembered one; -EINVAL. */
struct ty_yaml_place { size_t line, column; };
struct ty_yaml_place ty_yaml_here(const struct ty_yaml *y);
int ty_yaml_fail(struct ty_yaml *y, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int ty_yaml_fail_at(struct ty_yaml *y, struct ty_yaml_place at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif

/* SPDX-License-Identifier: MIT
 * The arena of a running recording, to look at.  (A file of its own: row tables
 * of recorder/arena.h and rows of requests have the same name.) */
#ifndef TY_TOP_ARENA_H
#define TY_TOP_ARENA_H

#include <stddef.h>

struct ty_arena;

/* Maps header and thread slots of the arena a locator names, read-only.
 * Errors as of ty_arena_attach; *ret is for munmap(*ret, *mapped). */
int ty_top_map(struct ty_arena **ret, size_t *mapped, const char *locator, char *err);

#endif

/* SPDX-License-Identifier: MIT
 * A hash map from 64-bit keys to 64-bit values: what finds rows in the tables of
 * the recorder.  Not thread-safe. */
#ifndef TY_MAP_H
#define TY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ty_map {
	uint64_t *slot; /* pairs key, value; key 0 is an empty slot */
	size_t cap, n;  /* cap: pairs, a power of two */
	uint64_t zero;  /* the value of key 0, which may be a key too */
	bool has_zero;
};

/* The value of a key, or NULL. */
uint64_t *ty_map_find(const struct ty_map *m, uint64_t key);
/* The value of a key, made with value 0 when it is new; NULL: no memory.
 * Valid until the next put. */
uint64_t *ty_map_put(struct ty_map *m, uint64_t key);
void ty_map_free(struct ty_map *m);
/* Next used pair from *at on; false at the end.  Start with *at = 0. */
bool ty_map_next(const struct ty_map *m, size_t *at, uint64_t *key, uint64_t *value);

#endif

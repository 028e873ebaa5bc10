/* SPDX-License-Identifier: MIT
 * Hash map of the recorder; see map.h.  Open addressing,
 * at most half full; nothing is ever removed (tables are rebuilt instead), so
 * a probe always ends at an empty slot. */
#include "recorder/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tarry/arena.h" /* ty_mix */

static uint64_t *probe(const struct ty_map *m, uint64_t key)
{
	size_t i = ty_mix(key) & (m->cap - 1);
	while (m->slot[2 * i] != 0 && m->slot[2 * i] != key)
		i = (i + 1) & (m->cap - 1);
	return m->slot + 2 * i;
}

uint64_t *ty_map_find(const struct ty_map *m, uint64_t key)
{
	if (key == 0)
		return m->has_zero ? (uint64_t *)&m->zero : NULL;
	if (m->cap == 0)
		return NULL;
	uint64_t *s = probe(m, key);
	return *s ? s + 1 : NULL;
}

static int grow(struct ty_map *m)
{
	struct ty_map bigger = { .cap = m->cap ? m->cap * 2 : 64, .n = m->n };
	bigger.slot = calloc(bigger.cap, 2 * sizeof *bigger.slot);
	if (!bigger.slot)
		return -ENOMEM;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slot[2 * i]) {
			uint64_t *s = probe(&bigger, m->slot[2 * i]);
			s[0] = m->slot[2 * i];
			s[1] = m->slot[2 * i + 1];
		}
	free(m->slot);
	m->slot = bigger.slot;
	m->cap = bigger.cap;
	return 0;
}

uint64_t *ty_map_put(struct ty_map *m, uint64_t key)
{
	if (key == 0) {
		if (!m->has_zero)
			m->zero = 0;
		m->has_zero = true;
		return &m->zero;
	}
	if (2 * m->n >= m->cap && grow(m) < 0)
		return NULL;
	uint64_t *s = probe(m, key);
	if (!*s) {
		*s = key;
		m->n++;
	}
	return s + 1;
}

bool ty_map_next(const struct ty_map *m, size_t *at, uint64_t *key, uint64_t *value)
{
	for (; *at < m->cap; ++*at)
		if (m->slot[2 * *at]) {
			*key = m->slot[2 * *at];
			*value = m->slot[2 * *at + 1];
			++*at;
			return true;
		}
	if (*at == m->cap && m->has_zero) {
		*key = 0;
		*value = m->zero;
		++*at;
		return true;
	}
	return false;
}

void ty_map_free(struct ty_map *m)
{
	free(m->slot);
	memset(m, 0, sizeof *m);
}

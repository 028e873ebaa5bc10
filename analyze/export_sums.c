/* SPDX-License-Identifier: MIT
 *
 * What exports keep in memory: sums of waits, and strings with a number.  Runs
 * in readers.  Must stay true: memory grows with what differs, never with events. */
#include <xxhash.h>

#include "analyze/export.h"
#include "analyze/prefetch.h"

static uint64_t key_hash(const struct ty_sum_key *k)
{
	return XXH3_64bits(k, sizeof *k);
}

#define HASH_HALF 0xffffffff00000000ull

static struct ty_sum *find(const struct ty_sums *s, const struct ty_sum_key *key, uint64_t hash, size_t *at)
{
	size_t i = (size_t)hash & (s->slots - 1);
	for (; s->slot[i]; i = (i + 1) & (s->slots - 1)) {
		struct ty_sum *k = &s->v[(uint32_t)s->slot[i] - 1];
		if (((s->slot[i] ^ hash) & HASH_HALF) == 0 && !memcmp(&k->key, key, sizeof *key))
			return k;
	}
	*at = i;
	return NULL;
}

static int grow(struct ty_sums *s)
{
	size_t slots = s->slots ? s->slots * 2 : 1024;
	uint64_t *slot = calloc(slots, sizeof *slot);
	if (!slot)
		return -ENOMEM;
	for (size_t k = 0; k < s->n; k++) {
		uint64_t hash = key_hash(&s->v[k].key);
		size_t i = (size_t)hash & (slots - 1);
		while (slot[i])
			i = (i + 1) & (slots - 1);
		slot[i] = (hash & HASH_HALF) | (k + 1);
	}
	free(s->slot);
	s->slot = slot;
	s->slots = slots;
	return 0;
}

static int add_now(struct ty_sums *s, const struct ty_sum_pending *p)
{
	size_t at = 0;
	if (s->n * 2 >= s->slots && (s->n >= UINT32_MAX || grow(s)))
		return -ENOMEM;
	struct ty_sum *k = find(s, &p->sum.key, p->hash, &at);
	if (!k) {
		if (TY_RESERVE(s->v, s->cap, s->n + 1, (size_t)256))
			return -ENOMEM;
		k = &s->v[s->n];
		*k = (struct ty_sum){ .key = p->sum.key };
		s->slot[at] = (p->hash & HASH_HALF) | ++s->n;
	}
	k->waits += p->sum.waits;
	k->ns += p->sum.ns;
	return 0;
}

int ty_sums_settle(struct ty_sums *s)
{
	size_t n = s->npending;
	s->npending = 0;
	for (size_t i = 0; s->slots && i < n; i++) { /* if it is not the first place, it is near */
		uint64_t slot = s->slot[s->pending[i].hash & (s->slots - 1)];
		if (slot)
			ty_prefetch(&s->v[(uint32_t)slot - 1]);
	}
	for (size_t i = 0; i < n; i++)
		if (add_now(s, &s->pending[i]))
			return -ENOMEM;
	return 0;
}

int ty_sums_add(struct ty_sums *s, const struct ty_sum_key *key, uint64_t waits, uint64_t ns)
{
	struct ty_sum_pending *p = &s->pending[s->npending++];
	*p = (struct ty_sum_pending){ { *key, waits, ns }, key_hash(key) };
	if (s->slots)
		ty_prefetch(&s->slot[p->hash & (s->slots - 1)]);
	return s->npending == TY_SUMS_PENDING ? ty_sums_settle(s) : 0;
}

const struct ty_sum *ty_sums_find(const struct ty_sums *s, const struct ty_sum_key *key)
{
	size_t at;
	return s->n ? find(s, key, key_hash(key), &at) : NULL;
}

void ty_sums_free(struct ty_sums *s)
{
	free(s->v);
	free(s->slot);
	memset(s, 0, sizeof *s);
}

uint32_t *ty_export_canonical(const struct run *r)
{
	uint32_t *path = malloc((r->t.npaths + 1) * sizeof *path);
	uint32_t *first = malloc((r->names.ngroups + 1) * sizeof *first);
	for (size_t i = 0; first && i < r->names.ngroups; i++)
		first[i] = TY_NONE;
	for (uint32_t i = 0; first && path && i < r->t.npaths; i++) {
		uint32_t g = r->names.group[i];
		if (g != TY_GROUP_NO_PATH && first[g] == TY_NONE)
			first[g] = i;
		path[i] = g == TY_GROUP_NO_PATH ? TY_NONE : first[g];
	}
	if (!first) {
		free(path);
		path = NULL;
	}
	free(first);
	return path;
}

/* ---- strings ---- */

int64_t ty_intern(struct ty_intern *t, const void *p, size_t len, bool *fresh)
{
	*fresh = false;
	if (t->n * 2 >= t->slots) {
		size_t slots = t->slots ? t->slots * 2 : 1024;
		uint32_t *slot = calloc(slots, sizeof *slot);
		if (!slot)
			return -ENOMEM;
		for (size_t k = 0; k < t->n; k++) {
			size_t i = (size_t)XXH3_64bits(t->v[k].p, t->v[k].len) & (slots - 1);
			while (slot[i])
				i = (i + 1) & (slots - 1);
			slot[i] = (uint32_t)k + 1;
		}
		free(t->slot);
		t->slot = slot;
		t->slots = slots;
	}
	size_t i = (size_t)XXH3_64bits(p, len) & (t->slots - 1);
	for (; t->slot[i]; i = (i + 1) & (t->slots - 1)) {
		const struct ty_bytes *b = &t->v[t->slot[i] - 1];
		if (b->len == len && !memcmp(b->p, p, len))
			return t->slot[i] - 1;
	}
	void *copy = malloc(len + 1);
	if (!copy || TY_RESERVE(t->v, t->cap, t->n + 1, (size_t)256)) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, p, len);
	t->v[t->n] = (struct ty_bytes){ copy, (uint32_t)len };
	t->slot[i] = (uint32_t)++t->n;
	*fresh = true;
	return t->slot[i] - 1;
}

void ty_intern_free(struct ty_intern *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i].p);
	free(t->v);
	free(t->slot);
	memset(t, 0, sizeof *t);
}

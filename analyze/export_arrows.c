/* SPDX-License-Identifier: MIT
 *
 * Which wait a wake ended: one on the same object, of another thread, that had
 * begun when the wake came, and of those the one that ended first.  Runs in
 * readers.  Must stay true: a wait has at most one wake, a wake ends no more
 * waits than it may, and memory is bounded: of one object's wakes that found no
 * wait the oldest are dropped.
 *
 * A lock is different: a woken waiter may find it taken again and sleep on, so
 * there the last release before the end counts, and earlier ones are void. */
#include "analyze/export.h"

#define BUCKETS 8192u
#define PENDING 64u /* wakes of one bucket */

struct bucket {
	struct ty_arrow *v; /* oldest first */
	size_t n, cap;
};
struct ty_arrows { struct bucket b[BUCKETS]; };

struct ty_arrows *ty_arrows_new(void)
{
	return calloc(1, sizeof(struct ty_arrows));
}

void ty_arrows_free(struct ty_arrows *w)
{
	for (size_t i = 0; w && i < BUCKETS; i++)
		free(w->b[i].v);
	free(w);
}

static struct bucket *bucket_of(struct ty_arrows *w, uint64_t object, uint32_t space)
{
	return &w->b[ty_mix(object ^ (uint64_t)space << 40) % BUCKETS];
}

static void drop(struct bucket *b, size_t i)
{
	memmove(&b->v[i], &b->v[i + 1], (--b->n - i) * sizeof *b->v);
}

int ty_arrows_add(struct ty_arrows *w, const struct ty_arrow *k)
{
	struct bucket *b = bucket_of(w, k->object, k->space);
	if (b->n == PENDING)
		drop(b, 0);
	if (TY_RESERVE(b->v, b->cap, b->n + 1, (size_t)4))
		return -ENOMEM;
	b->v[b->n++] = *k;
	return 0;
}

bool ty_arrows_match(struct ty_arrows *w, const struct ty_ev *e, uint32_t space, bool newest,
		     struct ty_arrow *ret)
{
	struct bucket *b = bucket_of(w, e->object, space);
	size_t found = SIZE_MAX;
	for (size_t i = 0; i < b->n; i++) {
		const struct ty_arrow *k = &b->v[i];
		if (k->object != e->object || k->space != space || k->thread == e->thread ||
		    k->when < e->begin || k->when > e->end)
			continue;
		found = i;
		if (!newest)
			break;
	}
	if (found == SIZE_MAX)
		return false;
	*ret = b->v[found];
	if (newest) {
		for (size_t i = found + 1; i-- > 0;)
			if (b->v[i].object == e->object && b->v[i].space == space)
				drop(b, i);
	} else if (b->v[found].left != UINT32_MAX && --b->v[found].left == 0) {
		drop(b, found);
	}
	return true;
}

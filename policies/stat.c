/* SPDX-License-Identifier: MIT
 * The counters of one object under an order, in the arena.  Runs in the traced
 * process. */
#include "policies/order.h"

#define SHARED (TY_ORDER_STATS - 1) /* the place of all that find none of their own */
#define TRIES 64u
#define MISSED 8u /* waits of an object that were missed, at least */

static uint64_t key_of(uint64_t image, uint64_t object)
{
	uint64_t key = ty_mix(image ^ ty_mix(object));
	return key > 1 ? key : 2; /* 0: free, 1: the shared place */
}

/* Claims a free place.  image and object are for the reader, who may meet them
 * a moment late. */
static bool claim(struct ty_order_stat *s, uint64_t key, const void *object)
{
	uint64_t none = 0;
	if (!atomic_compare_exchange_strong_explicit(&s->key, &none, key, memory_order_acq_rel, memory_order_acquire))
		return none == key;
	atomic_store_explicit(&s->image, ty_proc.image, memory_order_relaxed);
	atomic_store_explicit(&s->object, (uint64_t)(uintptr_t)object, memory_order_relaxed);
	return true;
}

static struct ty_order_stat *find(uint64_t key, const void *object)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		struct ty_order_stat *at = &ty_orders->stat[(key + i) % SHARED];
		uint64_t has = atomic_load_explicit(&at->key, memory_order_acquire);
		if (has == key || (!has && claim(at, key, object)))
			return at;
	}
	struct ty_order_stat *all = &ty_orders->stat[SHARED];
	claim(all, 1, NULL);
	return all;
}

struct ty_order_stat *ty_order_stat(const void *object, uint32_t rule, uint32_t op)
{
	if (!ty_orders)
		return NULL;
	struct ty_order_stat *s = find(key_of(ty_proc.image, (uint64_t)(uintptr_t)object), object);
	if (atomic_load_explicit(&s->rule, memory_order_relaxed) != rule)
		atomic_store_explicit(&s->rule, rule, memory_order_relaxed);
	if (atomic_load_explicit(&s->op, memory_order_relaxed) != op)
		atomic_store_explicit(&s->op, op, memory_order_relaxed);
	return s;
}

bool ty_order_passed_by(const struct ty_order_stat *s, uint64_t grants)
{
	if (!s)
		return false;
	uint64_t missed = atomic_load_explicit(&s->bounded, memory_order_relaxed);
	return missed >= MISSED && missed * grants > atomic_load_explicit(&s->grants, memory_order_relaxed);
}

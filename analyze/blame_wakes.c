/* SPDX-License-Identifier: MIT
 *
 * What was released, signalled or posted lately, by object.  Runs in readers.
 * Must stay true: memory is bounded by OBJECTS_MAX and WAKES_MAX; what is
 * dropped leaves a time up to which an object's wakes are not known. */
#include "analyze/blame.h"

#define OBJECTS_MAX (1u << 18)
#define WAKES_MAX (2u << 20) /* of all objects */
#define RING_MIN 4u
#define RING_MAX 4096u
#define KEEP_NS 2000000000ull /* a ring grows when it would drop a wake younger than this */

int ty_wakes_init(struct ty_wakes *w)
{
	memset(w, 0, sizeof *w);
	w->slots = 1024;
	w->slot = calloc(w->slots, sizeof *w->slot);
	return w->slot ? 0 : -ENOMEM;
}

void ty_wakes_free(struct ty_wakes *w)
{
	for (size_t i = 0; w->slot && i < w->slots; i++)
		free(w->slot[i].v);
	free(w->slot);
	memset(w, 0, sizeof *w);
}

static struct ty_waked *place(struct ty_waked *t, size_t slots, uint64_t object, uint32_t space)
{
	size_t i = ty_wakes_hash(object, space) & (slots - 1);
	while (t[i].used && !(t[i].object == object && t[i].space == space))
		i = (i + 1) & (slots - 1);
	return &t[i];
}

static int rehash(struct ty_wakes *w, size_t slots, uint64_t older)
{
	struct ty_waked *t = calloc(slots, sizeof *t);
	if (!t)
		return -ENOMEM;
	w->used = 0;
	for (size_t i = 0; i < w->slots; i++) {
		struct ty_waked *o = &w->slot[i];
		if (!o->used)
			continue;
		if (o->used < older) {
			w->evicted++;
			w->kept -= o->cap;
			w->forgotten_to = o->used > w->forgotten_to ? o->used : w->forgotten_to;
			free(o->v);
			continue;
		}
		*place(t, slots, o->object, o->space) = *o;
		w->used++;
	}
	free(w->slot);
	w->slot = t;
	w->slots = slots;
	return 0;
}

/* Room for one more: a larger table, or without the objects that were not used for longest. */
static int room(struct ty_wakes *w, uint64_t now)
{
	if ((w->used + 1) * 2 <= w->slots)
		return 0;
	if (w->slots < OBJECTS_MAX * 2)
		return rehash(w, w->slots * 2, 0);
	for (uint64_t age = 10000000000ull; (w->used + 1) * 2 > w->slots; age /= 4) {
		int e = rehash(w, w->slots, now > age ? now - age : 0);
		if (e || !age)
			return e;
	}
	return 0;
}

struct ty_waked *ty_wakes_find(struct ty_wakes *w, uint64_t object, uint32_t space)
{
	struct ty_waked *o = place(w->slot, w->slots, object, space);
	return o->used ? o : NULL;
}

struct ty_waked *ty_wakes_get(struct ty_wakes *w, uint64_t object, uint32_t space, uint64_t now)
{
	struct ty_waked *o = place(w->slot, w->slots, object, space);
	if (!o->used) {
		if (room(w, now))
			return NULL;
		o = place(w->slot, w->slots, object, space);
		*o = (struct ty_waked){
			.object = object, .space = space, .owner = TY_NONE, .lost_to = w->forgotten_to
		};
		w->used++;
	}
	o->used = now | 1; /* never 0, which means a free slot */
	return o;
}

static int grow(struct ty_wakes *w, struct ty_waked *o)
{
	uint32_t cap = o->cap ? o->cap * 2 : RING_MIN;
	struct ty_wake *v = malloc(cap * sizeof *v);
	if (!v)
		return -ENOMEM;
	o->from = ty_waked_first(o); /* what the smaller ring has overwritten does not come back */
	for (uint64_t i = o->from; i != o->n; i++)
		v[i & (cap - 1)] = *ty_waked_at(o, i);
	w->kept += cap - o->cap;
	free(o->v);
	o->v = v;
	o->cap = cap;
	return 0;
}

int ty_wakes_add(struct ty_wakes *w, struct ty_waked *o, const struct ty_wake *k)
{
	bool full = o->n - ty_waked_first(o) == o->cap;
	if (!o->cap || (full && o->cap < RING_MAX && w->kept + o->cap <= WAKES_MAX &&
			ty_waked_at(o, o->n)->at + KEEP_NS > k->at)) {
		int e = grow(w, o);
		if (e)
			return e;
	} else if (full) {
		o->lost_to = ty_waked_at(o, o->n)->at;
	}
	*ty_waked_at(o, o->n++) = *k;
	return 0;
}

/* Most waits are short, so the wakes in them are among the last. */
uint64_t ty_waked_from(const struct ty_waked *o, uint64_t time)
{
	uint64_t lo = ty_waked_first(o), hi = o->n;
	for (unsigned i = 0; i < 8 && hi > lo; i++, hi--)
		if (ty_waked_at(o, hi - 1)->at < time)
			return hi;
	while (lo < hi) {
		uint64_t m = lo + (hi - lo) / 2;
		if (ty_waked_at(o, m)->at < time)
			lo = m + 1;
		else
			hi = m;
	}
	return lo;
}

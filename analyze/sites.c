/* SPDX-License-Identifier: MIT
 *
 * Sites: keys and plain statistics of waits (see sites.h).  Runs in readers.
 * Must stay true: key 0 is "held up"; a wait whose path was not taken shares a
 * key only with its like, one for each operation. */
#include "analyze/sites.h"

#include <math.h>

#include "analyze/vec.h"
#include "tarry/arena.h"

int ty_sites_init(struct ty_sites *s, enum ty_by by, const uint32_t *group, size_t npaths, size_t ngroups,
		  size_t nops)
{
	memset(s, 0, sizeof *s);
	s->by = by;
	s->group = group;
	s->npaths = npaths;
	s->nops = nops;
	s->head = calloc(ngroups + 1, sizeof *s->head);
	s->by_op = calloc(nops + 1, sizeof *s->by_op);
	s->slots = by == TY_BY_OBJECT ? 1024 : 0;
	s->slot = s->slots ? calloc(s->slots, sizeof *s->slot) : NULL;
	if (!s->head || !s->by_op || (s->slots && !s->slot) || TY_RESERVE(s->v, s->cap, (size_t)1, (size_t)256)) {
		ty_sites_free(s);
		return -ENOMEM;
	}
	s->n = 1;
	s->v[TY_SITE_HELD].path = TY_NONE;
	return 0;
}

void ty_sites_free(struct ty_sites *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].sketch) {
			ty_sketch_free(s->v[i].sketch);
			free(s->v[i].sketch);
		}
	free(s->v);
	free(s->head);
	free(s->by_op);
	free(s->slot);
	memset(s, 0, sizeof *s);
}

int64_t ty_sites_add(struct ty_sites *s, const struct ty_ev *ev, uint32_t *link)
{
	if (TY_RESERVE(s->v, s->cap, s->n + 1, (size_t)256))
		return -ENOMEM;
	struct ty_site *n = &s->v[s->n];
	n->op = ev->op;
	n->cls = ev->cls;
	n->path = ev->path < s->npaths ? ev->path : TY_NONE;
	n->next = link ? *link : 0;
	if (link)
		*link = (uint32_t)s->n + 1;
	return (int64_t)s->n++;
}

static struct ty_object_slot *find(struct ty_object_slot *t, size_t slots, uint64_t object, uint32_t space,
				   uint16_t cls)
{
	size_t i = (size_t)ty_mix(object ^ (uint64_t)space << 40 ^ (uint64_t)cls << 32) & (slots - 1);
	while (t[i].site && !(t[i].object == object && t[i].space == space && t[i].cls == cls))
		i = (i + 1) & (slots - 1);
	return &t[i];
}

static int grow_slots(struct ty_sites *s)
{
	size_t slots = s->slots * 2;
	struct ty_object_slot *t = calloc(slots, sizeof *t);
	if (!t)
		return -ENOMEM;
	for (size_t i = 0; i < s->slots; i++)
		if (s->slot[i].site)
			*find(t, slots, s->slot[i].object, s->slot[i].space, s->slot[i].cls) = s->slot[i];
	free(s->slot);
	s->slot = t;
	s->slots = slots;
	return 0;
}

int64_t ty_sites_object(struct ty_sites *s, const struct ty_ev *ev, uint64_t object, uint32_t space)
{
	struct ty_object_slot *o = find(s->slot, s->slots, object, space, ev->cls);
	if (o->site) {
		struct ty_site *known = &s->v[o->site - 1];
		known->ops = known->ops || known->op != ev->op;
		return o->site - 1;
	}
	if (s->used * 2 >= s->slots) {
		if (grow_slots(s))
			return -ENOMEM;
		o = find(s->slot, s->slots, object, space, ev->cls);
	}
	int64_t k = ty_sites_add(s, ev, NULL);
	if (k < 0)
		return k;
	*o = (struct ty_object_slot){ .object = object, .space = space, .cls = ev->cls, .site = (uint32_t)k + 1 };
	s->used++;
	return k;
}

int ty_site_settle(struct ty_site *s)
{
	int e = 0;
	if (s->nlate && !s->sketch && !(s->sketch = calloc(1, sizeof *s->sketch)))
		e = -ENOMEM;
	for (unsigned i = 0; !e && i < s->nlate; i++)
		e = ty_sketch_count(s->sketch, s->late[i]);
	s->nlate = 0;
	return e;
}

double ty_site_mean(const struct ty_site *s)
{
	return s->waits ? (double)s->total / (double)s->waits : 0;
}

double ty_site_sd(const struct ty_site *s)
{
	if (!s->waits)
		return 0;
	long double mean = (long double)s->total / s->waits;
	long double var = (long double)s->sq / s->waits - mean * mean;
	return var > 0 ? (double)sqrtl(var) : 0;
}

uint64_t ty_site_p99(const struct ty_site *s)
{
	if (s->waits < 100)
		return s->max; /* exact: no value but the last has 99 % at or below it */
	uint64_t p = s->sketch ? ty_sketch_quantile(s->sketch, 0.99) : 0;
	return p < s->max ? p : s->max; /* the middle of the last bucket may lie beyond all values */
}

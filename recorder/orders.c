/* SPDX-License-Identifier: MIT
 *
 * Orders in the recorder, see orders.h.  The traced side compares numbers only:
 * the id of a call path, the address of an object.  What they are called is found
 * out here, by the worker where files must be read, so that the drain goes on. */
#include "recorder/orders.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 8u /* passes in which a module that a path goes through may still be announced */

/* The rule that marks idle sites: any wait, by its path. */
static void add_idle(struct ty_order_conf *c)
{
	struct ty_order_rule *r = &c->rule[c->rules++];
	memset(r->ops, 0xff, sizeof r->ops);
	r->order = TY_ORDER_native;
	r->by_path = 1;
	r->idle = 1;
}

void ty_orders_fill(struct ty_order_conf *c, const struct ty_order_settings *o)
{
	c->age = o->age;
	c->bound_ns = o->bound_ns;
	c->sync = o->sync;
	c->sync_ns = o->sync_ns;
	for (uint32_t i = 0; i < o->rules && ty_orders_any(o); i++)
		c->rule[c->rules++] = o->rule[i].rule;
	if (o->idles && c->rules)
		add_idle(c);
}

int ty_orders_new(struct ty_recorder *r)
{
	if (!ty_orders_any(&r->set->orders))
		return 0;
	struct ty_order_book *b = r->orders = calloc(1, sizeof *b);
	if (!b)
		return -ENOMEM;
	b->o = &r->set->orders;
	b->matcher = ty_matcher_new(b->o, &r->arena.a->orders, r->set->debuginfod);
	if (!b->matcher)
		return -ENOMEM;
	ty_worker_orders(r->worker, b->matcher);
	return 0;
}

void ty_orders_free(struct ty_recorder *r)
{
	struct ty_order_book *b = r->orders;
	if (!b)
		return;
	for (struct ty_match *p; (p = b->pending);) {
		b->pending = p->next;
		free(p);
	}
	free(b->place);
	ty_map_free(&b->place_at);
	free(b);
	r->orders = NULL;
}

void ty_orders_wait(struct ty_recorder *r, unsigned op)
{
	if (r->orders)
		r->orders->waits[op]++;
}

/* ---- call paths ---- */

static bool any_by_path(const struct ty_order_settings *o)
{
	for (uint32_t i = 0; i < o->rules; i++)
		if (o->rule[i].rule.by_path)
			return true;
	return o->idles > 0;
}

void ty_orders_path(struct ty_recorder *r, uint64_t path, uint64_t image, const uint64_t *frame, uint32_t frames)
{
	struct ty_order_book *b = r->orders;
	if (!b || !any_by_path(b->o))
		return;
	struct ty_match *p = calloc(1, sizeof *p + frames * sizeof *p->frame);
	if (!p) {
		r->lost.no_memory++;
		return;
	}
	p->path = path;
	p->image = image;
	p->count = (uint16_t)frames;
	for (uint32_t i = 0; i < frames; i++)
		p->frame[i].offset = frame[i];
	p->next = b->pending;
	b->pending = p;
}

/* Rules whose pattern for a module's base name fits it. */
static uint16_t by_module(const struct ty_order_settings *o, const char *path)
{
	const char *slash = strrchr(path, '/');
	uint16_t rules = (uint16_t)(o->idles ? 1u << o->rules : 0);
	for (uint32_t i = 0; i < o->rules; i++) {
		const struct ty_order_pattern *p = &o->rule[i];
		if (p->rule.by_path && (!p->module[0] || fnmatch(p->module, slash ? slash + 1 : path, 0) == 0))
			rules |= (uint16_t)(1u << i);
	}
	return rules;
}

/* Raw frames to places in modules; false: later, some module is not known yet. */
static bool locate(struct ty_recorder *r, struct ty_match *p)
{
	struct ty_address at;
	bool all = true;
	for (uint32_t i = 0; i < p->count && all; i++)
		all = ty_path_locate(r, p->image, p->frame[i].offset, &at);
	if (!all && ++p->tries < TRIES)
		return false;
	for (uint32_t i = 0; i < p->count; i++) {
		struct ty_match_frame *f = &p->frame[i];
		bool known = ty_path_locate(r, p->image, f->offset, &at);
		*f = (struct ty_match_frame){ at.offset, at.module, 0, at.exact };
		if (known)
			f->rules = by_module(r->orders->o, r->modules.module[at.module].path);
	}
	return true;
}

void ty_orders_pass_end(struct ty_recorder *r)
{
	struct ty_order_book *b = r->orders;
	if (!b)
		return;
	struct ty_match **at = &b->pending;
	for (struct ty_match *p; (p = *at);) {
		if (!locate(r, p)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		ty_worker_match(r->worker, p);
	}
	bool native = atomic_load_explicit(&r->arena.a->orders_native, memory_order_relaxed);
	if (native == b->native)
		return;
	b->native = native;
	if (b->changes < TY_SWITCHES) {
		b->change[b->changes].when = r->now;
		b->change[b->changes].native = native;
	}
	b->changes++;
}

/* ---- variables ---- */

/* Entries are only ever appended, and counted once they are whole. */
static void tell(struct ty_recorder *r, struct ty_order_place *at)
{
	struct ty_order_book *b = r->orders;
	struct ty_orders *to = &r->arena.a->orders;
	const struct ty_rmodule *m = &r->modules.module[at->module];
	uint32_t n = atomic_load_explicit(&to->object_count, memory_order_relaxed);
	at->told = true;
	for (size_t i = 0; i < m->variables; i++) {
		const struct ty_variable *v = &m->variable[i];
		b->variables |= v->rules;
		if (n >= TY_ORDER_OBJECTS) {
			b->objects_no_room++;
			continue;
		}
		to->object[n++] = (struct ty_order_object){ at->image, at->base + v->lo, at->base + v->hi, v->rules };
	}
	atomic_store_explicit(&to->object_count, n, memory_order_release);
}

void ty_orders_mapped(struct ty_recorder *r, uint64_t image, const struct ty_range *range)
{
	struct ty_order_book *b = r->orders;
	if (!b)
		return;
	uint64_t key = ty_mix(image ^ ty_mix(range->base ^ ty_mix(range->module + 1u)));
	uint64_t *at = ty_map_put(&b->place_at, key);
	if (!at || *at)
		return;
	if (ty_reserve(&b->place, &b->cap, b->places + 1, sizeof *b->place) < 0) {
		r->lost.no_memory++;
		return;
	}
	b->place[b->places] = (struct ty_order_place){ image, range->start, range->end, range->base, range->module,
						       false };
	*at = ++b->places;
	if (r->modules.module[range->module].variables)
		tell(r, &b->place[b->places - 1]);
}

void ty_orders_built(struct ty_recorder *r, struct ty_built *built)
{
	struct ty_order_book *b = r->orders;
	struct ty_rmodule *m = &r->modules.module[built->module];
	if (!b || !built->variable)
		return;
	m->variable = built->variable;
	m->variables = built->variables;
	built->variable = NULL;
	for (size_t i = 0; i < b->places && m->variables; i++)
		if (b->place[i].module == built->module && !b->place[i].told)
			tell(r, &b->place[i]);
}

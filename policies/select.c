/* SPDX-License-Identifier: MIT
 *
 * Which order the present wait has: numbers that the recorder made of names are
 * compared with the wait's operation, path and object.  Runs in the traced
 * process.  What is read from the arena here are numbers that index nothing. */
#include "preload/rules.h"
#include "policies/select.h"
#include "policies/threshold.h"

#define LOAD(x) atomic_load_explicit(x, memory_order_relaxed)

/* Has the wrapper published this very wait?  What is not recorded publishes nothing,
 * and the words are those of an earlier wait; so they must name this object. */
static bool published(const struct ty_thread *t, const void *object)
{
	return t && LOAD(&t->wait_op) != UINT32_MAX && LOAD(&t->wait_object) == (uintptr_t)object;
}

/* Rules that the recorder found in the call path of the wait. */
static uint32_t by_path(const struct ty_thread *t)
{
	uint64_t path = LOAD(&t->wait_path), at = ty_mix(path);
	for (uint32_t i = 0; path >> 63 && i < TY_DECIDED_PROBES; i++) {
		uint64_t d = LOAD(&ty_orders->decided[(at + i) & (TY_DECIDED - 1)]);
		if (d >> 16 == path >> 16)
			return d & 0xffff;
		if (!d)
			break;
	}
	return 0;
}

/* Rules one of whose variables holds the object. */
static uint32_t by_object(const void *object)
{
	uint32_t n = atomic_load_explicit(&ty_orders->object_count, memory_order_acquire), rules = 0;
	uint64_t at = (uintptr_t)object;
	for (uint32_t i = 0; i < n && i < TY_ORDER_OBJECTS; i++) {
		const struct ty_order_object *v = &ty_orders->object[i];
		if (at >= v->lo && at < v->hi && v->image == ty_proc.image)
			rules |= v->rules;
	}
	return rules;
}

/* The rule's number, or that of none if the object is below its threshold. */
static uint32_t decided(uint32_t rule, enum ty_op op, const void *object, bool tune)
{
	const struct ty_order_rule *r = &ty_order_conf.rule[rule];
	atomic_fetch_add_explicit(&ty_orders->matched[rule], 1, memory_order_relaxed);
	if (r->order == TY_ORDER_native)
		return TY_NO_RULE;
	if (!r->theta)
		return rule;
	struct ty_order_stat *s = ty_order_stat(object, rule, op);
	if (tune && r->theta == TY_THETA_AUTO)
		ty_tls.tuned = rule + 1;
	if (!ty_threshold_native(s, ty_threshold_theta(rule, r->theta)))
		return rule;
	atomic_fetch_add_explicit(&s->native, 1, memory_order_relaxed);
	return TY_NO_RULE;
}

uint32_t ty_select(enum ty_op op, const void *object, bool *idle)
{
	*idle = false;
	if (!ty_orders)
		return TY_NO_RULE;
	struct ty_thread *t = ty_tls.t;
	bool known = published(t, object);
	uint32_t path = known ? by_path(t) : 0, chosen = TY_NO_RULE;
	if (known)
		ty_tls.tuned = 0; /* of a wait that was cancelled */
	for (uint32_t i = 0; i < ty_order_conf.rules; i++) {
		const struct ty_order_rule *r = &ty_order_conf.rule[i];
		if (r->idle)
			*idle |= path >> i & 1;
		else if (chosen == TY_NO_RULE && r->ops[op / 64] >> op % 64 & 1 && (!r->by_path || path >> i & 1) &&
			 (!r->by_object || by_object(object) >> i & 1))
			chosen = i;
	}
	if (chosen == TY_NO_RULE || LOAD(&ty_head.orders_native) || ty_queue_sandboxed())
		return TY_NO_RULE;
	return decided(chosen, op, object, known);
}

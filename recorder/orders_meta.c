/* SPDX-License-Identifier: MIT
 *
 * What a store says of the orders that were in force: the rules, their counters
 * object by object, and rules that matched nothing.  Recorder's main thread.
 * The counters are the traced side's: numbers to be shown, nothing else. */
#include "recorder/orders.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "recorder/meta.h"
#include "recorder/symbols.h"

#define LOAD(x) atomic_load_explicit(x, memory_order_relaxed)

static bool has(const struct ty_order_rule *r, uint32_t op)
{
	return r->ops[op / 64] >> op % 64 & 1;
}

/* ---- in words ---- */

static bool whole_class(const struct ty_order_rule *r, enum ty_class cls)
{
	for (uint32_t op = 0; op < TY_OP_FUNCTIONS; op++)
		if (ty_order_ops[op].cls == cls && ty_order_can(op) && !has(r, op))
			return false;
	return true;
}

/* "cond", "mutex", and single functions of classes that are not whole */
static json_t *operations(const struct ty_order_rule *r)
{
	json_t *a = json_array();
	for (size_t i = 0; i < TY_ORDER_CLASSES; i++) {
		bool whole = whole_class(r, ty_order_classes[i].cls);
		if (whole)
			json_array_append_new(a, json_string(ty_order_classes[i].name));
		for (uint32_t op = 0; op < TY_OP_FUNCTIONS && !whole; op++)
			if (ty_order_ops[op].cls == ty_order_classes[i].cls && has(r, op))
				json_array_append_new(a, json_string(ty_order_ops[op].name));
	}
	return a;
}

static void put_operations(FILE *out, const struct ty_order_rule *r)
{
	json_t *a = operations(r), *name;
	size_t i;
	json_array_foreach(a, i, name)
		fprintf(out, "%s%s", i ? ", " : " on ", json_string_value(name));
	json_decref(a);
}

static void put_rule(FILE *out, const struct ty_order_pattern *p)
{
	char where[TY_ORDER_WHERE];
	fputs(ty_order_name(p->rule.order), out);
	put_operations(out, &p->rule);
	fputs(ty_order_where(p, where), out);
	if (p->rule.theta == TY_THETA_AUTO)
		fputs(", threshold auto", out);
	else if (p->rule.theta)
		fprintf(out, ", threshold %g", p->rule.theta / 1000.0);
}

char *ty_orders_text(const struct ty_order_settings *o)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	for (uint32_t i = 0; i < o->rules; i++) {
		fputs(i ? "; " : "", out);
		put_rule(out, &o->rule[i]);
	}
	if (o->sync != TY_SYNC_NATIVE)
		fprintf(out, "%sfsync %s", o->rules ? "; " : "", ty_sync_name(o->sync));
	fclose(out);
	return text;
}

/* ---- rules that matched nothing ---- */

static bool waited_for(const struct ty_order_book *b, const struct ty_order_rule *rule)
{
	for (uint32_t op = 0; op < TY_OP_FUNCTIONS; op++)
		if (has(rule, op) && b->waits[op])
			return true;
	return false;
}

static const char *why(const struct ty_order_book *b, uint32_t i)
{
	const struct ty_order_rule *rule = &b->o->rule[i].rule;
	if (!waited_for(b, rule))
		return ": the program waited for none of its operations";
	if (rule->by_path && !(ty_matcher_found(b->matcher) >> i & 1))
		return ": no call path names such a function or module (tarry report prints them)";
	if (rule->by_object && !(b->variables >> i & 1))
		return ": there is no such variable";
	return "";
}

bool ty_orders_unmatched(const struct ty_recorder *r, uint32_t *i, char *buf, size_t size)
{
	const struct ty_order_book *b = r->orders;
	char words[400];
	for (; b && *i < b->o->rules; ++*i) {
		if (LOAD(&r->arena.a->orders.matched[*i]))
			continue;
		snprintf(buf, size, "order %u (%s) matched no wait%s", *i + 1,
			 ty_order_words(&b->o->rule[*i], words, sizeof words), why(b, *i));
		++*i;
		return true;
	}
	if (b && *i == b->o->rules && b->o->idles && !(ty_matcher_found(b->matcher) >> *i & 1)) {
		snprintf(buf, size, "order_idle (%s%s) matched no wait: no call path names such a function",
			 b->o->idle[0], b->o->idles > 1 ? ", ..." : "");
		++*i;
		return true;
	}
	return false;
}

/* ---- JSON ---- */

static json_t *num(uint64_t v)
{
	return json_integer((json_int_t)(v > INT64_MAX ? INT64_MAX : v));
}

static json_t *text_or_null(const char *text)
{
	json_t *j = *text ? ty_meta_text(text) : NULL;
	return j ? j : json_null();
}

static json_t *rule_json(const struct ty_recorder *r, uint32_t i)
{
	const struct ty_order_pattern *p = &r->orders->o->rule[i];
	json_t *o = json_object();
	json_object_set_new(o, "order", json_string(ty_order_name(p->rule.order)));
	json_object_set_new(o, "operations", operations(&p->rule));
	json_object_set_new(o, "path", text_or_null(p->path));
	json_object_set_new(o, "module", text_or_null(p->module));
	json_object_set_new(o, "object", text_or_null(p->object));
	json_object_set_new(o, "threshold", p->rule.theta == TY_THETA_AUTO ? json_string("auto") :
			    json_real(p->rule.theta / 1000.0));
	json_object_set_new(o, "seed", num(p->rule.seed));
	json_object_set_new(o, "matched", num(LOAD(&r->arena.a->orders.matched[i])));
	return o;
}

static const struct ty_order_place *place_of(const struct ty_order_book *b, uint64_t image, uint64_t object)
{
	for (size_t i = b->places; i-- > 0;) /* what was mapped last, where something was unmapped */
		if (b->place[i].image == image && object >= b->place[i].start && object < b->place[i].end)
			return &b->place[i];
	return NULL;
}

static void name_of(const struct ty_recorder *r, uint64_t image, uint64_t object, char *buf, size_t size)
{
	const struct ty_order_place *at = place_of(r->orders, image, object);
	struct ty_elf *e = at ? r->modules.module[at->module].elf : NULL;
	if (!e || !ty_symbols_variable_at(e, object - at->base, buf, size))
		*buf = 0;
}

static uint32_t pid_of(const struct ty_recorder *r, uint64_t image)
{
	for (size_t i = 0; i < r->reg.count; i++)
		if (r->reg.process[i]->info.image == image)
			return r->reg.process[i]->info.pid;
	return 0;
}

static json_t *object_json(const struct ty_recorder *r, const struct ty_order_stat *s, bool names)
{
	char text[240] = "";
	uint64_t image = LOAD(&s->image), object = LOAD(&s->object);
	uint32_t rule = LOAD(&s->rule), op = LOAD(&s->op), theta = LOAD(&s->theta);
	json_t *o = json_object();
	snprintf(text, sizeof text, "0x%" PRIx64, object);
	json_object_set_new(o, "object", object ? json_string(text) : json_null());
	*text = 0;
	if (names && object)
		name_of(r, image, object, text, sizeof text);
	json_object_set_new(o, "name", text_or_null(text));
	json_object_set_new(o, "pid", pid_of(r, image) ? num(pid_of(r, image)) : json_null());
	json_object_set_new(o, "rule", num(rule + 1));
	json_object_set_new(o, "order", rule < r->orders->o->rules ?
			    json_string(ty_order_name(r->orders->o->rule[rule].rule.order)) : json_null());
	json_object_set_new(o, "operation", op < TY_OP_FUNCTIONS ? json_string(ty_order_ops[op].name) : json_null());
	const struct { const char *key; uint64_t value; } count[] = {
		{ "waits", LOAD(&s->waits) }, { "grants", LOAD(&s->grants) }, { "choices", LOAD(&s->choices) },
		{ "reordered", LOAD(&s->reordered) }, { "forced", LOAD(&s->forced) }, { "bounded", LOAD(&s->bounded) },
		{ "native", LOAD(&s->native) }, { "most_waiting", LOAD(&s->most) },
	};
	for (size_t i = 0; i < sizeof count / sizeof *count; i++)
		json_object_set_new(o, count[i].key, num(count[i].value));
	json_object_set_new(o, "theta", json_real(theta / 1000.0));
	return o;
}

static uint64_t weight(const struct ty_order_stat *s)
{
	return LOAD(&s->waits) + LOAD(&s->native);
}

static int by_weight(const void *a, const void *b)
{
	const struct ty_order_stat *const *x = a, *const *y = b;
	uint64_t v = weight(*x), w = weight(*y);
	return v != w ? (v > w ? -1 : 1) : *x < *y ? -1 : *x > *y;
}

static json_t *objects_json(const struct ty_recorder *r, bool names)
{
	const struct ty_order_stat *list[TY_ORDER_STATS];
	json_t *a = json_array();
	size_t n = 0;
	for (uint32_t i = 0; i < TY_ORDER_STATS; i++) {
		const struct ty_order_stat *s = &r->arena.a->orders.stat[i];
		if (atomic_load_explicit(&s->key, memory_order_acquire))
			list[n++] = s;
	}
	qsort(list, n, sizeof *list, by_weight);
	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, object_json(r, list[i], names));
	return a;
}

static json_t *switches_json(const struct ty_recorder *r)
{
	const struct ty_order_book *b = r->orders;
	json_t *a = json_array();
	for (uint32_t i = 0; i < b->changes && i < TY_SWITCHES; i++)
		json_array_append_new(a, json_pack("{s:I, s:b}", "at_ns", (json_int_t)(b->change[i].when - r->began),
						   "native", b->change[i].native));
	return a;
}

json_t *ty_orders_json(const struct ty_recorder *r, bool names)
{
	const struct ty_order_book *b = r->orders;
	struct ty_orders *a = &r->arena.a->orders;
	json_t *o = json_object(), *rules = json_array(), *unmatched = json_array();
	char line[600];
	for (uint32_t i = 0; i < b->o->rules; i++)
		json_array_append_new(rules, rule_json(r, i));
	for (uint32_t i = 0; ty_orders_unmatched(r, &i, line, sizeof line);)
		json_array_append_new(unmatched, text_or_null(line));
	char *text = ty_orders_text(b->o);
	json_object_set_new(o, "text", text_or_null(text ? text : ""));
	free(text);
	json_object_set_new(o, "rules", rules);
	json_object_set_new(o, "age", json_string(ty_age_name(b->o->age)));
	json_object_set_new(o, "bound_ns", num(b->o->bound_ns));
	json_object_set_new(o, "native", json_boolean(b->native));
	json_object_set_new(o, "switches", switches_json(r));
	json_object_set_new(o, "fsync", json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "policy", ty_sync_name(b->o->sync),
		"interval_ns", (json_int_t)b->o->sync_ns, "calls", (json_int_t)LOAD(&a->sync_calls),
		"done", (json_int_t)LOAD(&a->sync_done), "shared", (json_int_t)LOAD(&a->sync_shared),
		"lazy", (json_int_t)LOAD(&a->sync_lazy)));
	json_object_set_new(o, "unmatched", unmatched);
	json_object_set_new(o, "no_room", json_pack("{s:I, s:I}", "paths", (json_int_t)ty_matcher_no_room(b->matcher),
						    "variables", (json_int_t)b->objects_no_room));
	json_object_set_new(o, "objects", objects_json(r, names));
	return o;
}

bool ty_orders_changed(struct ty_recorder *r)
{
	struct ty_orders *a = &r->arena.a->orders;
	uint64_t sum = r->orders->changes + LOAD(&a->sync_calls);
	for (uint32_t i = 0; i < TY_ORDER_STATS; i++)
		sum += weight(&a->stat[i]) + LOAD(&a->stat[i].grants);
	bool changed = sum != r->orders->stored;
	r->orders->stored = sum;
	return changed;
}

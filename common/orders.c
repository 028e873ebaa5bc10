/* SPDX-License-Identifier: MIT
 *
 * Reading rules of orders: YAML and the shorthand of --order.  Runs in recorder
 * and readers, never in the traced process.  What must stay true: a rule that
 * can never match because of how it is written is refused, with its place.
 */
#include "common/orders.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/units.h"

#define MS 1000000ull
#define OPERATIONS "cond, mutex, rwlock or one of their waiting functions"

static const char *const order_names[] = {
#define TY_ORDER(name, what) #name,
#include "tarry/orders.def"
	NULL
};
static const char *const age_names[] = { "request", "marker", "idle", NULL };
static const char *const sync_names[] = { "native", "coalesce", "lazy_flush", NULL };

const struct ty_order_op ty_order_ops[TY_OP_FUNCTIONS] = {
#define TY_W(ret, name, ver, need, c, body, params, args, obj, try) [TY_OP_##name] = { #name, TY_CLASS_##c },
#include "tarry/wrap.def"
};
const struct ty_order_op ty_order_classes[TY_ORDER_CLASSES] = {
	{ "cond", TY_CLASS_COND }, { "mutex", TY_CLASS_MUTEX }, { "rwlock", TY_CLASS_RWLOCK }
};

const char *ty_order_name(uint32_t order)
{
	return order < TY_ORDER_COUNT ? order_names[order] : NULL;
}

const char *ty_age_name(uint32_t age)
{
	return age <= TY_AGE_IDLE ? age_names[age] : NULL;
}

const char *ty_sync_name(uint32_t sync)
{
	return sync <= TY_SYNC_LAZY_FLUSH ? sync_names[sync] : NULL;
}

bool ty_order_can(uint32_t op)
{
	if (op >= TY_OP_FUNCTIONS || strstr(ty_order_ops[op].name, "try"))
		return false;
	enum ty_class cls = ty_order_ops[op].cls;
	return cls == TY_CLASS_COND || cls == TY_CLASS_MUTEX || cls == TY_CLASS_RWLOCK;
}

void ty_orders_default(struct ty_order_settings *o)
{
	memset(o, 0, sizeof *o);
	o->bound_ns = 100 * MS;
	o->sync_ns = 1000 * MS;
}

bool ty_orders_any(const struct ty_order_settings *o)
{
	for (uint32_t i = 0; i < o->rules; i++)
		if (o->rule[i].rule.order != TY_ORDER_native)
			return true;
	return o->sync != TY_SYNC_NATIVE;
}

bool ty_orders_warning(const struct ty_order_settings *o, char *err)
{
	if (o->sync != TY_SYNC_LAZY_FLUSH)
		return false;
	ty_err(err, 0, "fsync is %s, not durable: a power failure loses what the program was told is on disk",
	       sync_names[o->sync]);
	return true;
}

const char *ty_order_where(const struct ty_order_pattern *r, char buf[TY_ORDER_WHERE])
{
	const struct { const char *what, *text; } part[] = {
		{ "path", r->path }, { "module", r->module }, { "object", r->object },
	};
	size_t n = 0;
	*buf = 0;
	for (size_t i = 0; i < 3; i++)
		if (*part[i].text)
			n += (size_t)snprintf(buf + n, TY_ORDER_WHERE - n, ", %s %s", part[i].what, part[i].text);
	return buf;
}

const char *ty_order_words(const struct ty_order_pattern *r, char *buf, size_t size)
{
	char where[TY_ORDER_WHERE];
	snprintf(buf, size, "%s%s", order_names[r->rule.order], ty_order_where(r, where));
	return buf;
}

/* ---- words ---- */

static int find_order(const char *name, uint32_t *order, char *err)
{
	char q[TY_QUOTE], list[160] = "";
	struct ty_nearest n = { name, NULL, SIZE_MAX };
	for (uint32_t i = 0; order_names[i]; i++) {
		if (strcmp(name, order_names[i]) == 0) {
			*order = i;
			return 0;
		}
		ty_nearer(&n, order_names[i]);
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", order_names[i]);
	}
	if (n.best)
		return ty_err(err, -EINVAL, "unknown order '%s'; did you mean '%s'?", ty_quote(q, name), n.best);
	return ty_err(err, -EINVAL, "unknown order '%s'; the orders are %s", ty_quote(q, name), list);
}

static void set_op(struct ty_order_rule *rule, uint32_t op)
{
	rule->ops[op / 64] |= 1ull << op % 64;
}

static void set_class(struct ty_order_rule *rule, enum ty_class cls)
{
	for (uint32_t op = 0; op < TY_OP_FUNCTIONS; op++)
		if (ty_order_ops[op].cls == cls && ty_order_can(op))
			set_op(rule, op);
}

static void set_all(struct ty_order_rule *rule)
{
	for (size_t i = 0; i < TY_ORDER_CLASSES; i++)
		set_class(rule, ty_order_classes[i].cls);
}

static bool no_ops(const struct ty_order_rule *rule)
{
	uint64_t any = 0;
	for (size_t i = 0; i < sizeof rule->ops / sizeof *rule->ops; i++)
		any |= rule->ops[i];
	return !any;
}

static int add_operation(struct ty_order_rule *rule, const char *name, char *err)
{
	char q[TY_QUOTE];
	struct ty_nearest n = { name, NULL, SIZE_MAX };
	for (size_t i = 0; i < TY_ORDER_CLASSES; i++) {
		if (strcmp(name, ty_order_classes[i].name) == 0) {
			set_class(rule, ty_order_classes[i].cls);
			return 0;
		}
		ty_nearer(&n, ty_order_classes[i].name);
	}
	for (uint32_t op = 0; op < TY_OP_FUNCTIONS; op++) {
		if (!ty_order_can(op))
			continue;
		if (strcmp(name, ty_order_ops[op].name) == 0) {
			set_op(rule, op);
			return 0;
		}
		ty_nearer(&n, ty_order_ops[op].name);
	}
	if (n.best)
		return ty_err(err, -EINVAL, "no order for '%s'; did you mean '%s'?", ty_quote(q, name), n.best);
	return ty_err(err, -EINVAL, "no order for '%s', only for %s", ty_quote(q, name), OPERATIONS);
}

/* "0.25" -> 250 */
static int parse_theta(const char *text, uint32_t *ret)
{
	uint32_t v = 0, place = 1000;
	if (strcmp(text, "auto") == 0) {
		*ret = TY_THETA_AUTO;
		return 0;
	}
	if (text[0] != '0' && text[0] != '1')
		return -EINVAL;
	v = (uint32_t)(text[0] - '0') * 1000;
	if (text[1] && (text[1] != '.' || !text[2]))
		return -EINVAL;
	for (const char *p = text[1] ? text + 2 : text + 1; *p; p++) {
		if (!isdigit((unsigned char)*p) || (place /= 10) == 0)
			return -EINVAL;
		v += (uint32_t)(*p - '0') * place;
	}
	if (v > 1000)
		return -EINVAL;
	*ret = v;
	return 0;
}

/* Room for one rule more; NULL with err set. */
static struct ty_order_pattern *new_rule(struct ty_order_settings *o, char *err)
{
	if (o->rules == TY_ORDER_RULES) {
		ty_err(err, -E2BIG, "too many rules, at most %u", TY_ORDER_RULES);
		return NULL;
	}
	struct ty_order_pattern *r = &o->rule[o->rules++];
	memset(r, 0, sizeof *r);
	r->rule.seed = 1;
	return r;
}

int ty_orders_add(struct ty_order_settings *o, const char *text, char *err)
{
	char copy[512];
	struct ty_order_pattern *r = new_rule(o, err);
	if (!r)
		return -E2BIG;
	if (strlen(text) >= sizeof copy)
		return ty_err(err, -EINVAL, "too long, expected an order or ORDER:operation,...");
	strcpy(copy, text);
	char *list = strchr(copy, ':'), *save = NULL;
	if (list)
		*list++ = 0;
	int rc = find_order(copy, &r->rule.order, err);
	for (char *w = list ? strtok_r(list, ",", &save) : NULL; w && rc == 0; w = strtok_r(NULL, ",", &save))
		rc = add_operation(&r->rule, w, err);
	if (rc == 0 && list && no_ops(&r->rule))
		return ty_err(err, -EINVAL, "which operations? %s", OPERATIONS);
	if (rc == 0 && !list)
		set_all(&r->rule);
	return rc;
}

/* ---- YAML ---- */

struct reader {
	struct ty_yaml *y;
	struct ty_order_pattern *r;
	uint32_t seen;
};
enum { ORDER, WHICH, PATH, MODULE, OBJECT, THRESHOLD, SEED, RULE_KEYS };
static const char *const rule_keys[] = { "order", "operations", "path", "module", "object", "threshold", "seed" };
_Static_assert(sizeof rule_keys / sizeof *rule_keys == RULE_KEYS, "one name a key");

static int copy_glob(struct ty_yaml *y, char to[TY_ORDER_GLOB], const char *what, const char *wants)
{
	char q[TY_QUOTE];
	const char *text = ty_yaml_text(y, what, wants);
	if (!text)
		return -EINVAL;
	if (!*text || strlen(text) >= TY_ORDER_GLOB)
		return ty_yaml_fail(y, "%s: expected %s, 1 to %u bytes, not '%s'", what, wants, TY_ORDER_GLOB - 1,
				    ty_quote(q, text));
	if (strchr(text, '/'))
		return ty_yaml_fail(y, "%s: expected %s, without a folder, not '%s'", what, wants, ty_quote(q, text));
	strcpy(to, text);
	return 0;
}

static int read_operations(struct reader *r)
{
	char err[TY_ERR_MAX];
	const char *text;
	if (!ty_yaml_is_list(r->y)) {
		text = ty_yaml_text(r->y, "operations", OPERATIONS);
		if (!text)
			return -EINVAL;
		return add_operation(&r->r->rule, text, err) < 0 ? ty_yaml_fail(r->y, "operations: %s", err) : 0;
	}
	struct ty_yaml_place at = ty_yaml_here(r->y);
	int rc = ty_yaml_list(r->y, "operations");
	while (rc == 0 && (rc = ty_yaml_item(r->y, "operations", OPERATIONS, &text)) > 0)
		rc = add_operation(&r->r->rule, text, err) < 0 ? ty_yaml_fail(r->y, "operations: %s", err) : 0;
	if (rc == 0 && no_ops(&r->r->rule))
		return ty_yaml_fail_at(r->y, at, "operations: expected %s", OPERATIONS);
	return rc;
}

static int read_scalar(struct reader *r, unsigned key)
{
	static const char *const wants[RULE_KEYS] = {
		[ORDER] = "the name of an order", [THRESHOLD] = "0, a share such as 0.2, or auto",
		[SEED] = "a whole number",
	};
	char q[TY_QUOTE], err[TY_ERR_MAX];
	struct ty_order_rule *rule = &r->r->rule;
	const char *text = ty_yaml_text(r->y, rule_keys[key], wants[key]);
	if (!text)
		return -EINVAL;
	if (key == ORDER)
		return find_order(text, &rule->order, err) < 0 ? ty_yaml_fail(r->y, "order: %s", err) : 0;
	if (key == THRESHOLD ? parse_theta(text, &rule->theta) < 0 : ty_parse_number(text, &rule->seed) < 0)
		return ty_yaml_fail(r->y, "%s: expected %s, not '%s'", rule_keys[key], wants[key], ty_quote(q, text));
	return 0;
}

static int unknown_key(struct reader *r, const char *key)
{
	char q[TY_QUOTE];
	struct ty_nearest n = { key, NULL, SIZE_MAX };
	for (unsigned k = 0; k < RULE_KEYS; k++)
		ty_nearer(&n, rule_keys[k]);
	if (n.best)
		return ty_yaml_fail(r->y, "orders: unknown key '%s'; did you mean '%s'?", ty_quote(q, key), n.best);
	return ty_yaml_fail(r->y, "orders: unknown key '%s'; the keys are order, operations, path, module, object, "
				  "threshold, seed", ty_quote(q, key));
}

static int read_pair(void *arg, const char *text)
{
	struct reader *r = arg;
	unsigned k = 0;
	while (k < RULE_KEYS && strcmp(text, rule_keys[k]) != 0)
		k++;
	if (k == RULE_KEYS)
		return unknown_key(r, text);
	if (r->seen & 1u << k)
		return ty_yaml_fail(r->y, "%s: given twice", rule_keys[k]);
	r->seen |= 1u << k;
	int rc = ty_yaml_next(r->y);
	if (rc < 0)
		return rc;
	switch (k) {
	case WHICH:
		return read_operations(r);
	case PATH:
		return copy_glob(r->y, r->r->path, "path", "a pattern of a function's name");
	case MODULE:
		return copy_glob(r->y, r->r->module, "module", "a pattern of a module's base name");
	case OBJECT:
		return copy_glob(r->y, r->r->object, "object", "a pattern of a variable's name");
	default:
		return read_scalar(r, k);
	}
}

/* One item of the list. */
static int read_rule(struct ty_order_settings *o, struct ty_yaml *y)
{
	char err[TY_ERR_MAX];
	struct ty_yaml_place at = ty_yaml_here(y);
	struct reader r = { .y = y, .r = new_rule(o, err) };
	if (!r.r)
		return ty_yaml_fail(y, "orders: %s", err);
	int rc = ty_yaml_mapping(y, "orders", read_pair, &r);
	if (rc < 0)
		return rc;
	if (!(r.seen & 1u << ORDER))
		return ty_yaml_fail_at(y, at, "orders: a rule without an order");
	if (r.r->rule.theta && r.r->rule.order == TY_ORDER_native)
		return ty_yaml_fail_at(y, at, "orders: native has no threshold");
	if (no_ops(&r.r->rule))
		set_all(&r.r->rule);
	r.r->rule.by_path = r.r->path[0] || r.r->module[0];
	r.r->rule.by_object = r.r->object[0] != 0;
	return 0;
}

int ty_orders_read(struct ty_order_settings *o, struct ty_yaml *y)
{
	o->rules = 0;
	int rc = ty_yaml_list(y, "orders");
	while (rc == 0) {
		rc = ty_yaml_next(y);
		if (rc < 0 || ty_yaml_is_list_end(y))
			break;
		rc = read_rule(o, y);
	}
	return rc;
}

int ty_orders_read_idle(struct ty_order_settings *o, struct ty_yaml *y)
{
	o->idles = 0;
	int rc = ty_yaml_list(y, "order_idle");
	while (rc == 0) {
		rc = ty_yaml_next(y);
		if (rc < 0 || ty_yaml_is_list_end(y))
			break;
		if (o->idles == TY_ORDER_IDLES)
			return ty_yaml_fail(y, "order_idle: too many, at most %u", TY_ORDER_IDLES);
		rc = copy_glob(y, o->idle[o->idles], "order_idle", "a pattern of a function's name");
		o->idles += rc == 0;
	}
	return rc;
}

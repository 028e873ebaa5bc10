/* SPDX-License-Identifier: MIT
 * Orders as people configure them: rules of YAML and of --order, before names are
 * looked up.  include/tarry/order.h is what becomes of them. */
#ifndef TY_ORDERS_H
#define TY_ORDERS_H

#include <stdbool.h>
#include "common/yaml.h"
#include "tarry/order.h"

#define TY_ORDER_RULES (TY_RULES - 1u) /* the last is that of the idle sites */
#define TY_ORDER_GLOB 96u              /* bytes of a pattern with its NUL */
#define TY_ORDER_IDLES 8u
_Static_assert(TY_ORDER_RULES == 15, "configs/default.yaml says so");

struct ty_order_pattern {
	struct ty_order_rule rule;
	char path[TY_ORDER_GLOB];   /* of a function in the call path; "": any */
	char module[TY_ORDER_GLOB]; /* of the base name of the module it is in; "": any */
	char object[TY_ORDER_GLOB]; /* of a variable; "": any object */
};

struct ty_order_settings {
	uint32_t rules, idles;
	struct ty_order_pattern rule[TY_ORDER_RULES];
	char idle[TY_ORDER_IDLES][TY_ORDER_GLOB]; /* functions in the paths of idle sites */
	uint32_t age;      /* enum ty_age */
	uint32_t sync;     /* enum ty_sync */
	uint64_t bound_ns, sync_ns;
	bool unsafe;
};

void ty_orders_default(struct ty_order_settings *o);
/* One rule more, as --order has it: "NAME" or "NAME:operation,...". */
int ty_orders_add(struct ty_order_settings *o, const char *text, char *err);
/* The values of the keys `orders` and `order_idle`, whose begin is the current event. */
int ty_orders_read(struct ty_order_settings *o, struct ty_yaml *y);
int ty_orders_read_idle(struct ty_order_settings *o, struct ty_yaml *y);

/* Names of enum ty_order, ty_age and ty_sync; NULL after the last. */
const char *ty_order_name(uint32_t order);
const char *ty_age_name(uint32_t age);
const char *ty_sync_name(uint32_t sync);
/* The wrapped functions by TY_OP, and the classes that an order may be put on. */
struct ty_order_op {
	const char *name;
	enum ty_class cls;
};
#define TY_ORDER_CLASSES 3u
extern const struct ty_order_op ty_order_ops[TY_OP_FUNCTIONS], ty_order_classes[TY_ORDER_CLASSES];
/* Is the operation one that an order can be put on? */
bool ty_order_can(uint32_t op);
/* What a rule is limited to, ", path lock_wait*, module libx*"; "": nothing. */
#define TY_ORDER_WHERE (3 * (TY_ORDER_GLOB + sizeof ", module "))
const char *ty_order_where(const struct ty_order_pattern *r, char buf[TY_ORDER_WHERE]);
/* A rule as people would say it, "eldest, path lock_wait*". */
const char *ty_order_words(const struct ty_order_pattern *r, char *buf, size_t size);
/* In force at all: some rule with an order, or a policy for fsync. */
bool ty_orders_any(const struct ty_order_settings *o);
/* What has to be said before a program is started so; false: nothing. */
bool ty_orders_warning(const struct ty_order_settings *o, char *err);

#endif

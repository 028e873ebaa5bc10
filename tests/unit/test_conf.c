/* SPDX-License-Identifier: MIT
 * Description: configuration files: every key of the table is documented in
 * configs/default.yaml and has its default there, all presets parse, and every
 * kind of mistake is refused with its place and leaves the settings alone. */
#include <CUnit/Basic.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/conf.h"

static char err[TY_ERR_MAX];

static int parse(struct ty_settings *s, const char *text)
{
	err[0] = 0;
	return ty_settings_parse(s, "f.yaml", text, strlen(text), err);
}

static void check_equal(const struct ty_settings *a, const struct ty_settings *b)
{
#define SAME(f) CU_ASSERT_EQUAL(a->f, b->f)
	SAME(min_path_ns);
	SAME(self_check);
	SAME(depth);
	SAME(arena_bytes);
	SAME(class_mask);
	SAME(children);
	SAME(paused);
	SAME(capture_bytes);
	SAME(max_size);
	SAME(keep_ns);
	SAME(drain_ns);
	SAME(sync_ns);
	SAME(symbols);
	SAME(debuginfod);
	SAME(orders.rules);
	SAME(orders.idles);
	SAME(orders.age);
	SAME(orders.bound_ns);
	SAME(orders.sync);
	SAME(orders.sync_ns);
	SAME(orders.unsafe);
#undef SAME
	CU_ASSERT_STRING_EQUAL(a->only, b->only);
	CU_ASSERT_STRING_EQUAL(a->protocol, b->protocol);
	CU_ASSERT_STRING_EQUAL(a->requests, b->requests);
}

static const char all_other[] = "min_path: 7us\nself_check: 1/16\nmax_depth: 9\narena: 32M\n"
				"operations: [mutex, cond]\nchildren: false\nonly: mariadbd\npaused: true\n"
				"max_size: 1G\nkeep: 30s\ndrain: 5ms\nsync: 1s\nsymbols: false\n"
				"debuginfod: true\ncapture_bytes: 24\nprotocol: mysql\nrequests: 'site:pop'\n"
				"orders: [{order: eldest}]\norder_age: idle\norder_idle: ['take*']\n"
				"order_bound: 1s\nfsync: lazy_flush\nfsync_interval: 2s\nunsafe: true\n";

static void test_all_keys(void)
{
	struct ty_settings s;
	ty_settings_default(&s);
	CU_ASSERT_EQUAL_FATAL(parse(&s, all_other), 0);
	CU_ASSERT_EQUAL(s.min_path_ns, 7000);
	CU_ASSERT_EQUAL(s.self_check, 16);
	CU_ASSERT_EQUAL(s.depth, 9);
	CU_ASSERT_EQUAL(s.arena_bytes, 32u << 20);
	CU_ASSERT_EQUAL(s.class_mask, 1ull << TY_CLASS_MUTEX | 1ull << TY_CLASS_COND);
	CU_ASSERT_FALSE(s.children);
	CU_ASSERT_STRING_EQUAL(s.only, "mariadbd");
	CU_ASSERT_TRUE(s.paused);
	CU_ASSERT_EQUAL(s.capture_bytes, 24);
	CU_ASSERT_STRING_EQUAL(s.protocol, "mysql");
	CU_ASSERT_EQUAL(s.max_size, 1u << 30);
	CU_ASSERT_EQUAL(s.keep_ns, 30000000000u);
	CU_ASSERT_EQUAL(s.drain_ns, 5000000);
	CU_ASSERT_EQUAL(s.sync_ns, 1000000000);
	CU_ASSERT_FALSE(s.symbols);
	CU_ASSERT_TRUE(s.debuginfod);
	CU_ASSERT_STRING_EQUAL(s.requests, "site:pop");
	CU_ASSERT_EQUAL(s.orders.rules, 1);
	CU_ASSERT_EQUAL(s.orders.age, TY_AGE_IDLE);
	CU_ASSERT_EQUAL(s.orders.idles, 1);
	CU_ASSERT_STRING_EQUAL(s.orders.idle[0], "take*");
	CU_ASSERT_EQUAL(s.orders.bound_ns, 1000000000);
	CU_ASSERT_EQUAL(s.orders.sync, TY_SYNC_LAZY_FLUSH);
	CU_ASSERT_EQUAL(s.orders.sync_ns, 2000000000);
	CU_ASSERT_TRUE(s.orders.unsafe);
	CU_ASSERT_STRING_EQUAL(s.text, all_other);
	ty_settings_free(&s);
	CU_ASSERT_PTR_NULL(s.text);
}

/* Over settings that all differ, default.yaml gives the defaults: it sets every
 * key, to the right value.  And it names no key that the table does not have. */
static void test_default_yaml(void)
{
	struct ty_settings s, d;
	ty_settings_default(&s);
	ty_settings_default(&d);
	CU_ASSERT_EQUAL_FATAL(parse(&s, all_other), 0);
	int rc = ty_settings_read(&s, "configs/default.yaml", err);
	if (rc < 0)
		printf("%s\n", err);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
	check_equal(&s, &d);

	const char *key;
	for (size_t i = 0; (key = ty_settings_key(i, NULL)); i++) {
		char line[80], other[80];
		snprintf(line, sizeof line, "\n%s: ", key);
		snprintf(other, sizeof other, "%s: ", key);
		const char *at = strstr(s.text, line);
		CU_ASSERT_PTR_NOT_NULL_FATAL(at);
		CU_ASSERT_PTR_NOT_NULL(strstr(all_other, other)); /* so the test above covers a new key too */
		while (at > s.text && at[-1] != '\n') /* the line before is a comment */
			at--;
		CU_ASSERT_EQUAL(*at, '#');
	}
	ty_settings_free(&s);
}

static void test_presets(void)
{
	glob_t g;
	CU_ASSERT_EQUAL_FATAL(glob("configs/*.yaml", 0, NULL, &g), 0);
	CU_ASSERT(g.gl_pathc >= 9);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct ty_settings s;
		ty_settings_default(&s);
		int rc = ty_settings_read(&s, g.gl_pathv[i], err);
		if (rc < 0)
			printf("%s\n", err);
		CU_ASSERT_EQUAL(rc, 0);
		ty_settings_free(&s);
	}
	globfree(&g);
}

static void test_refused(void)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "min_p: 10us\n", "f.yaml:1:1: unknown key 'min_p'; did you mean 'min_path'?" },
		{ "min_pth: 10us\n", "f.yaml:1:1: unknown key 'min_pth'; did you mean 'min_path'?" },
		{ "paused: true\n\n  \nkeeep: 1s\n",
		  "f.yaml:4:1: unknown key 'keeep'; did you mean 'keep'?" },
		{ "zzzzzzzzzz: 1\n",
		  "f.yaml:1:1: unknown key 'zzzzzzzzzz'; the keys are min_path, self_check, " },
		{ "\"a\\nb\\e\": 1\n", "f.yaml:1:1: unknown key 'a?b?'; the keys" },
		{ "min_path: ten\n",
		  "f.yaml:1:11: min_path: expected a time such as 10us, 2ms, 1s, 5m or 0, not 'ten'" },
		{ "min_path: 10\n", "f.yaml:1:11: min_path: expected a time" },
		{ "min_path: -1us\n", "f.yaml:1:11: min_path: expected a time" },
		{ "min_path: 1.5us\n", "f.yaml:1:11: min_path: expected a time" },
		{ "min_path: 18446744073709551616ns\n", "f.yaml:1:11: min_path: expected a time" },
		{ "min_path: 6000000h\n", "f.yaml:1:11: min_path: expected a time" },
		{ "min_path: 2h\n",
		  "f.yaml:1:11: min_path: '2h' is out of range, expected 0 to 1h (IO calls" },
		{ "min_path:\n",
		  "f.yaml:1:10: min_path: expected a time such as 10us, 2ms, 1s, 5m or 0, not nothing" },
		{ "min_path: [1us]\n",
		  "f.yaml:1:11: min_path: expected a time such as 10us, 2ms, 1s, 5m or 0, not a list" },
		{ "min_path: {a: 1}\n",
		  "f.yaml:1:11: min_path: expected a time such as 10us, 2ms, 1s, 5m or 0, not a mapping" },
		{ "self_check: 1/0\n",
		  "f.yaml:1:13: self_check: expected off or 1/N, such as 1/16, not '1/0'" },
		{ "self_check: 2/3\n", "f.yaml:1:13: self_check: expected off or 1/N" },
		{ "max_depth: 0\n", "f.yaml:1:12: max_depth: '0' is out of range, expected 1 to 128" },
		{ "max_depth: 129\n", "f.yaml:1:12: max_depth: '129' is out of range" },
		{ "max_depth: 4294967297\n", "f.yaml:1:12: max_depth: '4294967297' is out of range" },
		{ "max_depth: 12 frames\n",
		  "f.yaml:1:12: max_depth: expected a whole number, not '12 frames'" },
		{ "arena: 0\n", "f.yaml:1:8: arena: '0' is out of range, expected 16M to 1G" },
		{ "arena: 64MB\n", "f.yaml:1:8: arena: expected a size such as" },
		{ "keep: 10ms\n",
		  "f.yaml:1:7: keep: '10ms' is out of range, expected 0 (all) or at least 1s" },
		{ "drain: 0\n", "f.yaml:1:8: drain: '0' is out of range, expected 100us to 1s" },
		{ "children: yes\n", "f.yaml:1:11: children: expected true or false, not 'yes'" },
		{ "operations: mutx\n",
		  "f.yaml:1:13: operations: unknown class 'mutx'; did you mean 'mutex'?" },
		{ "operations: [mutex,\n  -polll]\n",
		  "f.yaml:2:3: operations: unknown class 'polll'; did you mean 'poll'?" },
		{ "operations: []\n", "f.yaml:1:14: operations: nothing is left to record" },
		{ "operations: -all\n", "f.yaml:1:13: operations: nothing is left to record" },
		{ "operations: [mutex, [cond]]\n",
		  "f.yaml:1:21: operations: expected the name of a class, not a list" },
		{ "only: /usr/bin/x\n", "f.yaml:1:7: only: expected the base name of an executable" },
		{ "only: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
		  "f.yaml:1:7: only: " },
		{ "requests: sockets\n",
		  "f.yaml:1:11: requests: expected auto, socket, transaction, marker, none or site:TEXT" },
		{ "capture_bytes: 33\n", "f.yaml:1:16: capture_bytes: '33' is out of range, expected 0 to 32" },
		{ "protocol: oracle\n", "f.yaml:1:11: protocol: expected auto, mysql, postgresql, redis, memcached or http" },
		{ "requests: 'site:'\n", "f.yaml:1:11: requests: expected auto" },
		{ "requests: \"site:a\\0b\"\n", "f.yaml:1:11: requests: NUL byte" },
		{ "orders: eldest\n", "f.yaml:1:9: orders: expected a list" },
		{ "orders: [eldest]\n", "f.yaml:1:10: expected lines of 'key: value'" },
		{ "orders:\n  - order: eldst\n", "f.yaml:2:12: order: unknown order 'eldst'; did you mean 'eldest'?" },
		{ "orders: [{order: vats}]\n", "f.yaml:1:18: order: unknown order 'vats'; the orders are native, fcfs, eldest, " },
		{ "orders: [{order: [eldest]}]\n", "f.yaml:1:18: order: expected the name of an order, not a list" },
		{ "orders: [{operations: cond}]\n", "f.yaml:1:10: orders: a rule without an order" },
		{ "orders: [{order: fcfs, order: fcfs}]\n", "f.yaml:1:24: order: given twice" },
		{ "orders: [{order: fcfs, pth: x}]\n", "f.yaml:1:24: orders: unknown key 'pth'; did you mean 'path'?" },
		{ "orders: [{order: fcfs, zzzzzz: x}]\n", "f.yaml:1:24: orders: unknown key 'zzzzzz'; the keys are order," },
		{ "orders: [{order: fcfs, operations: []}]\n",
		  "f.yaml:1:36: operations: expected cond, mutex, rwlock or one of their waiting functions" },
		{ "orders: [{order: fcfs, operations: [cond, read]}]\n", "f.yaml:1:43: operations: no order for 'read', only for" },
		{ "orders: [{order: fcfs, operations: pthread_mutex_trylock}]\n",
		  "f.yaml:1:36: operations: no order for 'pthread_mutex_trylock'; did you mean 'pthread_mutex_lock'?" },
		{ "orders: [{order: fcfs, path: ''}]\n", "f.yaml:1:30: path: expected a pattern of a function's name" },
		{ "orders: [{order: fcfs, module: /lib/x.so}]\n",
		  "f.yaml:1:32: module: expected a pattern of a module's base name, without a folder, not '/lib/x.so'" },
		{ "orders: [{order: fcfs, threshold: 2}]\n",
		  "f.yaml:1:35: threshold: expected 0, a share such as 0.2, or auto, not '2'" },
		{ "orders: [{order: fcfs, threshold: 1.001}]\n", "f.yaml:1:35: threshold: expected 0" },
		{ "orders: [{order: fcfs, threshold: 0.2345}]\n", "f.yaml:1:35: threshold: expected 0" },
		{ "orders: [{order: fcfs, threshold: 0.}]\n", "f.yaml:1:35: threshold: expected 0" },
		{ "orders: [{order: native, threshold: auto}]\n", "f.yaml:1:10: orders: native has no threshold" },
		{ "orders: [{order: random, seed: -1}]\n", "f.yaml:1:32: seed: expected a whole number, not '-1'" },
		{ "orders: [{order: fcfs},{order: fcfs},{order: fcfs},{order: fcfs},{order: fcfs},{order: fcfs},{order: fcfs},"
		  "{order: fcfs},{order: fcfs},{order: fcfs},{order: fcfs},{order: fcfs},{order: fcfs},{order: fcfs},"
		  "{order: fcfs},\n {order: fcfs}]\n", "f.yaml:2:2: orders: too many rules, at most 15" },
		{ "order_age: old\n", "f.yaml:1:12: order_age: expected request, marker or idle, not 'old'" },
		{ "order_age: idle\n", "f.yaml:1:12: order_age: idle needs the sites in order_idle" },
		{ "order_idle: [get]\n", "f.yaml:1:13: order_idle: needs `order_age: idle`" },
		{ "order_idle: [a,b,c,d,e,f,g,h,i]\norder_age: idle\n", "f.yaml:1:30: order_idle: too many, at most 8" },
		{ "order_bound: 0\n", "f.yaml:1:14: order_bound: '0' is out of range, expected 1ms to 10s" },
		{ "fsync: lazy\n", "f.yaml:1:8: fsync: expected native, coalesce or lazy_flush, not 'lazy'" },
		{ "fsync: lazy_flush\n", "f.yaml:1:8: fsync: lazy_flush loses data at a power failure" },
		{ "unsafe: false\nfsync: lazy_flush\n", "f.yaml:2:8: fsync: lazy_flush loses data at a power failure" },
		{ "fsync_interval: 0\n", "f.yaml:1:17: fsync_interval: '0' is out of range, expected 1ms to 1h" },
		{ "keep: 1s\nkeep: 2s\n", "f.yaml:2:1: keep: given twice" },
		{ "keep: &a 1s\n", "f.yaml:1:7: keep: anchors and tags are not allowed" },
		{ "keep: !!str 1s\n", "f.yaml:1:7: keep: anchors and tags are not allowed" },
		{ "keep: *a\n", "f.yaml:1:7: keep: aliases are not allowed" },
		{ "*a : 1s\n", "f.yaml:1:1: configuration: aliases are not allowed" },
		{ "&a\nkeep: 1s\n", "f.yaml:1:1: anchors and tags are not allowed" },
		{ "operations: &a [mutex]\n", "f.yaml:1:13: operations: anchors and tags are not allowed" },
		{ "<<: {keep: 1s}\n", "f.yaml:1:1: unknown key '<<'; the keys are" },
		{ "[keep]: 1s\n", "f.yaml:1:1: configuration: expected a key, not a list" },
		{ "? [keep]\n: 1s\n", "f.yaml:1:3: configuration: expected a key, not a list" },
		{ "- keep\n", "f.yaml:1:1: expected lines of 'key: value'" },
		{ "hello\n", "f.yaml:1:1: expected lines of 'key: value'" },
		{ "keep: 1s\n---\nkeep: 2s\n", "f.yaml:2:1: a second document" },
		{ "keep: 1s\n\tx: 1\n", "f.yaml:2:1: not YAML: " },
		{ "keep: 'abc\n", "f.yaml:2:1: not YAML: found unexpected end of stream" },
		{ "keep: 1s\n\x01\n", "f.yaml:2:1: not YAML: " },
		{ "\xff\xfe\n", "f.yaml:1:1: not YAML: " },
	};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct ty_settings s, before;
		ty_settings_default(&s);
		s.text = (char *)"old"; /* kept, too, when the file is refused */
		memcpy(&before, &s, sizeof s);
		int rc = parse(&s, bad[i].text);
		if (rc != -EINVAL || strncmp(err, bad[i].says, strlen(bad[i].says)) != 0)
			printf("\n%s\n  says %d: %s\n  not  %s\n", bad[i].text, rc, err, bad[i].says);
		CU_ASSERT_EQUAL(rc, -EINVAL);
		CU_ASSERT_EQUAL(strncmp(err, bad[i].says, strlen(bad[i].says)), 0);
		CU_ASSERT_PTR_NULL(strchr(err, '\n'));
		CU_ASSERT_EQUAL(memcmp(&s, &before, sizeof s), 0);
	}
}

static void test_accepted(void)
{
	static const char *const good[] = {
		"", "# only a comment\n", "---\n", "{}\n", "--- {keep: 1s}\n...\n", "\"keep\": \"1s\"\n", "only: ''\n",
	};
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		struct ty_settings s;
		ty_settings_default(&s);
		CU_ASSERT_EQUAL(parse(&s, good[i]), 0);
		ty_settings_free(&s);
	}
	/* No terminating NUL is read, and settings may be merged from several files. */
	struct ty_settings s;
	ty_settings_default(&s);
	CU_ASSERT_EQUAL(ty_settings_parse(&s, "f", "keep: 3sXXXX", 8, err), 0);
	CU_ASSERT_EQUAL(parse(&s, "paused: true"), 0);
	CU_ASSERT_EQUAL(s.keep_ns, 3000000000u);
	CU_ASSERT_TRUE(s.paused);
	ty_settings_free(&s);
}

static void test_classes(void)
{
	uint64_t all = (1ull << TY_CLASS_COUNT) - 1;
	const struct {
		const char *text;
		uint64_t mask;
	} t[] = {
		{ "operations: all", all },
		{ "operations: sync", 1ull << TY_CLASS_SYNC },
		{ "operations: [-poll, -sleep]", all & ~(1ull << TY_CLASS_POLL | 1ull << TY_CLASS_SLEEP) },
		{ "operations: -poll", all & ~(1ull << TY_CLASS_POLL) },
		{ "operations:\n- sync\n- futex\n", 1ull << TY_CLASS_SYNC | 1ull << TY_CLASS_FUTEX },
		{ "operations: [all, -aio, aio]", all },
	};
	for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct ty_settings s;
		ty_settings_default(&s);
		CU_ASSERT_EQUAL(parse(&s, t[i].text), 0);
		CU_ASSERT_EQUAL(s.class_mask, t[i].mask);
		ty_settings_free(&s);
	}
}

static bool has(const struct ty_order_pattern *r, enum ty_op op)
{
	return r->rule.ops[op / 64] >> op % 64 & 1;
}

static void test_orders(void)
{
	struct ty_settings s;
	ty_settings_default(&s);
	CU_ASSERT_FALSE(ty_orders_any(&s.orders));
	CU_ASSERT_EQUAL_FATAL(parse(&s, "orders:\n"
					"  - order: eldest\n    path: 'lock_*'\n    module: 'libx*'\n    operations: cond\n"
					"  - {order: random, seed: 7, threshold: 0.25, object: big}\n"
					"  - {order: native, operations: [mutex, cnd_wait]}\n"
					"  - {order: fcfs, threshold: auto}\n  - {order: fcfs, threshold: 1}\n"), 0);
	const struct ty_order_pattern *r = s.orders.rule;
	char words[300];
	CU_ASSERT_EQUAL(s.orders.rules, 5);
	CU_ASSERT(r[0].rule.order == TY_ORDER_eldest && r[0].rule.by_path && !r[0].rule.by_object);
	CU_ASSERT(has(&r[0], TY_OP_pthread_cond_wait) && has(&r[0], TY_OP_cnd_timedwait));
	CU_ASSERT(!has(&r[0], TY_OP_pthread_mutex_lock) && !has(&r[0], TY_OP_pthread_cond_signal));
	CU_ASSERT_STRING_EQUAL(ty_order_words(&r[0], words, sizeof words), "eldest, path lock_*, module libx*");
	CU_ASSERT(r[1].rule.seed == 7 && r[1].rule.theta == 250 && r[1].rule.by_object && !r[1].rule.by_path);
	CU_ASSERT(has(&r[1], TY_OP_pthread_cond_wait) && has(&r[1], TY_OP_pthread_rwlock_clockwrlock));
	CU_ASSERT(!has(&r[1], TY_OP_pthread_mutex_trylock) && !has(&r[1], TY_OP_pthread_mutex_unlock));
	CU_ASSERT(has(&r[2], TY_OP_mtx_lock) && has(&r[2], TY_OP_cnd_wait) && !has(&r[2], TY_OP_cnd_timedwait));
	CU_ASSERT(r[3].rule.theta == TY_THETA_AUTO && r[4].rule.theta == 1000);
	CU_ASSERT(ty_orders_any(&s.orders));
	CU_ASSERT_FALSE(ty_orders_warning(&s.orders, err));
	/* what follows replaces the list */
	CU_ASSERT_EQUAL(parse(&s, "orders: [{order: native}]"), 0);
	CU_ASSERT_FALSE(ty_orders_any(&s.orders));
	CU_ASSERT_EQUAL(parse(&s, "fsync: lazy_flush\nunsafe: true"), 0);
	CU_ASSERT(ty_orders_any(&s.orders) && ty_orders_warning(&s.orders, err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err, "lazy_flush"));
	CU_ASSERT_EQUAL(parse(&s, "fsync: coalesce\nunsafe: false"), 0);
	CU_ASSERT(ty_orders_any(&s.orders) && !ty_orders_warning(&s.orders, err));
	ty_settings_free(&s);
}

/* --order NAME[:operation,...] */
static void test_order_option(void)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "unknown order ''; the orders are" },
		{ "Eldest ", "unknown order 'Eldest '; did you mean 'eldest'?" },
		{ "eldest:", "which operations?" },
		{ "eldest:cond,mutx", "no order for 'mutx'; did you mean 'mutex'?" },
	};
	struct ty_order_settings o;
	ty_orders_default(&o);
	CU_ASSERT_EQUAL(ty_orders_add(&o, "youngest:cond,pthread_mutex_lock", err), 0);
	CU_ASSERT_EQUAL(ty_orders_add(&o, "largest", err), 0);
	CU_ASSERT(o.rules == 2 && o.rule[0].rule.order == TY_ORDER_youngest && o.rule[1].rule.order == TY_ORDER_largest);
	CU_ASSERT(has(&o.rule[0], TY_OP_pthread_mutex_lock) && !has(&o.rule[0], TY_OP_pthread_mutex_timedlock));
	CU_ASSERT(has(&o.rule[1], TY_OP_pthread_mutex_timedlock) && has(&o.rule[1], TY_OP_pthread_rwlock_rdlock));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		CU_ASSERT_EQUAL(ty_orders_add(&o, bad[i].text, err), -EINVAL);
		CU_ASSERT_EQUAL(strncmp(err, bad[i].says, strlen(bad[i].says)), 0);
	}
	while (o.rules < TY_ORDER_RULES)
		CU_ASSERT_EQUAL_FATAL(ty_orders_add(&o, "fcfs", err), 0);
	CU_ASSERT_EQUAL(ty_orders_add(&o, "fcfs", err), -E2BIG);
	CU_ASSERT_STRING_EQUAL(err, "too many rules, at most 15");
}

static void test_units(void)
{
	uint64_t v = 77;
	CU_ASSERT_EQUAL(ty_parse_time("0", &v), 0);
	CU_ASSERT_EQUAL(v, 0);
	CU_ASSERT(ty_parse_time("10us", &v) == 0 && v == 10000);
	CU_ASSERT(ty_parse_time("2ms", &v) == 0 && v == 2000000);
	CU_ASSERT(ty_parse_time("5m", &v) == 0 && v == 300000000000);
	CU_ASSERT(ty_parse_time("18446744073709551615ns", &v) == 0 && v == UINT64_MAX);
	CU_ASSERT(ty_parse_size("4096", &v) == 0 && v == 4096);
	CU_ASSERT(ty_parse_size("64M", &v) == 0 && v == 64u << 20);
	v = 77;
	static const char *const bad[] = { "", " 1s", "1 s", "+1s", "1", "s", "1x", "0x10s", "18446744073709551616ns" };
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		CU_ASSERT_EQUAL(ty_parse_time(bad[i], &v), -EINVAL);
	CU_ASSERT_EQUAL(ty_parse_size("17179869184G", &v), -EINVAL);
	CU_ASSERT_EQUAL(ty_parse_size("-1", &v), -EINVAL);
	CU_ASSERT_EQUAL(v, 77);
}

static void test_files(void)
{
	struct ty_settings s;
	ty_settings_default(&s);
	CU_ASSERT_EQUAL(ty_settings_read(&s, "/nonexistent/x.yaml", err), -ENOENT);
	CU_ASSERT_STRING_EQUAL(err, "/nonexistent/x.yaml: No such file or directory");
	CU_ASSERT_EQUAL(ty_settings_read(&s, "/", err), -EISDIR);
	CU_ASSERT_EQUAL(ty_settings_read(&s, "/dev/zero", err), -EFBIG);
	CU_ASSERT_STRING_EQUAL(err, "/dev/zero: larger than 1 MiB, not a configuration");
	CU_ASSERT_EQUAL(ty_settings_read(&s, "/dev/null", err), 0);
	ty_settings_free(&s);

	/* 1 MiB is still read, one byte more is not. */
	char name[] = "/tmp/tarry-conf-XXXXXX";
	int fd = mkstemp(name);
	CU_ASSERT_FATAL(fd >= 0);
	FILE *f = fdopen(fd, "w");
	for (unsigned i = 0; i < 1u << 20; i++)
		fputc(i % 64 == 63 ? '\n' : '#', f);
	fflush(f);
	CU_ASSERT_EQUAL(ty_settings_read(&s, name, err), 0);
	fputc('\n', f);
	fclose(f);
	CU_ASSERT_EQUAL(ty_settings_read(&s, name, err), -EFBIG);
	unlink(name);
	ty_settings_free(&s);
}

int main(void)
{
	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	CU_pSuite s = CU_add_suite("conf", NULL, NULL);
	CU_add_test(s, "every key is read", test_all_keys);
	CU_add_test(s, "default.yaml", test_default_yaml);
	CU_add_test(s, "presets", test_presets);
	CU_add_test(s, "mistakes are refused", test_refused);
	CU_add_test(s, "what is accepted", test_accepted);
	CU_add_test(s, "classes", test_classes);
	CU_add_test(s, "orders", test_orders);
	CU_add_test(s, "--order", test_order_option);
	CU_add_test(s, "times and sizes", test_units);
	CU_add_test(s, "files", test_files);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	unsigned failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed ? 1 : 0;
}

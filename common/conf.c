/* SPDX-License-Identifier: MIT
 *
 * Configuration files.  Runs in recorder and readers, never in the traced
 * process.  One row per key in `keys`; configs/default.yaml documents the same
 * keys and a unit test compares both.
 *
 * A file is one flat YAML mapping without duplicate keys (common/yaml.h).  The
 * caller's settings change only when all of the file is good.
 */
#include "common/conf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/units.h"
#include "common/yaml.h"
#include "tarry/ops.h"

enum type { TIME, SIZE, NUMBER, RATIO, BOOL, CLASSES, NAME, PROTOCOL, RULE, ORDERS, IDLE, AGE, FSYNC };

static const char *const expected[] = {
	[TIME] = "a time such as 10us, 2ms, 1s, 5m or 0",
	[SIZE] = "a size such as 4096, 64K, 64M or 1G",
	[NUMBER] = "a whole number",
	[RATIO] = "off or 1/N, such as 1/16",
	[BOOL] = "true or false",
	[CLASSES] = "all or a list of classes of operations, such as [mutex, cond, -poll]",
	[NAME] = "the base name of an executable, at most 63 bytes",
	[PROTOCOL] = "auto, mysql, postgresql, redis, memcached or http",
	[RULE] = "auto, socket, transaction, marker, none or site:TEXT",
	[ORDERS] = "a list of rules",
	[IDLE] = "a list of patterns",
	[AGE] = "request, marker or idle",
	[FSYNC] = "native, coalesce or lazy_flush",
};

struct key {
	const char *name;
	enum type type;
	size_t offset;
	uint64_t min, max; /* of TIME, SIZE, NUMBER, RATIO; 0 is allowed too where `range` says so */
	const char *range; /* the same for people */
	const char *doc;
};

#define MS 1000000ull
#define SEC (1000 * MS)
#define MIB (1ull << 20)
#define AT(field) offsetof(struct ty_settings, field)

static const struct key keys[] = {
	{ "min_path", TIME, AT(min_path_ns), 0, 3600 * SEC, "0 to 1h", "IO calls shorter than this get no call path" },
	{ "self_check", RATIO, AT(self_check), 0, 1u << 30, "off or 1/1 to 1/1073741824",
	  "compare one call path in N with libunwind's" },
	{ "max_depth", NUMBER, AT(depth), 1, TY_FRAMES_MAX, "1 to 128", "frames of a call path at most" },
	{ "arena", SIZE, AT(arena_bytes), 16 * MIB, 1024 * MIB, "16M to 1G", "address space shared with each process" },
	{ "operations", CLASSES, AT(class_mask), 0, 0, "", "classes of operations to record" },
	{ "children", BOOL, AT(children), 0, 0, "", "record child processes too" },
	{ "only", NAME, AT(only), 0, 0, "", "record only processes of this executable" },
	{ "capture_bytes", NUMBER, AT(capture_bytes), 0, TY_BYTES_MAX, "0 to 32",
	  "bytes of each receive to tell classes of requests by" },
	{ "protocol", PROTOCOL, AT(protocol), 0, 0, "", "what the captured bytes are" },
	{ "paused", BOOL, AT(paused), 0, 0, "", "start switched off" },
	{ "max_size", SIZE, AT(max_size), MIB, UINT64_MAX, "0 (no bound) or at least 1M", "bound of the store" },
	{ "keep", TIME, AT(keep_ns), SEC, UINT64_MAX, "0 (all) or at least 1s", "keep only the last so much time" },
	{ "drain", TIME, AT(drain_ns), MS / 10, SEC, "100us to 1s", "how often the rings are emptied" },
	{ "sync", TIME, AT(sync_ns), SEC / 10, 3600 * SEC, "100ms to 1h", "how often the store is flushed to disk" },
	{ "symbols", BOOL, AT(symbols), 0, 0, "", "store names and lines of all seen addresses" },
	{ "debuginfod", BOOL, AT(debuginfod), 0, 0, "", "ask the servers of DEBUGINFOD_URLS" },
	{ "orders", ORDERS, AT(orders), 0, 0, "", "in which order waiters are granted" },
	{ "order_age", AGE, AT(orders.age), 0, 0, "", "what the age of a waiter is" },
	{ "order_idle", IDLE, AT(orders), 0, 0, "", "waits at which a thread has no request" },
	{ "order_bound", TIME, AT(orders.bound_ns), MS, 10 * SEC, "1ms to 10s", "a queued waiter looks for itself so often" },
	{ "fsync", FSYNC, AT(orders.sync), 0, 0, "", "what becomes of fsync and fdatasync" },
	{ "fsync_interval", TIME, AT(orders.sync_ns), MS, 3600 * SEC, "1ms to 1h", "how old what lazy_flush promised may become" },
	{ "unsafe", BOOL, AT(orders.unsafe), 0, 0, "", "allow what may lose data" },
	{ "requests", RULE, AT(requests), 0, 0, "", "what one request is" },
};
#define KEYS (sizeof keys / sizeof keys[0])

static const char *const class_names[] = {
#define TY_CLASS(id, name, what) [TY_CLASS_##id] = name,
#include "tarry/wrap.def"
};
_Static_assert(TY_FRAMES_MAX == 128, "the range of max_depth says so");
_Static_assert(TY_BYTES_MAX == 32, "the range of capture_bytes says so");
_Static_assert(TY_CLASS_COUNT < 64, "a class is a bit of class_mask");
#define ALL_CLASSES ((1ull << TY_CLASS_COUNT) - 1)

const char *ty_settings_key(size_t i, const char **doc)
{
	if (i >= KEYS)
		return NULL;
	if (doc)
		*doc = keys[i].doc;
	return keys[i].name;
}

void ty_settings_default(struct ty_settings *s)
{
	memset(s, 0, sizeof *s);
	s->min_path_ns = MS / 100;
	s->depth = TY_FRAMES_MAX;
	s->arena_bytes = 64 * MIB;
	s->class_mask = ALL_CLASSES;
	s->children = true;
	s->drain_ns = 2 * MS;
	s->sync_ns = 10 * SEC;
	s->symbols = true;
	ty_orders_default(&s->orders);
	strcpy(s->protocol, "auto");
	strcpy(s->requests, "auto");
}

void ty_settings_free(struct ty_settings *s)
{
	free(s->text);
	s->text = NULL;
}

/* ---- setting ---- */

static bool among(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return false;
}

static bool rule_known(const char *text)
{
	static const char *const words[] = { "auto", "socket", "transaction", "marker", "none" };
	return among(text, words, sizeof words / sizeof words[0]) || (strncmp(text, "site:", 5) == 0 && text[5]);
}

static bool protocol_known(const char *text)
{
	static const char *const words[] = { "auto", "mysql", "postgresql", "redis", "memcached", "http" };
	return among(text, words, sizeof words / sizeof words[0]);
}

/* The number of a word among those that `name` gives, into *to. */
static int take_word(uint32_t *to, const char *text, const char *(*name)(uint32_t))
{
	for (uint32_t i = 0; name(i); i++)
		if (strcmp(text, name(i)) == 0) {
			*to = i;
			return 0;
		}
	return -EINVAL;
}

static int copy_text(char *to, size_t room, const char *text, bool good)
{
	if (!good || strlen(text) >= room)
		return -EINVAL;
	memset(to, 0, room);
	strcpy(to, text);
	return 0;
}

/* ---- the reader ---- */

struct reader {
	struct ty_yaml *yaml;
	struct ty_settings *s; /* a copy of the caller's */
	uint64_t seen;         /* bit per key */
	struct ty_yaml_place lazy, idle; /* where what needs another key stands; line 0: nowhere */
};
_Static_assert(KEYS <= 64, "a key is a bit of seen");

#define FAIL(r, ...) ty_yaml_fail((r)->yaml, __VA_ARGS__)

static int unknown_key(struct reader *r, const char *key)
{
	char q[TY_QUOTE];
	struct ty_nearest n = { key, NULL, SIZE_MAX };
	for (size_t i = 0; i < KEYS; i++)
		ty_nearer(&n, keys[i].name);
	if (n.best)
		return FAIL(r, "unknown key '%s'; did you mean '%s'?", ty_quote(q, key), n.best);
	char list[400] = "";
	for (size_t i = 0; i < KEYS; i++)
		strcat(strcat(list, i ? ", " : ""), keys[i].name);
	return FAIL(r, "unknown key '%s'; the keys are %s", ty_quote(q, key), list);
}

static int add_class(struct reader *r, const struct key *k, const char *text, bool first, uint64_t *mask)
{
	char q[TY_QUOTE];
	bool out = text[0] == '-';
	const char *name = text + out;
	uint64_t bits = strcmp(name, "all") == 0 ? ALL_CLASSES : 0;
	for (unsigned i = 0; i < TY_CLASS_COUNT; i++)
		if (strcmp(name, class_names[i]) == 0)
			bits = 1ull << i;
	if (!bits) {
		struct ty_nearest n = { name, NULL, SIZE_MAX };
		for (unsigned i = 0; i < TY_CLASS_COUNT; i++)
			ty_nearer(&n, class_names[i]);
		if (n.best)
			return FAIL(r, "%s: unknown class '%s'; did you mean '%s'?", k->name, ty_quote(q, name), n.best);
		return FAIL(r, "%s: unknown class '%s', expected %s", k->name, ty_quote(q, name), expected[CLASSES]);
	}
	if (first && out) /* a list that only takes out starts from all */
		*mask = ALL_CLASSES;
	*mask = out ? *mask & ~bits : *mask | bits;
	return 0;
}

static int set_classes(struct reader *r, const struct key *k, uint64_t mask)
{
	if (!mask)
		return FAIL(r, "%s: nothing is left to record, expected %s", k->name, expected[CLASSES]);
	*(uint64_t *)((char *)r->s + k->offset) = mask;
	return 0;
}

static int set_number(struct reader *r, const struct key *k, const char *text)
{
	char q[TY_QUOTE];
	uint64_t v = 0;
	int rc = k->type == TIME ? ty_parse_time(text, &v) :
		 k->type == SIZE ? ty_parse_size(text, &v) :
		 k->type == RATIO ? ty_parse_ratio(text, &v) :
		 ty_parse_number(text, &v);
	if (rc < 0)
		return FAIL(r, "%s: expected %s, not '%s' (%s)", k->name, expected[k->type], ty_quote(q, text), k->doc);
	bool off = v == 0 && k->range[0] == '0';
	if ((v < k->min || v > k->max) && !off)
		return FAIL(r, "%s: '%s' is out of range, expected %s (%s)", k->name, ty_quote(q, text), k->range, k->doc);
	char *field = (char *)r->s + k->offset;
	if (k->type == TIME || k->type == SIZE)
		*(uint64_t *)field = v;
	else
		*(uint32_t *)field = (uint32_t)v;
	return 0;
}

static int set_scalar(struct reader *r, const struct key *k, const char *text)
{
	char q[TY_QUOTE];
	char *field = (char *)r->s + k->offset;
	int rc = 0;
	uint64_t mask = 0;

	switch (k->type) {
	case TIME:
	case SIZE:
	case NUMBER:
	case RATIO:
		return set_number(r, k, text);
	case BOOL:
		if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
			rc = -EINVAL;
		else
			*(bool *)field = text[0] == 't';
		break;
	case CLASSES:
		rc = add_class(r, k, text, true, &mask);
		return rc < 0 ? rc : set_classes(r, k, mask);
	case NAME:
		rc = copy_text(field, sizeof r->s->only, text, !strchr(text, '/'));
		break;
	case PROTOCOL:
		rc = copy_text(field, sizeof r->s->protocol, text, protocol_known(text));
		break;
	case RULE:
		rc = copy_text(field, sizeof r->s->requests, text, rule_known(text));
		break;
	case AGE:
		rc = take_word(&r->s->orders.age, text, ty_age_name);
		r->idle = ty_yaml_here(r->yaml);
		break;
	case FSYNC:
		rc = take_word(&r->s->orders.sync, text, ty_sync_name);
		r->lazy = ty_yaml_here(r->yaml);
		break;
	case ORDERS:
	case IDLE: /* lists only */
		return -EINVAL;
	}
	if (rc < 0)
		return FAIL(r, "%s: expected %s, not '%s' (%s)", k->name, expected[k->type], ty_quote(q, text), k->doc);
	return 0;
}

static int read_classes(struct reader *r, const struct key *k)
{
	uint64_t mask = 0;
	const char *text;
	int rc = ty_yaml_list(r->yaml, k->name);
	for (bool first = true; rc == 0; first = false) {
		rc = ty_yaml_item(r->yaml, k->name, "the name of a class", &text);
		if (rc == 0)
			return set_classes(r, k, mask);
		if (rc > 0)
			rc = add_class(r, k, text, first, &mask);
	}
	return rc;
}

/* One key, which is the current event, and its value. */
static int read_pair(void *arg, const char *text)
{
	struct reader *r = arg;
	const struct key *k = NULL;
	for (size_t i = 0; i < KEYS; i++)
		if (strcmp(text, keys[i].name) == 0)
			k = &keys[i];
	if (!k)
		return unknown_key(r, text);
	uint64_t bit = 1ull << (k - keys);
	if (r->seen & bit)
		return FAIL(r, "%s: given twice", k->name);
	r->seen |= bit;

	int rc = ty_yaml_next(r->yaml);
	if (rc < 0)
		return rc;
	if (k->type == CLASSES && ty_yaml_is_list(r->yaml))
		return read_classes(r, k);
	if (k->type == ORDERS)
		return ty_orders_read(&r->s->orders, r->yaml);
	if (k->type == IDLE) {
		r->idle = ty_yaml_here(r->yaml);
		return ty_orders_read_idle(&r->s->orders, r->yaml);
	}
	text = ty_yaml_text(r->yaml, k->name, expected[k->type]);
	return text ? set_scalar(r, k, text) : -EINVAL;
}

/* Keys that need each other. */
static int check_together(struct reader *r)
{
	const struct ty_order_settings *o = &r->s->orders;
	if (r->lazy.line && o->sync == TY_SYNC_LAZY_FLUSH && !o->unsafe)
		return ty_yaml_fail_at(r->yaml, r->lazy, "fsync: %s loses data at a power failure that the program was told is "
				       "on disk; it needs `unsafe: true`", ty_sync_name(o->sync));
	if (r->idle.line && o->age == TY_AGE_IDLE && !o->idles)
		return ty_yaml_fail_at(r->yaml, r->idle, "order_age: idle needs the sites in order_idle");
	if (r->idle.line && o->age != TY_AGE_IDLE && o->idles)
		return ty_yaml_fail_at(r->yaml, r->idle, "order_idle: needs `order_age: idle`");
	return 0;
}

int ty_settings_parse(struct ty_settings *s, const char *name, const char *text, size_t len, char *err)
{
	struct ty_settings copy;
	struct reader r = { .s = &copy };

	memcpy(&copy, s, sizeof copy);
	int rc = ty_yaml_open(&r.yaml, name, text, len, err);
	if (rc < 0)
		return rc;
	rc = ty_yaml_document(r.yaml, "configuration", read_pair, &r);
	if (rc == 0)
		rc = check_together(&r);
	ty_yaml_close(r.yaml);
	if (rc < 0)
		return rc;
	copy.text = strndup(text, len);
	if (!copy.text)
		return ty_err(err, -ENOMEM, "%s: out of memory", name);
	free(s->text);
	memcpy(s, &copy, sizeof copy);
	return 0;
}

int ty_settings_read(struct ty_settings *s, const char *path, char *err)
{
	char *text;
	size_t len;
	int rc = ty_yaml_load(path, &text, &len, err);
	if (rc < 0)
		return rc;
	rc = ty_settings_parse(s, path, text, len, err);
	free(text);
	return rc;
}

/* SPDX-License-Identifier: MIT
 *
 * Configuration files: the only file that includes yaml.h.  Runs in recorder
 * and readers, never in the traced process.  One row per key in `keys`;
 * configs/default.yaml documents the same keys and a unit test compares both.
 *
 * A file is one flat YAML mapping.  It is read event by event, so that every
 * complaint has a line and a column, and so that nothing is built from input
 * that will be refused: no anchors, aliases, tags, second documents, duplicate
 * keys or nested mappings.  The caller's settings change only when all of the
 * file is good.
 */
#include "common/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>
#include "common/err.h"
#include "common/units.h"
#include "tarry/ops.h"

#define FILE_MAX (1u << 20)

enum type { TIME, SIZE, NUMBER, RATIO, BOOL, CLASSES, NAME, RULE };

static const char *const expected[] = {
	[TIME] = "a time such as 10us, 2ms, 1s, 5m or 0",
	[SIZE] = "a size such as 4096, 64K, 64M or 1G",
	[NUMBER] = "a whole number",
	[RATIO] = "off or 1/N, such as 1/16",
	[BOOL] = "true or false",
	[CLASSES] = "all or a list of classes of operations, such as [mutex, cond, -poll]",
	[NAME] = "the base name of an executable, at most 63 bytes",
	[RULE] = "auto, socket, marker, none or site:TEXT",
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
	{ "paused", BOOL, AT(paused), 0, 0, "", "start switched off" },
	{ "max_size", SIZE, AT(max_size), MIB, UINT64_MAX, "0 (no bound) or at least 1M", "bound of the store" },
	{ "keep", TIME, AT(keep_ns), SEC, UINT64_MAX, "0 (all) or at least 1s", "keep only the last so much time" },
	{ "drain", TIME, AT(drain_ns), MS / 10, SEC, "100us to 1s", "how often the rings are emptied" },
	{ "sync", TIME, AT(sync_ns), SEC / 10, 3600 * SEC, "100ms to 1h", "how often the store is flushed to disk" },
	{ "symbols", BOOL, AT(symbols), 0, 0, "", "store names and lines of all seen addresses" },
	{ "debuginfod", BOOL, AT(debuginfod), 0, 0, "", "ask the servers of DEBUGINFOD_URLS" },
	{ "requests", RULE, AT(requests), 0, 0, "", "what one request is" },
};
#define KEYS (sizeof keys / sizeof keys[0])

static const char *const class_names[] = {
#define TY_CLASS(id, name, what) [TY_CLASS_##id] = name,
#include "tarry/wrap.def"
};
_Static_assert(TY_FRAMES_MAX == 128, "the range of max_depth says so");
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
	strcpy(s->requests, "auto");
}

void ty_settings_free(struct ty_settings *s)
{
	free(s->text);
	s->text = NULL;
}

/* ---- setting ---- */

static bool rule_known(const char *text)
{
	static const char *const words[] = { "auto", "socket", "marker", "none" };
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return strncmp(text, "site:", 5) == 0 && text[5];
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
	yaml_parser_t yaml;
	struct ty_settings *s; /* a copy of the caller's */
	const char *name;      /* of the file, for messages */
	const char *text;
	size_t len;
	char *err;
	uint64_t seen;         /* bit per key */
	yaml_event_t ev;       /* the current event */
};
_Static_assert(KEYS <= 64, "a key is a bit of seen");

#define FAIL(r, fmt, ...)                                                                           \
	ty_err((r)->err, -EINVAL, "%s:%zu:%zu: " fmt, (r)->name, (r)->ev.start_mark.line + 1,         \
	       (r)->ev.start_mark.column + 1, ##__VA_ARGS__)

static int unknown_key(struct reader *r, const char *key)
{
	char q[TY_QUOTE];
	struct ty_nearest n = { key, NULL, SIZE_MAX };
	for (size_t i = 0; i < KEYS; i++)
		ty_nearer(&n, keys[i].name);
	if (n.best)
		return FAIL(r, "unknown key '%s'; did you mean '%s'?", ty_quote(q, key), n.best);
	char list[256] = "";
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
	case RULE:
		rc = copy_text(field, sizeof r->s->requests, text, rule_known(text));
		break;
	}
	if (rc < 0)
		return FAIL(r, "%s: expected %s, not '%s' (%s)", k->name, expected[k->type], ty_quote(q, text), k->doc);
	return 0;
}

static yaml_mark_t mark_of(const char *text, size_t offset)
{
	yaml_mark_t m = { .index = offset };
	for (size_t i = 0; i < offset; i++)
		if (text[i] == '\n') {
			m.line++;
			m.column = 0;
		} else {
			m.column++;
		}
	return m;
}

/* The next event into r->ev; 0 or -EINVAL with the text of libyaml. */
static int next(struct reader *r)
{
	yaml_event_delete(&r->ev);
	if (yaml_parser_parse(&r->yaml, &r->ev))
		return 0;
	if (r->yaml.error == YAML_MEMORY_ERROR)
		return ty_err(r->err, -ENOMEM, "%s: out of memory", r->name);
	yaml_mark_t at = r->yaml.problem_mark;
	if (r->yaml.error == YAML_READER_ERROR) /* no mark, only a byte offset: the reader runs ahead */
		at = mark_of(r->text, r->yaml.problem_offset < r->len ? r->yaml.problem_offset : r->len);
	return ty_err(r->err, -EINVAL, "%s:%zu:%zu: not YAML: %s%s%s", r->name, at.line + 1, at.column + 1,
		      r->yaml.problem ? r->yaml.problem : "syntax error", r->yaml.context ? ", " : "",
		      r->yaml.context ? r->yaml.context : "");
}

/* The scalar in r->ev as a C string, or NULL with err set. `what` names its place. */
static const char *scalar(struct reader *r, const char *what, const char *wants)
{
	const char *got = "nothing";
	switch (r->ev.type) {
	case YAML_SCALAR_EVENT:
		if (r->ev.data.scalar.anchor || r->ev.data.scalar.tag) {
			FAIL(r, "%s: anchors and tags are not allowed here", what);
			return NULL;
		}
		if (memchr(r->ev.data.scalar.value, 0, r->ev.data.scalar.length)) {
			FAIL(r, "%s: NUL byte in the text", what);
			return NULL;
		}
		if (r->ev.data.scalar.length || r->ev.data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
			return (const char *)r->ev.data.scalar.value;
		break;
	case YAML_ALIAS_EVENT:
		FAIL(r, "%s: aliases are not allowed here", what);
		return NULL;
	case YAML_SEQUENCE_START_EVENT:
		got = "a list";
		break;
	case YAML_MAPPING_START_EVENT:
		got = "a mapping";
		break;
	default:
		break;
	}
	FAIL(r, "%s: expected %s, not %s", what, wants, got);
	return NULL;
}

static int read_classes(struct reader *r, const struct key *k)
{
	uint64_t mask = 0;
	if (r->ev.data.sequence_start.anchor || r->ev.data.sequence_start.tag)
		return FAIL(r, "%s: anchors and tags are not allowed here", k->name);
	for (bool first = true;; first = false) {
		int rc = next(r);
		if (rc < 0)
			return rc;
		if (r->ev.type == YAML_SEQUENCE_END_EVENT)
			break;
		const char *text = scalar(r, k->name, "the name of a class");
		if (!text)
			return -EINVAL;
		rc = add_class(r, k, text, first, &mask);
		if (rc < 0)
			return rc;
	}
	return set_classes(r, k, mask);
}

/* One key, which is the current event, and its value. */
static int read_pair(struct reader *r)
{
	const char *text = scalar(r, "configuration", "a key");
	if (!text)
		return -EINVAL;
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

	int rc = next(r);
	if (rc < 0)
		return rc;
	if (k->type == CLASSES && r->ev.type == YAML_SEQUENCE_START_EVENT)
		return read_classes(r, k);
	text = scalar(r, k->name, expected[k->type]);
	return text ? set_scalar(r, k, text) : -EINVAL;
}

/* The document's root, which is the current event. */
static int read_root(struct reader *r)
{
	if (r->ev.type == YAML_SCALAR_EVENT && r->ev.data.scalar.length == 0 &&
	    r->ev.data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		return 0; /* "---" and nothing else */
	if (r->ev.type != YAML_MAPPING_START_EVENT)
		return FAIL(r, "expected lines of 'key: value'");
	if (r->ev.data.mapping_start.anchor || r->ev.data.mapping_start.tag)
		return FAIL(r, "anchors and tags are not allowed here");
	for (;;) {
		int rc = next(r);
		if (rc < 0 || r->ev.type == YAML_MAPPING_END_EVENT)
			return rc;
		rc = read_pair(r);
		if (rc < 0)
			return rc;
	}
}

static int read_stream(struct reader *r)
{
	unsigned documents = 0;
	for (;;) {
		int rc = next(r);
		if (rc < 0)
			return rc;
		switch (r->ev.type) {
		case YAML_STREAM_END_EVENT:
			return 0;
		case YAML_STREAM_START_EVENT:
		case YAML_DOCUMENT_END_EVENT:
			break;
		case YAML_DOCUMENT_START_EVENT:
			if (documents++)
				return FAIL(r, "a second document; one file is one configuration");
			break;
		default:
			rc = read_root(r);
			if (rc < 0)
				return rc;
		}
	}
}

int ty_settings_parse(struct ty_settings *s, const char *name, const char *text, size_t len, char *err)
{
	struct ty_settings copy;
	struct reader r = { .s = &copy, .name = name, .text = text, .len = len, .err = err };

	if (len > FILE_MAX)
		return ty_err(err, -EFBIG, "%s: larger than 1 MiB, not a configuration", name);
	memcpy(&copy, s, sizeof copy);
	if (!yaml_parser_initialize(&r.yaml))
		return ty_err(err, -ENOMEM, "%s: out of memory", name);
	yaml_parser_set_input_string(&r.yaml, (const unsigned char *)text, len);
	yaml_parser_set_encoding(&r.yaml, YAML_UTF8_ENCODING);
	int rc = read_stream(&r);
	yaml_event_delete(&r.ev);
	yaml_parser_delete(&r.yaml);
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
	int rc = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		rc = -errno;
		return ty_err(err, rc, "%s: %s", path, strerror(-rc));
	}
	/* Read, not mapped, so that pipes and /dev/stdin work too. */
	char *text = malloc(FILE_MAX + 1);
	size_t len = 0;
	if (!text)
		rc = ty_err(err, -ENOMEM, "%s: out of memory", path);
	while (rc == 0 && len <= FILE_MAX) {
		ssize_t n = read(fd, text + len, FILE_MAX + 1 - len);
		if (n == 0)
			break;
		if (n > 0)
			len += (size_t)n;
		else if (errno != EINTR) {
			rc = -errno;
			ty_err(err, rc, "%s: %s", path, strerror(-rc));
		}
	}
	close(fd);
	if (rc == 0)
		rc = ty_settings_parse(s, path, text, len, err);
	free(text);
	return rc;
}

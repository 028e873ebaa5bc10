/* SPDX-License-Identifier: MIT
 *
 * YAML files for people (see yaml.h): the only file that includes libyaml's
 * header.  Runs in recorder and readers, never in the traced process.
 */
#include "common/yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>
#include "common/err.h"

#define FILE_MAX (1u << 20)

struct ty_yaml {
	yaml_parser_t parser;
	yaml_event_t ev; /* the current event */
	const char *name, *text;
	size_t len;
	char *err;
};

int ty_yaml_open(struct ty_yaml **ret, const char *name, const char *text, size_t len, char *err)
{
	if (len > FILE_MAX)
		return ty_err(err, -EFBIG, "%s: larger than 1 MiB, not a configuration", name);
	struct ty_yaml *y = calloc(1, sizeof *y);
	if (!y || !yaml_parser_initialize(&y->parser)) {
		free(y);
		return ty_err(err, -ENOMEM, "%s: out of memory", name);
	}
	y->name = name;
	y->text = text;
	y->len = len;
	y->err = err;
	yaml_parser_set_input_string(&y->parser, (const unsigned char *)text, len);
	yaml_parser_set_encoding(&y->parser, YAML_UTF8_ENCODING);
	*ret = y;
	return 0;
}

void ty_yaml_close(struct ty_yaml *y)
{
	yaml_event_delete(&y->ev);
	yaml_parser_delete(&y->parser);
	free(y);
}

/* ---- complaints ---- */

struct ty_yaml_place ty_yaml_here(const struct ty_yaml *y)
{
	return (struct ty_yaml_place){ y->ev.start_mark.line + 1, y->ev.start_mark.column + 1 };
}

static int fail_at(struct ty_yaml *y, struct ty_yaml_place at, const char *fmt, va_list ap)
{
	char what[TY_ERR_MAX];
	vsnprintf(what, sizeof what, fmt, ap);
	return ty_err(y->err, -EINVAL, "%s:%zu:%zu: %s", y->name, at.line, at.column, what);
}

int ty_yaml_fail(struct ty_yaml *y, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int rc = fail_at(y, ty_yaml_here(y), fmt, ap);
	va_end(ap);
	return rc;
}

int ty_yaml_fail_at(struct ty_yaml *y, struct ty_yaml_place at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int rc = fail_at(y, at, fmt, ap);
	va_end(ap);
	return rc;
}

/* ---- events ---- */

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

int ty_yaml_next(struct ty_yaml *y)
{
	yaml_event_delete(&y->ev);
	if (yaml_parser_parse(&y->parser, &y->ev))
		return 0;
	if (y->parser.error == YAML_MEMORY_ERROR)
		return ty_err(y->err, -ENOMEM, "%s: out of memory", y->name);
	yaml_mark_t at = y->parser.problem_mark;
	if (y->parser.error == YAML_READER_ERROR) /* no mark, only a byte offset: the reader runs ahead */
		at = mark_of(y->text, y->parser.problem_offset < y->len ? y->parser.problem_offset : y->len);
	return ty_err(y->err, -EINVAL, "%s:%zu:%zu: not YAML: %s%s%s", y->name, at.line + 1, at.column + 1,
		      y->parser.problem ? y->parser.problem : "syntax error", y->parser.context ? ", " : "",
		      y->parser.context ? y->parser.context : "");
}

const char *ty_yaml_text(struct ty_yaml *y, const char *what, const char *wants)
{
	const char *got = "nothing";
	switch (y->ev.type) {
	case YAML_SCALAR_EVENT:
		if (y->ev.data.scalar.anchor || y->ev.data.scalar.tag) {
			ty_yaml_fail(y, "%s: anchors and tags are not allowed here", what);
			return NULL;
		}
		if (memchr(y->ev.data.scalar.value, 0, y->ev.data.scalar.length)) {
			ty_yaml_fail(y, "%s: NUL byte in the text", what);
			return NULL;
		}
		if (y->ev.data.scalar.length || y->ev.data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
			return (const char *)y->ev.data.scalar.value;
		break;
	case YAML_ALIAS_EVENT:
		ty_yaml_fail(y, "%s: aliases are not allowed here", what);
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
	ty_yaml_fail(y, "%s: expected %s, not %s", what, wants, got);
	return NULL;
}

bool ty_yaml_is_list(const struct ty_yaml *y)
{
	return y->ev.type == YAML_SEQUENCE_START_EVENT;
}

bool ty_yaml_is_list_end(const struct ty_yaml *y)
{
	return y->ev.type == YAML_SEQUENCE_END_EVENT;
}

int ty_yaml_list(struct ty_yaml *y, const char *what)
{
	if (!ty_yaml_is_list(y))
		return ty_yaml_text(y, what, "a list") ? ty_yaml_fail(y, "%s: expected a list", what) : -EINVAL;
	if (y->ev.data.sequence_start.anchor || y->ev.data.sequence_start.tag)
		return ty_yaml_fail(y, "%s: anchors and tags are not allowed here", what);
	return 0;
}

int ty_yaml_item(struct ty_yaml *y, const char *what, const char *wants, const char **text)
{
	int rc = ty_yaml_next(y);
	if (rc < 0 || ty_yaml_is_list_end(y))
		return rc;
	*text = ty_yaml_text(y, what, wants);
	return *text ? 1 : -EINVAL;
}

int ty_yaml_mapping(struct ty_yaml *y, const char *what, ty_yaml_pair *pair, void *arg)
{
	if (y->ev.type != YAML_MAPPING_START_EVENT)
		return ty_yaml_fail(y, "expected lines of 'key: value'");
	if (y->ev.data.mapping_start.anchor || y->ev.data.mapping_start.tag)
		return ty_yaml_fail(y, "anchors and tags are not allowed here");
	for (;;) {
		int rc = ty_yaml_next(y);
		if (rc < 0 || y->ev.type == YAML_MAPPING_END_EVENT)
			return rc;
		const char *key = ty_yaml_text(y, what, "a key");
		rc = key ? pair(arg, key) : -EINVAL;
		if (rc < 0)
			return rc;
	}
}

/* The document's root, which is the current event. */
static int root(struct ty_yaml *y, const char *what, ty_yaml_pair *pair, void *arg)
{
	if (y->ev.type == YAML_SCALAR_EVENT && y->ev.data.scalar.length == 0 &&
	    y->ev.data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		return 0; /* "---" and nothing else */
	return ty_yaml_mapping(y, what, pair, arg);
}

int ty_yaml_document(struct ty_yaml *y, const char *what, ty_yaml_pair *pair, void *arg)
{
	unsigned documents = 0;
	for (;;) {
		int rc = ty_yaml_next(y);
		if (rc < 0)
			return rc;
		switch (y->ev.type) {
		case YAML_STREAM_END_EVENT:
			return 0;
		case YAML_STREAM_START_EVENT:
		case YAML_DOCUMENT_END_EVENT:
			break;
		case YAML_DOCUMENT_START_EVENT:
			if (documents++)
				return ty_yaml_fail(y, "a second document; one file is one %s", what);
			break;
		default:
			rc = root(y, what, pair, arg);
			if (rc < 0)
				return rc;
		}
	}
}

/* ---- files ---- */

/* Read, not mapped, so that pipes and /dev/stdin work too. */
static int read_all(int fd, char *text, size_t *len)
{
	while (*len <= FILE_MAX) {
		ssize_t n = read(fd, text + *len, FILE_MAX + 1 - *len);
		if (n == 0)
			return 0;
		if (n > 0)
			*len += (size_t)n;
		else if (errno != EINTR)
			return -errno;
	}
	return -EFBIG;
}

int ty_yaml_load(const char *path, char **text, size_t *len, char *err)
{
	char *all = malloc(FILE_MAX + 2);
	int fd = all ? open(path, O_RDONLY | O_CLOEXEC) : -1, rc = fd < 0 ? -errno : 0;
	size_t n = 0;
	if (rc == 0) {
		rc = read_all(fd, all, &n);
		close(fd);
	}
	if (rc < 0) {
		free(all);
		if (rc == -EFBIG)
			return ty_err(err, rc, "%s: larger than 1 MiB, not a configuration", path);
		return ty_err(err, rc, "%s: %s", path, strerror(-rc));
	}
	all[n] = 0;
	*text = all;
	*len = n;
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Reads the expression of --where (where.h has the grammar).  Runs in readers.
 * Must stay true: any text gives either a tree or one line that names the
 * column; nesting is bounded, so that no text can exhaust the stack. */
#include "analyze/where.h"

#include <ctype.h>

#include "analyze/fmt.h"
#include "analyze/run.h"
#include "common/units.h"

#define DEPTH 64
#define NODES 4096

struct reader {
	struct ty_where *w;
	const char *p;
	unsigned depth;
	char *err;
};

static const char conditions[] =
	"site:TEXT, class=TEXT, class:TEXT, latency>TIME, latency<TIME, thread=TID, process=PID, time in T..T";

static int column(const struct reader *r, const char *at)
{
	return (int)(at - r->w->text) + 1;
}

/* What stands at `at`, for a message. */
static const char *shown(const char *at, char buf[128])
{
	size_t n = strcspn(at, " \t\n\r()");
	char word[64];
	snprintf(word, sizeof word, "%.*s", (int)(n ? n > 40 ? 40 : n : *at != 0), at);
	char fit[100];
	snprintf(buf, 128, *at ? "'%s'" : "the end", ty_fmt_fit(fit, sizeof fit, word, 24));
	return buf;
}

static int wrong(const struct reader *r, const char *at, const char *what)
{
	char buf[128];
	return ty_err(r->err, -EINVAL, "--where, column %d, at %s: %s", column(r, at), shown(at, buf), what);
}

static void blanks(struct reader *r)
{
	while (isspace((unsigned char)*r->p))
		r->p++;
}

static bool word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* The word at p, lower case; its length. */
static size_t word(const struct reader *r, char buf[16])
{
	size_t n = 0;
	while (word_char(r->p[n])) {
		if (n < 15)
			buf[n] = (char)tolower((unsigned char)r->p[n]);
		n++;
	}
	buf[n < 15 ? n : 15] = 0;
	return n;
}

static bool keyword(struct reader *r, const char *name)
{
	char buf[16];
	blanks(r);
	size_t n = word(r, buf);
	if (n != strlen(name) || strcmp(buf, name) != 0)
		return false;
	r->p += n;
	return true;
}

static int add(struct reader *r, struct ty_where_node node, uint32_t *ret)
{
	struct ty_where *w = r->w;
	if (w->n >= NODES || TY_RESERVE(w->v, w->cap, w->n + 1, (size_t)8)) {
		free(node.text);
		free(node.text2);
		return w->n >= NODES ? wrong(r, r->p, "too many conditions") : ty_err(r->err, -ENOMEM, "out of memory");
	}
	w->v[w->n] = node;
	*ret = (uint32_t)w->n++;
	return 0;
}

/* TEXT, quoted or not, into new memory; empty: "" will do. */
static int read_text(struct reader *r, bool empty, char **ret)
{
	const char *at = r->p;
	size_t n = 0;
	char *s = malloc(strlen(r->p) + 1);
	if (!s)
		return ty_err(r->err, -ENOMEM, "out of memory");
	if (*r->p == '"') {
		for (r->p++; *r->p && *r->p != '"'; r->p++) {
			if (*r->p == '\\' && (r->p[1] == '"' || r->p[1] == '\\'))
				r->p++;
			s[n++] = *r->p;
		}
		if (*r->p != '"') {
			free(s);
			return wrong(r, at, "this quotation has no end");
		}
		r->p++;
		empty = empty && !n;
	} else {
		empty = false;
		while (*r->p && !isspace((unsigned char)*r->p) && *r->p != '(' && *r->p != ')')
			s[n++] = *r->p++;
	}
	s[n] = 0;
	if (!n && !empty) {
		free(s);
		return wrong(r, at, "a text is expected, in \"\" if it has blanks or parentheses");
	}
	*ret = s;
	return 0;
}

static int read_latency(struct reader *r, char op, bool equal, struct ty_where_node *node)
{
	char text[48];
	uint64_t ns;
	const char *at = r->p;
	size_t n = strcspn(r->p, " \t\n\r()");
	snprintf(text, sizeof text, "%.*s", (int)(n > 40 ? 40 : n), r->p);
	bool unit = *text && isalpha((unsigned char)text[strlen(text) - 1]);
	if (n > 40 || (!unit && strcmp(text, "0")) || ty_time_parse(text, 0, &ns))
		return wrong(r, at, "a time with its unit is expected, such as 5ms, 300us or 1.5s");
	r->p += n;
	node->lo = op == '>' ? ns + !equal : 0;
	node->hi = op == '>' ? UINT64_MAX : equal ? ns : ns - 1;
	if (op == '<' && !equal && !ns) /* nothing is below 0 */
		node->lo = 1, node->hi = 0;
	return 0;
}

static int read_number(struct reader *r, struct ty_where_node *node)
{
	char text[16];
	size_t n = strcspn(r->p, " \t\n\r()");
	snprintf(text, sizeof text, "%.*s", (int)(n > 15 ? 15 : n), r->p);
	if (n > 10 || ty_parse_number(text, &node->lo) || !node->lo || node->lo > UINT32_MAX)
		return wrong(r, r->p, "a whole number is expected");
	r->p += n;
	return 0;
}

static int read_window(struct reader *r, struct ty_where_node *node)
{
	const char *at = r->p;
	size_t n = strcspn(r->p, " \t\n\r()");
	const char *dots = memmem(r->p, n, "..", 2);
	uint64_t t;
	if (!dots)
		return wrong(r, at, "a window is expected, such as 2s..5s");
	node->text = strndup(at, (size_t)(dots - at));
	node->text2 = strndup(dots + 2, n - (size_t)(dots - at) - 2);
	if (!node->text || !node->text2)
		return ty_err(r->err, -ENOMEM, "out of memory");
	if (ty_time_parse(node->text, 0, &t))
		return wrong(r, at, "a time since the start is expected, such as 2s, 300ms or 1.5s");
	if (ty_time_parse(node->text2, 0, &t))
		return wrong(r, dots + 2, "a time since the start is expected, such as 2s, 300ms or 1.5s");
	r->p += n;
	return 0;
}

static const struct condition {
	const char *name, *ops; /* characters, one of which must follow */
	const char *expect;
} known[] = {
	{ "site", ":", "':' and a text are expected: site:TEXT" },
	{ "class", "=:", "'=' and a text are expected: class=TEXT" },
	{ "latency", "<>", "'<', '<=', '>' or '>=' and a time are expected: latency>5ms" },
	{ "thread", "=", "'=' and a thread's number are expected: thread=TID" },
	{ "process", "=", "'=' and a process's number are expected: process=PID" },
	{ "time", "i", "a window is expected: time in 2s..5s" },
};
enum { SITE, CLASS, LATENCY, THREAD, PROCESS, TIME, KNOWN };

static int unknown(const struct reader *r, const char *name)
{
	char text[256];
	struct ty_nearest near = { .word = name, .distance = SIZE_MAX };
	if (!*name) {
		snprintf(text, sizeof text, "a condition is expected: %s", conditions);
		return wrong(r, r->p, text);
	}
	for (size_t i = 0; i < KNOWN; i++)
		ty_nearer(&near, known[i].name);
	ty_nearer(&near, "not");
	if (near.best)
		snprintf(text, sizeof text, "there is no such condition; did you mean '%s'?", near.best);
	else
		snprintf(text, sizeof text, "there is no such condition; there are %s", conditions);
	return wrong(r, r->p, text);
}

static int read_condition(struct reader *r, uint32_t *ret)
{
	char name[16];
	struct ty_where_node node = { 0 };
	size_t n = word(r, name), i = 0;
	while (i < KNOWN && strcmp(name, known[i].name) != 0)
		i++;
	if (i == KNOWN)
		return unknown(r, name);
	r->p += n;
	blanks(r);
	const char *at = r->p;
	char op = *r->p;
	if (i == TIME) {
		if (!keyword(r, "in"))
			return wrong(r, at, known[i].expect);
	} else if (!op || !strchr(known[i].ops, op)) {
		return wrong(r, at, known[i].expect);
	} else {
		r->p++;
	}
	bool equal = i == LATENCY && *r->p == '=';
	r->p += equal;
	blanks(r);
	node.column = (uint32_t)column(r, r->p);
	static const enum ty_where_kind kinds[KNOWN] = { TY_WHERE_SITE, TY_WHERE_CLASS, TY_WHERE_LATENCY,
		TY_WHERE_THREAD, TY_WHERE_PROCESS, TY_WHERE_TIME };
	node.kind = i == CLASS && op == ':' ? TY_WHERE_CLASS_HAS : kinds[i];
	int e = i == LATENCY ? read_latency(r, op, equal, &node)
		: i == TIME ? read_window(r, &node)
		: i == SITE || i == CLASS ? read_text(r, node.kind == TY_WHERE_CLASS, &node.text) : read_number(r, &node);
	if (e) {
		free(node.text);
		free(node.text2);
		return e;
	}
	return add(r, node, ret);
}

static int read_or(struct reader *r, uint32_t *ret);

static int read_one(struct reader *r, uint32_t *ret)
{
	int e;
	const char *at = (blanks(r), r->p);
	if (r->depth >= DEPTH)
		return wrong(r, r->p, "nested too deeply");
	r->depth++;
	if (keyword(r, "not")) {
		struct ty_where_node node = { .kind = TY_WHERE_NOT };
		e = read_one(r, &node.a);
		if (!e)
			e = add(r, node, ret);
	} else if (*r->p == '(') {
		r->p++;
		e = read_or(r, ret);
		blanks(r);
		if (!e && *r->p != ')') {
			char text[80];
			snprintf(text, sizeof text, "')' is expected for the '(' in column %d, or 'and', or 'or'", column(r, at));
			e = wrong(r, r->p, text);
		}
		r->p += !e;
	} else {
		e = read_condition(r, ret);
	}
	r->depth--;
	return e;
}

static int read_list(struct reader *r, uint32_t *ret, enum ty_where_kind kind)
{
	bool both = kind == TY_WHERE_AND;
	int e = both ? read_one(r, ret) : read_list(r, ret, TY_WHERE_AND);
	while (!e && keyword(r, both ? "and" : "or")) {
		struct ty_where_node node = { .kind = kind, .a = *ret };
		e = both ? read_one(r, &node.b) : read_list(r, &node.b, TY_WHERE_AND);
		if (!e)
			e = add(r, node, ret);
	}
	return e;
}

static int read_or(struct reader *r, uint32_t *ret)
{
	return read_list(r, ret, TY_WHERE_OR);
}

int ty_where_parse(struct ty_where **ret, const char *text, char *err)
{
	struct ty_where *w = calloc(1, sizeof *w);
	if (!w || !(w->text = strdup(text))) {
		ty_where_free(w);
		return ty_err(err, -ENOMEM, "out of memory");
	}
	struct reader r = { .w = w, .p = w->text, .err = err };
	int e = read_or(&r, &w->root);
	blanks(&r);
	if (!e && *r.p)
		e = wrong(&r, r.p, "'and', 'or' or the end is expected");
	if (e) {
		ty_where_free(w);
		return e;
	}
	*ret = w;
	return 0;
}

void ty_where_free(struct ty_where *w)
{
	for (size_t i = 0; w && i < w->n; i++) {
		free(w->v[i].text);
		free(w->v[i].text2);
		free(w->v[i].path);
		free(w->v[i].op);
		free(w->v[i].known);
	}
	if (w) {
		free(w->v);
		free(w->text);
	}
	free(w);
}

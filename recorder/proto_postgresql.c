/* SPDX-License-Identifier: MIT
 * PostgreSQL: messages of a type and a 4-byte length, but for the first ones,
 * which have no type.  A reply ends with ReadyForQuery, whose last byte is the
 * state of the transaction.  Runs in the recorder. */
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include "recorder/dialog.h"

#define HEAD 5u /* type and length */

static const struct { char type; const char *name; } plain[] = {
	{ 'E', "execute" }, { 'D', "describe" }, { 'C', "close" }, { 'S', "sync" }, { 'H', "flush" },
	{ 'F', "function" }, { 'd', "copy" }, { 'c', "copy" }, { 'f', "copy" }, { 'X', "terminate" },
	{ 'p', "startup" },
};

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)(p[1] << 16 | p[2] << 8 | p[3]);
}

static bool startup_code(uint32_t code)
{
	return code >> 16 == 3 || (code >= 80877102 && code <= 80877104); /* cancel, SSL, GSS */
}

static bool startup(const struct ty_dialog *d)
{
	return d->n >= 8 && d->head[0] == 0 && be32(d->head) >= 8 && be32(d->head) < 10240 &&
	       startup_code(be32(d->head + 4));
}

static enum ty_told guess(const struct ty_dialog *d)
{
	if (startup(d))
		return be32(d->head) == d->length ? TY_TOLD_CLASS : TY_TOLD_NOTHING;
	if (!d->n || !strchr("QPB", d->head[0] ? d->head[0] : '-'))
		return d->n < 8 && (!d->n || d->head[0] == 0) ? TY_TOLD_MORE : TY_TOLD_NOTHING;
	if (d->n < HEAD)
		return TY_TOLD_MORE;
	uint64_t end = (uint64_t)be32(d->head + 1) + 1;
	/* in the middle of a session: a query alone, or one message of several */
	bool fits = d->head[0] == 'Q' ? d->length == end : end < d->length;
	return end > HEAD && fits ? TY_TOLD_CLASS : TY_TOLD_NOTHING;
}

/* May further bytes of this message still come? */
static bool goes_on(const struct ty_dialog *d, uint64_t end)
{
	return !d->gap && d->n < sizeof d->head && d->n < end;
}

static uint64_t name_hash(const uint8_t *name, size_t n)
{
	return XXH3_64bits(name, n);
}

static enum ty_told say(char *text, const char *what, int word)
{
	const char *name = word >= 0 ? ty_sql_name((unsigned)word) : "";
	snprintf(text, TY_CLASS_TEXT, "%s%s%s", what, *what && *name ? " " : "", name);
	return TY_TOLD_CLASS;
}

/* name \0 statement: named ones are executed later, the one without a name most likely at once */
static enum ty_told parse(struct ty_dialog *d, uint64_t end, char *text)
{
	size_t n = end < d->n ? (size_t)end : d->n;
	const uint8_t *name = d->head + HEAD, *nul = memchr(name, 0, n - HEAD);
	if (!nul)
		return goes_on(d, end) ? TY_TOLD_MORE : say(text, "prepare", -1);
	size_t at = (size_t)(nul - d->head) + 1;
	int word = ty_sql_word(d->head + at, n - at, false);
	if (word < 0 && goes_on(d, end))
		return TY_TOLD_MORE;
	ty_statement_set(d->statements, d->connection, name_hash(name, (size_t)(nul - name)), (unsigned)(word + 1));
	if (nul == name && word < 0)
		return TY_TOLD_NOTHING;
	return say(text, nul == name ? "" : "prepare", word);
}

/* portal \0 name of statement \0 */
static enum ty_told bind(struct ty_dialog *d, uint64_t end, char *text)
{
	size_t n = end < d->n ? (size_t)end : d->n;
	const uint8_t *name = memchr(d->head + HEAD, 0, n - HEAD);
	const uint8_t *nul = name ? memchr(name + 1, 0, (size_t)(d->head + n - name - 1)) : NULL;
	if (!nul && goes_on(d, end))
		return TY_TOLD_MORE;
	unsigned w = 0;
	if (nul)
		w = ty_statement_word(d->statements, d->connection, name_hash(name + 1, (size_t)(nul - name) - 1));
	return say(text, "execute", (int)w - 1);
}

/* 'S', name of statement \0: it is forgotten; 'P': a portal */
static void close_statement(struct ty_dialog *d, size_t n)
{
	const uint8_t *name = d->head + HEAD + 1, *nul = n > HEAD + 1 ? memchr(name, 0, n - HEAD - 1) : NULL;
	if (nul && d->head[HEAD] == 'S')
		ty_statement_set(d->statements, d->connection, name_hash(name, (size_t)(nul - name)), 0);
}

static enum ty_told request(struct ty_dialog *d, char text[TY_CLASS_TEXT])
{
	if (d->n && d->head[0] == 0) {
		if (d->n < 8)
			return TY_TOLD_MORE;
		return startup(d) ? say(text, "startup", -1) : TY_TOLD_NOTHING;
	}
	if (d->n < HEAD)
		return TY_TOLD_MORE;
	uint64_t end = (uint64_t)be32(d->head + 1) + 1;
	if (end < HEAD)
		return TY_TOLD_NOTHING;
	d->started |= d->head[0] != 'p';
	size_t n = end < d->n ? (size_t)end : d->n;
	int word;
	switch (d->head[0]) {
	case 'Q':
		word = ty_sql_word(d->head + HEAD, n - HEAD, false); /* ends with NUL */
		if (word < 0)
			return goes_on(d, end) ? TY_TOLD_MORE : TY_TOLD_NOTHING;
		return say(text, "", word);
	case 'P':
		return parse(d, end, text);
	case 'B':
		return bind(d, end, text);
	case 'C':
		close_statement(d, n);
		break;
	}
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (plain[i].type == (char)d->head[0])
			return say(text, plain[i].name, -1);
	return TY_TOLD_NOTHING;
}

static int reply(struct ty_dialog *d)
{
	static const uint8_t ready[] = { 'Z', 0, 0, 0, 5 };
	const uint8_t *e = d->last + d->nlast;
	if (d->nlast < 6 || memcmp(e - 6, ready, sizeof ready) != 0)
		return -1;
	switch (e[-1]) {
	case 'I':
		return TY_SESSION_IDLE;
	case 'T':
		return TY_SESSION_IN_TRANSACTION;
	case 'E':
		return TY_SESSION_FAILED;
	}
	return -1;
}

const struct ty_protocol ty_protocol_postgresql = { "postgresql", guess, request, reply };

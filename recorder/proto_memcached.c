/* SPDX-License-Identifier: MIT
 * memcached: lines that begin with a verb, or headers of 24 bytes with an
 * operation code.  Runs in the recorder. */
#include <string.h>
#include "recorder/dialog.h"

static const char *const verbs[] = {
	"get", "gets", "gat", "gats", "set", "add", "replace", "append", "prepend", "cas", "touch", "incr", "decr",
	"delete", "mg", "ms", "md", "ma", "mn", "me", "stats", "version", "verbosity", "flush_all", "quit", "slabs",
	"lru", "watch", "cache_memlimit", "shutdown",
};

/* By operation code; the quiet forms are the same to a client. */
static const char *const binary[] = {
	"get", "set", "add", "replace", "delete", "increment", "decrement", "quit", "flush", "get", "noop", "version",
	"get", "get", "append", "prepend", "stats", "set", "add", "replace", "delete", "increment", "decrement",
	"quit", "flush", "append", "prepend", "verbosity", "touch", "gat", "gat", NULL, "startup", "startup",
	"startup", "gat", "gat",
};

static enum ty_told binary_verb(const struct ty_dialog *d, const char **verb)
{
	if (d->n < 6)
		return TY_TOLD_MORE;
	uint8_t op = d->head[1];
	*verb = op < sizeof binary / sizeof *binary && d->head[5] == 0 ? binary[op] : NULL;
	return *verb ? TY_TOLD_CLASS : TY_TOLD_NOTHING;
}

static enum ty_told verb_of(const struct ty_dialog *d, const char **verb)
{
	if (d->n && d->head[0] == 0x80)
		return binary_verb(d, verb);
	size_t n = 0;
	while (n < d->n && d->head[n] != ' ' && d->head[n] != '\r' && d->head[n] != '\n')
		n++;
	bool more = n == d->n;
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		size_t len = strlen(verbs[i]);
		if (more ? n < len && !memcmp(verbs[i], d->head, n) : n == len && !memcmp(verbs[i], d->head, n)) {
			*verb = verbs[i];
			return more ? TY_TOLD_MORE : TY_TOLD_CLASS;
		}
	}
	return TY_TOLD_NOTHING;
}

static enum ty_told guess(const struct ty_dialog *d)
{
	const char *verb;
	return verb_of(d, &verb);
}

static enum ty_told request(struct ty_dialog *d, char text[TY_CLASS_TEXT])
{
	const char *verb;
	enum ty_told t = verb_of(d, &verb);
	d->started = true;
	if (t == TY_TOLD_CLASS)
		strcpy(text, verb);
	return t;
}

const struct ty_protocol ty_protocol_memcached = { "memcached", guess, request, NULL };

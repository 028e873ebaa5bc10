/* SPDX-License-Identifier: MIT
 * One connection as its server sees it: the first bytes of each request, the
 * first and last of each reply, and what a protocol makes of them.  Pure: no
 * recorder, no store, so that tests and the fuzzer use it as it is. */
#ifndef TY_DIALOG_H
#define TY_DIALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/statements.h"
#include "tarry/event.h"

#define TY_REPLY_HALF (TY_BYTES_MAX / 2)
#define TY_CLASS_TEXT 40          /* bytes of a class with its NUL */

struct ty_protocol;

struct ty_dialog {
	const struct ty_protocol *protocol; /* NULL: not known yet */
	bool silent;                  /* and never will be: encrypted, or nothing we know */
	uint8_t guesses;              /* requests looked at in vain */
	/* the request: bytes [0, n) of `length`, further ones were not captured if gap */
	uint8_t head[TY_BYTES_MAX];
	uint8_t n;
	bool gap, classified, answered;
	uint64_t length;
	uint64_t begin;               /* when its first receive returned */
	/* the reply */
	uint8_t first[TY_REPLY_HALF], last[TY_REPLY_HALF];
	uint8_t nfirst, nlast;
	uint64_t sent;
	/* the protocol's own */
	bool started;                 /* the login is over */
	bool preparing;               /* the request prepares a statement: its reply names it */
	uint16_t word;                /* SQL word of the statement being prepared, + 1 */
	struct ty_statements *statements; /* of the recording, NULL: none are remembered */
	uint64_t connection;          /* number among them */
	int state;                    /* enum ty_session_state as last told, -1: never */
	uint32_t refs;                /* descriptors that mean it */
};

enum ty_told {
	TY_TOLD_NOTHING, /* these bytes will never tell */
	TY_TOLD_MORE,    /* further bytes may */
	TY_TOLD_CLASS,
};

struct ty_protocol {
	const char *name;
	/* Are these the first bytes of a request in this protocol?  CLASS: yes. */
	enum ty_told (*guess)(const struct ty_dialog *d);
	/* The class of the request so far. */
	enum ty_told (*request)(struct ty_dialog *d, char text[TY_CLASS_TEXT]);
	/* What the reply so far says about the session, or -1; NULL: nothing ever. */
	int (*reply)(struct ty_dialog *d);
};
extern const struct ty_protocol ty_protocol_mysql, ty_protocol_postgresql, ty_protocol_redis, ty_protocol_memcached,
	ty_protocol_http;

/* By the name of the configuration; NULL: auto. */
const struct ty_protocol *ty_protocol_by_name(const char *name);
/* Does the server's first word, before any request, say that it is MySQL? */
bool ty_mysql_greeting(const uint8_t *first, size_t n);

/* statements: where those that are prepared are remembered, or NULL.  Nothing is owned. */
void ty_dialog_init(struct ty_dialog *d, const struct ty_protocol *protocol, struct ty_statements *statements);
/* data: the first n bytes of `length` received.  True: text is the class of
 * the request, which began at d->begin; said once. */
bool ty_dialog_received(struct ty_dialog *d, const uint8_t *data, size_t n, uint64_t length, uint64_t when,
			char text[TY_CLASS_TEXT]);
/* first and last: min(length, TY_REPLY_HALF) bytes each; last NULL: not known.
 * The session's state if the reply tells another one than before, or -1. */
int ty_dialog_sent(struct ty_dialog *d, const uint8_t *first, const uint8_t *last, uint64_t length);
/* An answer of which nothing was seen. */
void ty_dialog_sent_unseen(struct ty_dialog *d, uint64_t length);

/* sql.c: which of a list of known words a statement begins with; never any
 * other text of it.  From 0, or -1 when these bytes do not tell; whole: they
 * are all of the statement. */
int ty_sql_word(const uint8_t *text, size_t n, bool whole);
const char *ty_sql_name(unsigned word);

#endif

/* SPDX-License-Identifier: MIT
 * MySQL and MariaDB: packets of a 3-byte length, a sequence number and a
 * payload, which begins with a command in requests (sequence 0).  Runs in the
 * recorder. */
#include <stdio.h>
#include <string.h>
#include "recorder/dialog.h"

#define HEAD 4u
#define IN_TRANS 1u
#define MORE_RESULTS 8u
#define DEADLOCK 1213u /* the server has rolled the transaction back */

enum {
	QUERY = 0x03, PREPARE = 0x16, EXECUTE = 0x17, LONG_DATA = 0x18, CLOSE = 0x19, BULK = 0xfa,
};

static const struct { uint8_t command; const char *name; } plain[] = {
	{ 0x01, "quit" }, { 0x02, "init db" }, { 0x04, "field list" }, { 0x07, "refresh" }, { 0x08, "shutdown" },
	{ 0x09, "statistics" }, { 0x0a, "processlist" }, { 0x0c, "kill" }, { 0x0d, "debug" }, { 0x0e, "ping" },
	{ 0x11, "change user" }, { 0x12, "binlog dump" }, { 0x15, "register replica" }, { 0x1a, "reset statement" },
	{ 0x1b, "set option" }, { 0x1c, "fetch" }, { 0x1e, "binlog dump" }, { 0x1f, "reset connection" },
};

static uint32_t le24(const uint8_t *p)
{
	return (uint32_t)(p[0] | p[1] << 8 | p[2] << 16);
}
static uint32_t le32(const uint8_t *p)
{
	return le24(p) | (uint32_t)p[3] << 24;
}

static const char *plain_name(uint8_t command)
{
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (plain[i].command == command)
			return plain[i].name;
	return NULL;
}

static bool a_command(uint8_t c)
{
	return c == QUERY || (c >= PREPARE && c <= CLOSE) || c == BULK || plain_name(c);
}

bool ty_mysql_greeting(const uint8_t *s, size_t n)
{
	return n >= 7 && le24(s) > 20 && le24(s) < 1024 && s[3] == 0 && s[4] == 10 && s[5] >= '1' && s[5] <= '9';
}

/* Without the greeting: one packet that is exactly what was received. */
static enum ty_told guess(const struct ty_dialog *d)
{
	if (d->n < HEAD)
		return TY_TOLD_MORE;
	uint32_t len = le24(d->head);
	if (d->head[3] || !len || d->length > (uint64_t)len + HEAD)
		return TY_TOLD_NOTHING;
	if (d->n == HEAD)
		return TY_TOLD_MORE;
	return a_command(d->head[HEAD]) && d->length == len + HEAD ? TY_TOLD_CLASS : TY_TOLD_NOTHING;
}

/* A statement's text in [at, end of packet); the word goes into d->word. */
static enum ty_told text_of(struct ty_dialog *d, size_t at, uint64_t end, const char *what, char *text)
{
	size_t n = end < d->n ? (size_t)end : d->n;
	if (n >= at + 2 && d->head[at] == 0 && d->head[at + 1] == 1)
		at += 2; /* query attributes: none, one set */
	int w = at <= n ? ty_sql_word(d->head + at, n - at, n == end) : -1;
	if (w < 0)
		return d->n < sizeof d->head ? TY_TOLD_MORE : TY_TOLD_NOTHING;
	d->word = (uint16_t)(w + 1);
	snprintf(text, TY_CLASS_TEXT, "%s%s", what, ty_sql_name((unsigned)w));
	return TY_TOLD_CLASS;
}

static enum ty_told execute(struct ty_dialog *d, size_t at, char *text)
{
	if (d->n < at + 4)
		return TY_TOLD_MORE;
	uint32_t id = le32(d->head + at);
	unsigned word = id == UINT32_MAX ? d->word /* the one prepared last */
					 : ty_statement_word(d->statements, d->connection, id);
	if (word)
		snprintf(text, TY_CLASS_TEXT, "execute %s", ty_sql_name(word - 1));
	else
		strcpy(text, "execute");
	return TY_TOLD_CLASS;
}

static enum ty_told command(struct ty_dialog *d, size_t at, uint64_t end, char *text)
{
	const char *name = plain_name(d->head[at]);
	switch (d->head[at]) {
	case QUERY:
		return text_of(d, at + 1, end, "", text);
	case PREPARE:
		d->preparing = true;
		d->word = 0;
		return text_of(d, at + 1, end, "prepare ", text);
	case EXECUTE:
	case BULK:
		return execute(d, at + 1, text);
	}
	if (!name)
		return TY_TOLD_NOTHING;
	snprintf(text, TY_CLASS_TEXT, "%s", name);
	return TY_TOLD_CLASS;
}

static enum ty_told request(struct ty_dialog *d, char text[TY_CLASS_TEXT])
{
	size_t at = 0;
	for (;;) {
		if (d->n < at + HEAD + 1)
			return TY_TOLD_MORE;
		const uint8_t *p = d->head + at;
		uint64_t end = at + HEAD + le24(p);
		if (p[3]) { /* not the first packet of an exchange: login, or a file that is sent */
			strcpy(text, d->started ? "data" : "startup");
			return TY_TOLD_CLASS;
		}
		d->started = true;
		if (p[HEAD] != CLOSE && p[HEAD] != LONG_DATA)
			return command(d, at + HEAD, end, text);
		if (p[HEAD] == CLOSE) {
			if (d->n < at + HEAD + 5)
				return TY_TOLD_MORE;
			ty_statement_set(d->statements, d->connection, le32(p + HEAD + 1), 0);
		}
		if (end >= sizeof d->head || end <= at + HEAD)
			return TY_TOLD_NOTHING;
		at = (size_t)end; /* has no reply: the next packet is what is waited for */
	}
}

/* ---- replies ---- */

/* The number at *at, lenenc; false: not all of it is here. */
static bool skip_number(const struct ty_dialog *d, size_t *at)
{
	if (*at >= d->nfirst)
		return false;
	uint8_t b = d->first[*at];
	*at += b < 0xfb ? 1u : b == 0xfc ? 3u : b == 0xfd ? 4u : 9u;
	return true;
}

static int status_of(const uint8_t *p)
{
	if (p[0] & MORE_RESULTS)
		return -1;
	return p[0] & IN_TRANS ? TY_SESSION_IN_TRANSACTION : TY_SESSION_IDLE;
}

/* Rows end with an EOF packet, or with an OK packet that has EOF's header. */
static int end_of_rows(const struct ty_dialog *d)
{
	static const uint8_t eof[] = { 5, 0, 0 }, ok[] = { 7, 0, 0 };
	const uint8_t *e = d->last + d->nlast;
	if (d->nlast >= 9 && !memcmp(e - 9, eof, 3) && e[-5] == 0xfe)
		return status_of(e - 2);
	if (d->nlast >= 11 && !memcmp(e - 11, ok, 3) && e[-7] == 0xfe && !e[-6] && !e[-5])
		return status_of(e - 4);
	return -1;
}

static int reply(struct ty_dialog *d)
{
	if (d->nfirst <= HEAD || !d->length)
		return -1;
	const uint8_t *p = d->first;
	if (d->preparing) {
		if (p[HEAD] == 0 && d->nfirst >= HEAD + 5)
			ty_statement_set(d->statements, d->connection, le32(p + HEAD + 1), d->word);
		return -1;
	}
	if (p[HEAD] == 0xff)
		return d->nfirst >= HEAD + 3 && (p[HEAD + 1] | p[HEAD + 2] << 8) == DEADLOCK ? TY_SESSION_IDLE : -1;
	if (p[HEAD] == 0 && d->sent == HEAD + (uint64_t)le24(p)) {
		size_t at = HEAD + 1;
		if (skip_number(d, &at) && skip_number(d, &at) && at + 2 <= d->nfirst)
			return status_of(p + at);
		return -1;
	}
	return end_of_rows(d);
}

const struct ty_protocol ty_protocol_mysql = { "mysql", guess, request, reply };

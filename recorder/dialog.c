/* SPDX-License-Identifier: MIT
 * The bookkeeping of a connection: where a request begins, which protocol it
 * is, what its replies look like from both ends.  Runs in the recorder.  What
 * must stay true: bytes are joined only where none is missing between them. */
#include "recorder/dialog.h"

#include <string.h>

#define GUESSES 4 /* requests; then the connection is left alone */

static const struct ty_protocol *const protocols[] = {
	&ty_protocol_postgresql, &ty_protocol_http, &ty_protocol_redis, &ty_protocol_memcached, &ty_protocol_mysql,
};
#define PROTOCOLS (sizeof protocols / sizeof *protocols)

const struct ty_protocol *ty_protocol_by_name(const char *name)
{
	for (size_t i = 0; i < PROTOCOLS; i++)
		if (!strcmp(protocols[i]->name, name))
			return protocols[i];
	return NULL;
}

void ty_dialog_init(struct ty_dialog *d, const struct ty_protocol *protocol, struct ty_statements *statements)
{
	memset(d, 0, sizeof *d);
	d->protocol = protocol;
	d->state = -1;
	d->refs = 1;
	d->statements = statements;
	d->connection = statements ? statements->connections++ : 0;
}

/* A record of TLS: type 20 to 23, version 3.x.  Only before the first request
 * in clear: later, bytes like these are something else. */
static bool encrypted(const struct ty_dialog *d)
{
	return !d->started && d->n >= 3 && d->head[0] >= 20 && d->head[0] <= 23 && d->head[1] == 3 && d->head[2] <= 4;
}

static void guess(struct ty_dialog *d)
{
	bool more = false;
	for (size_t i = 0; i < PROTOCOLS; i++) {
		enum ty_told t = protocols[i]->guess(d);
		if (t == TY_TOLD_CLASS) {
			d->protocol = protocols[i];
			return;
		}
		more |= t == TY_TOLD_MORE;
	}
	if (more && !d->gap)
		return;
	d->classified = true; /* no further look at this request */
	d->silent = ++d->guesses >= GUESSES;
}

bool ty_dialog_received(struct ty_dialog *d, const uint8_t *data, size_t n, uint64_t length, uint64_t when,
			char text[TY_CLASS_TEXT])
{
	if (d->answered || !d->length) {
		d->n = d->nfirst = d->nlast = 0;
		d->gap = d->classified = d->answered = d->preparing = false;
		d->length = d->sent = 0;
		d->begin = when;
	}
	d->length += length;
	if (d->silent || d->classified)
		return false;
	size_t room = d->gap ? 0 : sizeof d->head - d->n;
	size_t k = n < room ? n : room;
	memcpy(d->head + d->n, data, k);
	d->n = (uint8_t)(d->n + k);
	d->gap |= k < length;
	if (encrypted(d)) {
		d->silent = true;
		return false;
	}
	if (!d->protocol)
		guess(d);
	if (!d->protocol)
		return false;
	enum ty_told t = d->protocol->request(d, text);
	d->classified = t == TY_TOLD_CLASS || (t == TY_TOLD_MORE && d->gap) || t == TY_TOLD_NOTHING;
	return t == TY_TOLD_CLASS;
}

void ty_dialog_sent_unseen(struct ty_dialog *d, uint64_t length)
{
	d->answered = true;
	d->sent += length;
	d->nlast = 0;
}

int ty_dialog_sent(struct ty_dialog *d, const uint8_t *first, const uint8_t *last, uint64_t length)
{
	size_t n = length < TY_REPLY_HALF ? (size_t)length : TY_REPLY_HALF;
	if (!d->length && !d->protocol && !d->sent && ty_mysql_greeting(first, n))
		d->protocol = &ty_protocol_mysql;
	d->answered = true;
	size_t k = d->sent == d->nfirst ? (size_t)TY_REPLY_HALF - d->nfirst : 0;
	k = k < n ? k : n;
	memcpy(d->first + d->nfirst, first, k);
	d->nfirst = (uint8_t)(d->nfirst + k);
	d->sent += length;
	size_t keep = !last ? 0 : d->nlast < TY_REPLY_HALF - n ? d->nlast : TY_REPLY_HALF - n;
	memmove(d->last, d->last + d->nlast - keep, keep);
	if (last)
		memcpy(d->last + keep, last, n);
	d->nlast = (uint8_t)(last ? keep + n : 0);
	if (d->silent || !d->protocol || !d->protocol->reply)
		return -1;
	int state = d->protocol->reply(d);
	if (state < 0 || state == d->state)
		return -1;
	d->state = state;
	return state;
}

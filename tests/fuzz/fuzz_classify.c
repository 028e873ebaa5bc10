/* SPDX-License-Identifier: MIT
 *
 * Fuzzes what the recorder makes of captured bytes: a connection on which
 * anything is received and sent, in any pieces, in any protocol.  Must hold: no
 * access outside of what was captured, a class is short printable text, and a
 * state is one that exists. */
#include <stdlib.h>
#include <string.h>

#include "recorder/dialog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int condition)
{
	if (!condition)
		abort();
}

/* Exactly as many bytes as were captured, so that a step beyond them is seen. */
static void receive(struct ty_dialog *d, const uint8_t *data, size_t n, size_t length, uint64_t when)
{
	char text[TY_CLASS_TEXT];
	uint8_t *copy = malloc(n + 1);
	need(copy != NULL);
	memcpy(copy, data, n);
	memset(text, 'x', sizeof text);
	if (ty_dialog_received(d, copy, n, length, when, text)) {
		size_t len = strnlen(text, sizeof text);
		need(len > 0 && len < sizeof text);
		for (size_t i = 0; i < len; i++)
			need(text[i] >= ' ' && text[i] < 0x7f);
	}
	free(copy);
	need(d->n <= TY_BYTES_MAX && d->nfirst <= TY_REPLY_HALF && d->nlast <= TY_REPLY_HALF);
}

static void send_(struct ty_dialog *d, const uint8_t *data, size_t n, size_t length)
{
	uint8_t *first = malloc(n + 1), *last = malloc(n + 1);
	need(first && last);
	memcpy(first, data, n);
	memcpy(last, data, n);
	int state = ty_dialog_sent(d, first, last, length);
	need(state >= -1 && state <= TY_SESSION_FAILED);
	free(first);
	free(last);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "auto", "mysql", "postgresql", "redis", "memcached", "http", "auto", "mysql" };
	static struct ty_statements *statements;
	struct ty_dialog d;
	uint64_t when = 1;
	if (size < 2)
		return 0;
	if (!statements)
		statements = ty_statements_new(); /* kept: each input is another connection */
	ty_dialog_init(&d, ty_protocol_by_name(names[*data & 7]), statements);
	size_t capture = 1 + (*data >> 3) % TY_BYTES_MAX;
	data++, size--;
	while (size) {
		/* one byte: direction, and how much; then so many bytes, or what is left */
		size_t length = (*data & 0x3f) + 1u, have = size - 1;
		int sent = *data & 0x40, more = *data & 0x80;
		data++, size--;
		size_t most = sent ? TY_REPLY_HALF : capture, n = length < most ? length : most;
		if (n > have)
			length = n = have;
		if (!n)
			break;
		if (sent)
			send_(&d, data, n, length < most ? length : n < most ? n : length + (more ? 1000u : 0));
		else
			receive(&d, data, n, n < capture ? n : length + (more ? 1000u : 0), when++);
		data += n, size -= n;
	}
	return 0;
}

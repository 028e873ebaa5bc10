/* SPDX-License-Identifier: MIT
 * HTTP/1: method and path.  What follows a '?' or '#' is never looked at; a
 * path that goes on beyond the captured bytes ends with "...".  Runs in the
 * recorder. */
#include <string.h>
#include "recorder/dialog.h"

static const char *const methods[] = {
	"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
};

/* Length of the method if the request begins with one and a target: a path, "*" of
 * OPTIONS, another host's; 0: not HTTP; SIZE_MAX: more is needed. */
static size_t method(const struct ty_dialog *d)
{
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		size_t n = strlen(methods[i]);
		if (memcmp(d->head, methods[i], d->n < n ? d->n : n) != 0)
			continue;
		if (d->n < n + 2)
			return d->n <= n || d->head[n] == ' ' ? SIZE_MAX : 0;
		uint8_t target = d->head[n] == ' ' ? d->head[n + 1] : 0;
		return target == '/' || (target == '*' && methods[i][0] == 'O') || target == 'h' ? n : 0;
	}
	return 0;
}

static enum ty_told guess(const struct ty_dialog *d)
{
	size_t n = method(d);
	return n == SIZE_MAX ? TY_TOLD_MORE : n ? TY_TOLD_CLASS : TY_TOLD_NOTHING;
}

/* Does " HTTP/1." follow at head[n], as far as it is seen?  Bytes in the middle of
 * something else may look like a method and a path. */
static bool line_goes_on(const struct ty_dialog *d, size_t n)
{
	static const char version[] = " HTTP/1.";
	size_t k = sizeof version - 1;
	return !memcmp(d->head + n, version, d->n - n < k ? d->n - n : k);
}

static enum ty_told request(struct ty_dialog *d, char text[TY_CLASS_TEXT])
{
	size_t n = method(d);
	if (n == SIZE_MAX)
		return TY_TOLD_MORE;
	if (!n)
		return TY_TOLD_NOTHING;
	d->started = true;
	memcpy(text, d->head, ++n);
	size_t at = n;
	while (n < d->n && d->head[n] > ' ' && d->head[n] < 0x7f && d->head[n] != '?' && d->head[n] != '#') {
		text[n] = (char)d->head[n];
		n++;
	}
	if (n == d->n && n < sizeof d->head && !d->gap)
		return TY_TOLD_MORE;
	if (n < d->n && d->head[n] != '?' && d->head[n] != '#' && d->head[n] < 0x7f && !line_goes_on(d, n))
		return TY_TOLD_NOTHING;
	strcpy(text + n, n == d->n ? "..." : "");
	if (d->head[at] == 'h' || (n < d->n && d->head[n] >= 0x7f)) /* another host's name, or not printable */
		strcpy(text + at, "other");
	return TY_TOLD_CLASS;
}

const struct ty_protocol ty_protocol_http = { "http", guess, request, NULL };

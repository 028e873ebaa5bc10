/* SPDX-License-Identifier: MIT
 *
 * Numbers as people read them.  Runs in readers.  Must stay true: every number
 * carries its unit, and text from a recording cannot control a terminal. */
#include "analyze/fmt.h"
#include "analyze/put.h"

#include <math.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

static char *decimal(char *to, uint64_t n)
{
	char digits[20];
	size_t at = ty_put_digits(digits, n);
	return mempcpy(to, digits + at, sizeof digits - at);
}

static const char *scaled(char buf[TY_FMT], double x, const char *unit)
{
	double a = fabs(x);
	unsigned places = a >= 99.95 ? 0 : a >= 9.995 ? 1 : 2, scale = places == 2 ? 100 : places ? 10 : 1;
	if (!(a < 1e12)) {
		snprintf(buf, TY_FMT, "%.0f %s", x, unit);
		return buf;
	}
	/* not by printf: a dump has one in every line */
	uint64_t n = (uint64_t)(a * scale + 0.5);
	char *to = buf;
	if (x < 0)
		*to++ = '-';
	to = decimal(to, n / scale);
	if (places) {
		*to++ = '.';
		for (unsigned rest = (unsigned)(n % scale); scale /= 10; rest %= scale)
			*to++ = (char)('0' + rest / scale);
	}
	*to++ = ' ';
	strcpy(to, unit);
	return buf;
}

const char *ty_fmt_ns(char buf[TY_FMT], double ns)
{
	static const struct { double size; const char *unit; } units[] = {
		{ 3600e9, "h" }, { 60e9, "min" }, { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" },
	};
	double a = fabs(ns);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (a >= units[i].size * (units[i].size > 1e9 ? 2 : 0.9995))
			return scaled(buf, ns / units[i].size, units[i].unit);
	if (a > 0)
		return strcpy(decimal(stpcpy(buf, ns < 0 ? "-" : ""), (uint64_t)(a + 0.5)), " ns"), buf;
	return strcpy(buf, "0");
}

const char *ty_fmt_count(char buf[TY_FMT], uint64_t n)
{
	char plain[24];
	int len = snprintf(plain, sizeof plain, "%llu", (unsigned long long)n), k = 0;
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf[k++] = ' ';
		buf[k++] = plain[i];
	}
	buf[k] = 0;
	return buf;
}

const char *ty_fmt_bytes(char buf[TY_FMT], uint64_t n)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double x = (double)n / 1024;
	size_t i = 0;
	if (n < 1024) {
		snprintf(buf, TY_FMT, "%u B", (unsigned)n);
		return buf;
	}
	while (x >= 1023.5 && i + 1 < sizeof units / sizeof *units) {
		x /= 1024;
		i++;
	}
	return scaled(buf, x, units[i]);
}

const char *ty_fmt_percent(char buf[TY_FMT], double part)
{
	double x = part * 100;
	snprintf(buf, TY_FMT, "%.*f %%", fabs(x) >= 99.95 ? 0 : 1, fabs(x) < 0.05 ? 0.0 : x); /* no "-0.0" */
	return buf;
}

/* Bytes of the character at p: a whole, well-formed start of UTF-8, else 1. */
static size_t character(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;
	size_t n = *u < 0xc2 ? 1 : *u < 0xe0 ? 2 : *u < 0xf0 ? 3 : *u < 0xf5 ? 4 : 1;
	for (size_t i = 1; i < n; i++)
		if ((u[i] & 0xc0) != 0x80)
			return 1;
	/* longer than needed, half of a pair, beyond the last one */
	bool bad = (*u == 0xe0 && u[1] < 0xa0) || (*u == 0xed && u[1] > 0x9f) || (*u == 0xf0 && u[1] < 0x90) ||
		   (*u == 0xf4 && u[1] > 0x8f);
	return bad ? 1 : n;
}

/* Of n bytes: no part of UTF-8, or one that a terminal obeys. */
static bool unprintable(const char *p, size_t n)
{
	const unsigned char *u = (const unsigned char *)p;
	return n == 1 ? *u < ' ' || *u >= 0x7f : n == 2 && *u == 0xc2 && u[1] < 0xa0;
}

size_t ty_fmt_character(const char *text, bool *shown)
{
	size_t n = character(text);
	*shown = !unprintable(text, n);
	return n;
}

void ty_fmt_put(FILE *out, const char *text)
{
	bool shown;
	for (size_t n; *text; text += n) {
		n = ty_fmt_character(text, &shown);
		if (shown)
			fwrite(text, 1, n, out);
		else
			putc('?', out);
	}
}

bool ty_fmt_plain(const char *text, const char *special)
{
	if (strpbrk(text, special))
		return false;
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || (unsigned char)*text >= 0x7f)
			return false;
	return true;
}

void ty_fmt_much(FILE *out)
{
	static char buffer[1 << 17]; /* glibc takes no size without one */
	__fsetlocking(out, FSETLOCKING_BYCALLER);
	if (!isatty(fileno(out)))
		setvbuf(out, buffer, _IOFBF, sizeof buffer);
}

static size_t copy(char *to, const char *from, size_t columns)
{
	size_t len = 0;
	for (; columns && *from; columns--) {
		size_t n = character(from);
		if (unprintable(from, n))
			to[len++] = '?';
		else
			memcpy(to + len, from, n), len += n;
		from += n;
	}
	to[len] = 0;
	return len;
}

const char *ty_fmt_fit(char *buf, size_t size, const char *text, unsigned width)
{
	size_t columns = 0;
	if (size < 4 * (size_t)width + 1)
		width = (unsigned)((size - 1) / 4);
	for (const char *p = text; *p; p += character(p))
		columns++;
	if (columns <= width || width < 8) {
		copy(buf, text, width);
		return buf;
	}
	size_t head = (width - 3) / 2, tail = width - 3 - head, len = copy(buf, text, head);
	const char *p = text;
	for (size_t i = 0; i < columns - tail; i++)
		p += character(p);
	memcpy(buf + len, "...", 3);
	copy(buf + len + 3, p, tail);
	return buf;
}

const char *ty_fmt_word(char *buf, size_t size, const char *word)
{
	size_t n = 0;
	if ((*word && !strpbrk(word, " \t\n'\"\\$`*?[#~&|;<>(){}!")) || 4 * strlen(word) + 3 > size)
		return word;
	buf[n++] = '\'';
	for (; *word; word++)
		n += (size_t)snprintf(buf + n, size - n, *word == '\'' ? "'\\''" : "%c", *word);
	snprintf(buf + n, size - n, "'");
	return buf;
}

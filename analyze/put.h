/* SPDX-License-Identifier: MIT
 *
 * Numbers for outputs of millions of lines: what printf would write, at a fraction of
 * its time, to a stream that one thread has.  Runs in readers. */
#ifndef TY_PUT_H
#define TY_PUT_H

#include <stdint.h>
#include <stdio.h>

/* The digits of x, at the end of a buffer; returns where they begin. */
static inline size_t ty_put_digits(char digits[20], uint64_t x)
{
	size_t at = 20;
	do
		digits[--at] = (char)('0' + x % 10);
	while (x /= 10);
	return at;
}

/* Decimal, in at least `width` places, the first of them `fill`. */
static inline void ty_put_wide(FILE *out, uint64_t x, unsigned width, char fill)
{
	char digits[20];
	size_t at = ty_put_digits(digits, x);
	for (size_t n = sizeof digits - at; n < width; n++)
		putc_unlocked(fill, out);
	fwrite(digits + at, 1, sizeof digits - at, out);
}

static inline void ty_put_uint(FILE *out, uint64_t x)
{
	ty_put_wide(out, x, 0, ' ');
}

/* 0x1f; returns how long it was */
static inline unsigned ty_put_hex(FILE *out, uint64_t x)
{
	char digits[18];
	size_t at = sizeof digits;
	do
		digits[--at] = "0123456789abcdef"[x % 16];
	while (x /= 16);
	digits[--at] = 'x';
	digits[--at] = '0';
	fwrite(digits + at, 1, sizeof digits - at, out);
	return (unsigned)(sizeof digits - at);
}

/* ns in a unit of 10^places ns, with all digits: 1.234.  width: of what stands before the point. */
static inline void ty_put_ns(FILE *out, int64_t ns, unsigned places, unsigned width)
{
	uint64_t a = ns < 0 ? -(uint64_t)ns : (uint64_t)ns, unit = 1;
	for (unsigned i = 0; i < places; i++)
		unit *= 10;
	if (ns < 0)
		putc('-', out);
	ty_put_wide(out, a / unit, width, ' ');
	putc('.', out);
	ty_put_wide(out, a % unit, places, '0');
}

#endif

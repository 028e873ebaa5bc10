/* SPDX-License-Identifier: MIT
 * Numbers as people read them, and text cut to a width. */
#ifndef TY_FMT_H
#define TY_FMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TY_FMT 32

/* Each writes into buf (TY_FMT bytes) and returns it. */
const char *ty_fmt_ns(char buf[TY_FMT], double ns);       /* "1.23 ms", three digits; 0: "0" */
const char *ty_fmt_count(char buf[TY_FMT], uint64_t n);   /* "1 234 567" */
const char *ty_fmt_bytes(char buf[TY_FMT], uint64_t n);   /* "12.3 MiB" */
const char *ty_fmt_percent(char buf[TY_FMT], double part); /* 0.123 -> "12.3 %" */

/* For an output of millions of lines, before the first one: no locks, for one thread writes
 * it, and a large buffer unless it is a terminal.  One stream a process. */
void ty_fmt_much(FILE *out);

/* The end of a plural: "1 wait", "2 waits". */
static inline const char *ty_fmt_s(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* Text in at most `width` columns: the middle of a long one becomes "...".  UTF-8 aware.
 * size: of buf, at least 4 * width + 1.  Control characters become '?'. */
const char *ty_fmt_fit(char *buf, size_t size, const char *text, unsigned width);

/* A word of a command line as a shell wants it: in quotes if it needs them and has room, four bytes each.
 * Returns word or buf. */
const char *ty_fmt_word(char *buf, size_t size, const char *word);

/* Bytes of the character that text begins with; *shown: it is UTF-8, and no control character. */
size_t ty_fmt_character(const char *text, bool *shown);
/* Text of a recording, with '?' for what is not shown. */
void ty_fmt_put(FILE *out, const char *text);
/* Only visible ASCII and blanks, and none of `special`. */
bool ty_fmt_plain(const char *text, const char *special);

#endif

/* SPDX-License-Identifier: MIT
 * Numbers as people read them, and text cut to a width. */
#ifndef TY_FMT_H
#define TY_FMT_H

#include <stddef.h>
#include <stdint.h>

#define TY_FMT 32

/* Each writes into buf (TY_FMT bytes) and returns it. */
const char *ty_fmt_ns(char buf[TY_FMT], double ns);       /* "1.23 ms", three digits; 0: "0" */
const char *ty_fmt_count(char buf[TY_FMT], uint64_t n);   /* "1 234 567" */
const char *ty_fmt_bytes(char buf[TY_FMT], uint64_t n);   /* "12.3 MiB" */
const char *ty_fmt_percent(char buf[TY_FMT], double part); /* 0.123 -> "12.3 %" */

/* Text in at most `width` columns: the middle of a long one becomes "...".  UTF-8 aware.
 * size: of buf, at least 4 * width + 1.  Control characters become '?'. */
const char *ty_fmt_fit(char *buf, size_t size, const char *text, unsigned width);

#endif

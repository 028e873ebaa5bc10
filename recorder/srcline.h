/* SPDX-License-Identifier: MIT
 * Functions, inlined calls and lines from DWARF; for symbols.c only. */
#ifndef TARRY_RECORDER_SRCLINE_H
#define TARRY_RECORDER_SRCLINE_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

struct ty_srcline;

struct ty_src {
	const char *name; /* as in the file, mangled if the file says how; owned by the Dwarf */
	const char *file; /* NULL if unknown; owned by the Dwarf */
	unsigned line;
};

/* dwarf must outlive it.  NULL: out of memory. */
struct ty_srcline *ty_srcline_new(Dwarf *dwarf);
void ty_srcline_free(struct ty_srcline *s); /* NULL is allowed */

/* Frames at pc (address as in the DWARF), innermost first, at most max; 0 if
 * no function covers it.  With max too small the innermost are left out. */
int ty_srcline_at(struct ty_srcline *s, uint64_t pc, struct ty_src *out, size_t max);

#endif

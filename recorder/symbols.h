/* SPDX-License-Identifier: MIT
 * Names and source lines of code addresses. */
#ifndef TARRY_RECORDER_SYMBOLS_H
#define TARRY_RECORDER_SYMBOLS_H

#include "recorder/elf.h"

struct ty_elf_symbol {
	const char *name; /* demangled, without parameters; never NULL */
	const char *file; /* NULL if unknown */
	unsigned line;    /* 0 if unknown */
	bool inlined;     /* body was inlined into the next symbol */
};

/* The symbols at ELF virtual address vaddr, innermost first: the chain of
 * inlined functions, then the function itself, whose range covers the address;
 * never the nearest one.  exact: vaddr is the address of an instruction; else
 * it is a return address and the call before it is looked up.
 * Returns how many of at most max entries of out were filled; 0 if no symbol
 * covers the address or the file was overwritten since.  With max too small
 * the innermost ones are left out.  Strings live as long as e.
 * Debug information is taken from the file, or by build-id or .gnu_debuglink
 * from this host's usual folders.  The first call of an e reads the symbol
 * tables. */
int ty_symbols_at(struct ty_elf *e, uint64_t vaddr, bool exact, struct ty_elf_symbol *out, size_t max);

/* Calls cb for each variable with a name and a size: its readable name, ELF address
 * and size.  A variable with several names comes several times. */
typedef void ty_variable_cb(void *arg, const char *name, uint64_t vaddr, uint64_t size);
void ty_symbols_variables(struct ty_elf *e, ty_variable_cb *cb, void *arg);
/* "lock", or "table+0x28": the variable that holds the ELF address.  False: none. */
bool ty_symbols_variable_at(struct ty_elf *e, uint64_t vaddr, char *buf, size_t size);

/* Also ask the debuginfod servers of $DEBUGINFOD_URLS, which may take minutes.
 * Only before the first ty_symbols_at of e. */
void ty_symbols_debuginfod(struct ty_elf *e, bool on);

#endif

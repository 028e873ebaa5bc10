/* SPDX-License-Identifier: MIT
 * Inside of struct ty_elf, for elf.c, rows.c, symbols.c and selfcheck.c only. */
#ifndef TARRY_RECORDER_ELF_INT_H
#define TARRY_RECORDER_ELF_INT_H

#include <gelf.h>
#include <time.h>

#include "recorder/elf.h"

struct ty_symbols;

struct ty_elf {
	int fd;
	Elf *elf; /* reads by pread, not mmap: a truncated file must give errors, not SIGBUS */
	GElf_Ehdr ehdr;
	size_t phnum;
	GElf_Phdr *phdr;    /* owned */
	char *path;         /* owned */
	char build_id[129]; /* hex */
	struct ty_module_id id;
	uint64_t size; /* of the file when opened */
	struct timespec mtime;
	struct ty_symbols *symbols; /* made by symbols.c at first use */
};

/* .eh_frame: by its section header, else by PT_GNU_EH_FRAME (then up to the end
 * of the segment's file part).  False when there is none. */
bool ty_elf_eh_frame(struct ty_elf *e, uint64_t *vaddr, uint64_t *offset, uint64_t *size);

/* The program header of this type, or NULL. */
const GElf_Phdr *ty_elf_phdr(const struct ty_elf *e, uint32_t type);

void ty_symbols_free(struct ty_symbols *s); /* symbols.c; NULL is allowed */

#endif

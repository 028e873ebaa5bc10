/* SPDX-License-Identifier: MIT
 *
 * One ELF file as the traced process has it mapped.  The file is opened once
 * and stays open, so that a package upgrade or a deleted plug-in does not take
 * away what a running process still executes.  All addresses are ELF virtual
 * addresses (address in the process minus its load bias).  Recorder only; one
 * thread at a time per ty_elf.
 */
#ifndef TARRY_RECORDER_ELF_H
#define TARRY_RECORDER_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tarry/event.h"

struct ty_elf;

/* Opens path, which must be reachable from here (a caller that traces into
 * another mount namespace passes /proc/PID/root/...).  "[vdso]" opens the
 * kernel's vDSO, which is the same for every process of this host.
 *
 * want: identity sent by the process, or NULL or kind 0 for any.
 * Returns 0 and a *ret that ty_elf_close frees; on failure a negative errno,
 * one line in err and *ret untouched:
 *   -ESTALE   the file is another build than the process mapped
 *   -ENOEXEC  not an ELF file, or damaged headers
 *   -ENOTSUP  not 64-bit x86-64, or an object or core file
 *   others    from open() */
int ty_elf_open(struct ty_elf **ret, const char *path, const struct ty_module_id *want, char *err);
void ty_elf_close(struct ty_elf *e); /* NULL is allowed */

/* Build-id in hex; "" when the file has none.  Owned by e. */
const char *ty_elf_build_id(const struct ty_elf *e);
/* The identity as in include/tarry/module_id.h. */
void ty_elf_id(const struct ty_elf *e, struct ty_module_id *id);
/* Path it was opened by.  Owned by e. */
const char *ty_elf_path(const struct ty_elf *e);
/* True if the file asks for a dynamic loader: LD_PRELOAD has no effect on an
 * executable without one. */
bool ty_elf_has_loader(const struct ty_elf *e);
/* True if the file was written to since it was opened (not: replaced). */
bool ty_elf_changed(const struct ty_elf *e);

/* Calls cb for each undefined dynamic symbol, name without version, valid
 * during the call.  A non-zero result of cb ends it and is returned; else 0. */
int ty_elf_imports(struct ty_elf *e, int (*cb)(void *arg, const char *name), void *arg);

/* Copies n bytes at vaddr as the loader maps them (from the file; zeros beyond
 * the file's part of a segment).  Returns 0, or -EFAULT if [vaddr, vaddr + n)
 * is not inside one loaded segment or cannot be read. */
int ty_elf_read(struct ty_elf *e, uint64_t vaddr, void *buf, size_t n);

#endif

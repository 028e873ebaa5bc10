/* SPDX-License-Identifier: MIT
 * Symbols of a store that has none yet: still being recorded, or its recorder
 * was killed.  Taken from the programs' files on this machine. */
#ifndef TY_LIVE_H
#define TY_LIVE_H

#include <stddef.h>

#include "common/store.h"

struct ty_live;

struct ty_live *ty_live_new(const struct ty_module_info *modules, size_t n); /* NULL: no memory */
/* As ty_store_symbols; n 0: none, or the file is not the one that was recorded. */
const struct ty_symbol *ty_live_symbols(struct ty_live *l, const struct ty_frame *f, size_t *n);
/* "lock", "table+0x28", "server+0x1f80": the static variable at an address of the module; false: there is none. */
bool ty_live_variable(struct ty_live *l, int32_t module, uint64_t offset, char *buf, size_t size);
void ty_live_free(struct ty_live *l);

#endif

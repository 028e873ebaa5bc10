/* SPDX-License-Identifier: MIT
 * What a store says about its recording (named database "meta", JSON values). */
#ifndef TY_META_H
#define TY_META_H

#include <stdint.h>
#include "recorder/recorder.h"

uint64_t ty_realtime(void);
/* At the start: tool, host, command, configuration, locator, state "recording". */
void ty_meta_start(struct ty_recorder *r, char *const *command);
/* While it runs: losses and self-check so far. */
void ty_meta_running(struct ty_recorder *r);
/* At the end, straight into the store: everything that is known only then. */
int ty_meta_end(struct ty_recorder *r, struct ty_store *s, const struct ty_written *w, char *err);

#endif

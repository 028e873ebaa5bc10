/* SPDX-License-Identifier: MIT
 * What a store says about its recording (named database "meta", JSON values). */
#ifndef TY_META_H
#define TY_META_H

#include <jansson.h>
#include <stdint.h>
#include "recorder/recorder.h"

uint64_t ty_realtime(void);
/* Command lines and names are bytes; JSON wants UTF-8: '?' for what is not. */
json_t *ty_meta_text(const char *s);
/* At the start: tool, host, command, configuration, locator, state "recording". */
void ty_meta_start(struct ty_recorder *r, char *const *command);
/* While it runs: losses and self-check so far. */
void ty_meta_running(struct ty_recorder *r);
/* At the end, straight into the store: everything that is known only then.
 * names: also those of objects under an order. */
int ty_meta_end(struct ty_recorder *r, struct ty_store *s, const struct ty_written *w, bool names, char *err);

#endif

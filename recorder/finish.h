/* SPDX-License-Identifier: MIT
 * The end of a recording, and what it lost. */
#ifndef TY_FINISH_H
#define TY_FINISH_H

#include "recorder/recorder.h"

/* Everything that should have been an event and is not. */
uint64_t ty_lost_total(const struct ty_recorder *r, const struct ty_written *w);
/* Names and lines of all addresses seen, into the store. */
int ty_store_names(struct ty_recorder *r, struct ty_store *s, char *err);
/* objects.c: names of the static variables that were waited for, into the store. */
int ty_store_object_names(struct ty_recorder *r, struct ty_store *s, char *err);
/* session.c: deaths and answers that are there within the time. */
void ty_session_wait(struct ty_recorder *r, int ms);
void ty_session_free(struct ty_recorder *r);

#endif

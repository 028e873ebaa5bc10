/* SPDX-License-Identifier: MIT
 * The status line of a running recording, and the one that sums it up. */
#ifndef TY_STATUS_H
#define TY_STATUS_H

#include <stddef.h>
#include "recorder/session.h"

struct ty_status { uint64_t began, shown, events; };

/* Text for a terminal line, when it is time for a new one; else false. */
bool ty_status_line(struct ty_status *t, const struct ty_summary *s, uint64_t now, char *buf, size_t size);
/* True when ty_status_line would say something. */
bool ty_status_due(const struct ty_status *t, uint64_t now);
void ty_status_sum(const char *store, const struct ty_summary *s, char *buf, size_t size);

#endif

/* SPDX-License-Identifier: MIT
 * The dialogs of a process's connections (dialog.h) by descriptor. */
#ifndef TY_CONNECTIONS_H
#define TY_CONNECTIONS_H

#include "recorder/dialog.h"
#include "recorder/recorder.h"

#define TY_CONNECTIONS_MAX (1u << 20) /* descriptors from here on are not followed */

/* A dialog that begins now, in place of one the descriptor had; NULL: no memory,
 * or the process has ended.  Owned by the process. */
struct ty_dialog *ty_connection_new(struct ty_rproc *p, uint64_t fd, const struct ty_protocol *protocol,
				    struct ty_statements *statements);
/* The dialog of a descriptor; one that came by fork or from before the recording
 * has none yet and gets it now. */
struct ty_dialog *ty_connection_of(struct ty_rproc *p, uint64_t fd, const struct ty_protocol *protocol,
				   struct ty_statements *statements);
void ty_connection_copied(struct ty_rproc *p, uint64_t from, uint64_t to);
void ty_connections_close(struct ty_rproc *p, uint64_t first, uint64_t last);
void ty_connections_forget(struct ty_rproc *p); /* it has ended */

#endif

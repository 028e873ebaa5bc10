/* SPDX-License-Identifier: MIT
 * The dialogs of a process by descriptor: copies share one, the last close frees
 * it.  Main thread only. */
#include "recorder/connections.h"

#include <stdlib.h>

static void dialog_put(uint64_t *at)
{
	struct ty_dialog *d = at ? (void *)(uintptr_t)*at : NULL;
	if (!d)
		return;
	*at = 0;
	if (--d->refs)
		return;
	free(d);
}

/* What a process did is looked at after its end, too; but then its connections are gone. */
struct ty_dialog *ty_connection_new(struct ty_rproc *p, uint64_t fd, const struct ty_protocol *protocol,
				    struct ty_statements *statements)
{
	uint64_t *at = fd < TY_CONNECTIONS_MAX && !p->info.ended ? ty_map_put(&p->dialogs, fd) : NULL;
	struct ty_dialog *d = at ? malloc(sizeof *d) : NULL;
	if (!d)
		return NULL;
	dialog_put(at);
	ty_dialog_init(d, protocol, statements);
	*at = (uintptr_t)d;
	return d;
}

struct ty_dialog *ty_connection_of(struct ty_rproc *p, uint64_t fd, const struct ty_protocol *protocol,
				   struct ty_statements *statements)
{
	const uint64_t *at = ty_map_find(&p->dialogs, fd);
	return at && *at ? (void *)(uintptr_t)*at : ty_connection_new(p, fd, protocol, statements);
}

void ty_connections_close(struct ty_rproc *p, uint64_t first, uint64_t last)
{
	if (first == last) {
		dialog_put(ty_map_find(&p->dialogs, first));
		return;
	}
	size_t at = 0;
	uint64_t fd, d;
	while (ty_map_next(&p->dialogs, &at, &fd, &d))
		if (fd >= first && fd <= last)
			dialog_put(ty_map_find(&p->dialogs, fd));
}

void ty_connections_forget(struct ty_rproc *p)
{
	ty_connections_close(p, 0, UINT64_MAX);
	ty_map_free(&p->dialogs);
}

void ty_connection_copied(struct ty_rproc *p, uint64_t from, uint64_t to)
{
	const uint64_t *at = ty_map_find(&p->dialogs, from);
	struct ty_dialog *d = at ? (void *)(uintptr_t)*at : NULL;
	uint64_t *onto = to < TY_CONNECTIONS_MAX && to != from && !p->info.ended ? ty_map_put(&p->dialogs, to) : NULL;
	if (!onto)
		return;
	if (d)
		d->refs++;
	dialog_put(onto);
	*onto = (uintptr_t)d;
}

/* SPDX-License-Identifier: MIT
 *
 * Mapping a running recording's arena for `tarry top`.  Runs in a reader.  Must
 * stay true: what is mapped cannot be written. */
#include "analyze/top_arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "common/err.h"
#include "recorder/arena.h"

int ty_top_map(struct ty_arena **ret, size_t *mapped, const char *locator, char *err)
{
	struct ty_arena *a;
	int e = ty_arena_attach(&a, locator, err);
	if (e)
		return e;
	/* the header says where the slots are */
	size_t size = a->threads_off + TY_THREADS * sizeof(struct ty_thread);
	void *all = mremap(a, sizeof *a, size, MREMAP_MAYMOVE);
	if (all == MAP_FAILED) {
		e = ty_err(err, -errno, "cannot map the arena: %s", strerror(errno));
		ty_arena_detach(a);
		return e;
	}
	mprotect(all, size, PROT_READ);
	*ret = all;
	*mapped = size;
	return 0;
}

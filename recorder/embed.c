/* SPDX-License-Identifier: MIT
 *
 * Symbols of every address that some path goes through, put into the store at
 * the end, so that it reads on another machine and after the files are gone.
 * Recorder's main thread, when the worker has stopped.
 */
#include <stdlib.h>
#include "recorder/finish.h"
/* its struct ty_symbol is not the store's */
#define ty_symbol ty_elf_symbol
#include "recorder/symbols.h"
#undef ty_symbol

#define CHAIN_MAX 64u
#define COMMIT_EVERY 4096u

static int by_module(const void *a, const void *b)
{
	const struct ty_address *x = a, *y = b;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

int ty_store_names(struct ty_recorder *r, struct ty_store *s, char *err)
{
	struct ty_paths *t = &r->paths;
	int rc = 0;
	/* by module and address: debug information is read in its own order */
	if (t->seen_count)
		qsort(t->seen, t->seen_count, sizeof *t->seen, by_module);
	for (size_t i = 0; i < t->seen_count && rc == 0 && !r->stop_early; i++) {
		const struct ty_address *a = &t->seen[i];
		struct ty_elf *e = r->modules.module[a->module].elf;
		struct ty_elf_symbol from[CHAIN_MAX];
		struct ty_symbol y[CHAIN_MAX];
		if (!e)
			continue;
		if (i == 0 || t->seen[i - 1].module != a->module)
			ty_symbols_debuginfod(e, r->set->debuginfod);
		int n = ty_symbols_at(e, a->offset, a->exact, from, CHAIN_MAX);
		for (int k = 0; k < n; k++)
			y[k] = (struct ty_symbol){ from[k].name, from[k].file, from[k].line, from[k].inlined };
		if (n > 0)
			rc = ty_store_put_symbols(s, a->module, a->offset, y, (size_t)n, err);
		if (rc == 0 && i % COMMIT_EVERY == COMMIT_EVERY - 1)
			rc = ty_store_commit(s, false, err);
	}
	return rc;
}

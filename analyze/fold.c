/* SPDX-License-Identifier: MIT
 *
 * Requests again, with sites put together (see fold.h).  Runs in readers.  Must
 * stay true: every row is there, in the same order, with the same time in all. */
#include "analyze/fold.h"

#include "analyze/vec.h"

struct fold {
	uint64_t *x; /* [n] */
	uint32_t *site;
	uint64_t *ns;
	size_t site_cap, ns_cap;
};

static int fold_row(struct fold *f, struct ty_ledger *to, const struct ty_row *row, const uint32_t *site,
		    const uint64_t *ns, const uint32_t *map)
{
	struct ty_row out = *row;
	int e = TY_RESERVE(f->site, f->site_cap, (size_t)row->n + 1, (size_t)256);
	if (!e)
		e = TY_RESERVE(f->ns, f->ns_cap, (size_t)row->n + 1, (size_t)256);
	if (e)
		return e;
	out.n = 0;
	for (uint32_t i = 0; i < row->n; i++) {
		uint32_t k = map[site[i]];
		if (!f->x[k] && ns[i])
			f->site[out.n++] = k;
		f->x[k] += ns[i];
	}
	for (uint32_t i = 0; i < out.n; i++) {
		f->ns[i] = f->x[f->site[i]];
		f->x[f->site[i]] = 0;
	}
	return ty_ledger_add(to, &out, f->site, f->ns);
}

int ty_ledger_fold(struct ty_ledger *from, const uint32_t *const *map, unsigned maps, size_t n,
		   struct ty_ledger *to)
{
	struct fold f = { .x = calloc(n + 1, sizeof *f.x) };
	const struct ty_row *row;
	const uint32_t *site;
	const uint64_t *ns;
	int e = f.x ? ty_ledger_rewind(from) : -ENOMEM;
	while (!e && (e = ty_ledger_next(from, &row, &site, &ns)) == 1) {
		e = 0;
		for (unsigned i = 0; !e && i < maps; i++)
			e = fold_row(&f, &to[i], row, site, ns, map[i]);
	}
	free(f.x);
	free(f.site);
	free(f.ns);
	return e;
}

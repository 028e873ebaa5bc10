/* SPDX-License-Identifier: MIT
 *
 * Symbols by address, for readers.  There can be far more of them than a report
 * names, so unlike the other tables they are not read whole: each row is read
 * when it is first asked for, and kept, also that there is none.  Must stay
 * true: an address is read once per snapshot of the tables, and its answer
 * stays where it is while the cache grows. */
#include <stdlib.h>

#include "common/store_priv.h"

struct ty_known_slot { int32_t module; bool used; uint64_t offset; struct ty_symbol *y; size_t n; };

static struct ty_known_slot *find(struct ty_known_slot *table, size_t slots, int32_t module, uint64_t offset)
{
	uint64_t h = (offset ^ (uint64_t)(uint32_t)module << 48) * 0x9e3779b97f4a7c15ULL;
	for (size_t i = h >> 32;; i++) {
		struct ty_known_slot *e = &table[i & (slots - 1)];
		if (!e->used || (e->module == module && e->offset == offset))
			return e;
	}
}

/* Room for one more, at most half full. */
static bool reserve(struct ty_known *k)
{
	if (2 * k->filled < k->slots)
		return true;
	size_t slots = k->slots ? 2 * k->slots : 1024;
	struct ty_known_slot *t = calloc(slots, sizeof *t);
	if (!t)
		return false;
	for (size_t i = 0; i < k->slots; i++)
		if (k->slot[i].used)
			*find(t, slots, k->slot[i].module, k->slot[i].offset) = k->slot[i];
	free(k->slot);
	k->slot = t;
	k->slots = slots;
	return true;
}

static bool look_up(struct ty_known *k, struct ty_store *s, struct ty_known_slot *e)
{
	MDB_txn *txn;
	uint8_t key[12];
	MDB_val row = { sizeof key, key }, v;
	if (ty_store_begin(s, &txn, NULL) < 0)
		return false;
	ty_key32(key, (uint32_t)e->module);
	ty_key64(key + 4, e->offset);
	/* a damaged name is none */
	if (mdb_get(txn, s->db[TY_DB_SYMBOLS], &row, &v) == 0 && ty_sum_take(s, TY_DB_SYMBOLS, &row, &v))
		ty_get_symbols(&k->mem, &v, &e->y, &e->n);
	mdb_txn_abort(txn);
	return true;
}

const struct ty_symbol *ty_known_symbols(struct ty_known *k, struct ty_store *s, int32_t module, uint64_t offset,
					 size_t *n)
{
	*n = 0;
	if (module < 0 || !reserve(k))
		return NULL;
	struct ty_known_slot *e = find(k->slot, k->slots, module, offset);
	if (!e->used) {
		struct ty_known_slot found = { .module = module, .used = true, .offset = offset };
		if (!look_up(k, s, &found))
			return NULL;
		*e = found;
		k->filled++;
	}
	*n = e->n;
	return e->n ? e->y : NULL;
}

void ty_known_free(struct ty_known *k)
{
	ty_mem_free(&k->mem);
	free(k->slot);
}

/* SPDX-License-Identifier: MIT
 *
 * Checksums of table rows: a changed bit in a name would otherwise be another
 * name.  Runs in the recorder, which appends them, and in readers, which check
 * them and take them off.  Stores of format 1 have none; blocks have their own;
 * meta is text that tells its format first. */
#include <string.h>
#include <xxhash.h>

#include "common/store_priv.h"

bool ty_sum_has(enum ty_db db)
{
	return db != TY_DB_META && db != TY_DB_BLOCKS;
}

/* The key is in it: a row that stands under another's key is damage, too. */
static uint64_t sum(enum ty_db db, const void *key, size_t key_bytes, const void *value, size_t bytes)
{
	return XXH3_64bits_withSeed(value, bytes, XXH3_64bits_withSeed(key, key_bytes, db));
}

void ty_sum_put(uint8_t *to, enum ty_db db, const void *key, size_t key_bytes, const void *value, size_t bytes)
{
	uint64_t x = sum(db, key, key_bytes, value, bytes);
	for (int i = 0; i < TY_SUM_BYTES; i++)
		to[i] = (uint8_t)(x >> 8 * i);
}

bool ty_sum_take(const struct ty_store *s, enum ty_db db, const MDB_val *k, MDB_val *v)
{
	uint8_t want[TY_SUM_BYTES];
	if (s->format < 2 || !ty_sum_has(db))
		return true;
	if (v->mv_size < TY_SUM_BYTES)
		return false;
	v->mv_size -= TY_SUM_BYTES;
	ty_sum_put(want, db, k->mv_data, k->mv_size, v->mv_data, v->mv_size);
	return memcmp(want, (const uint8_t *)v->mv_data + v->mv_size, TY_SUM_BYTES) == 0;
}

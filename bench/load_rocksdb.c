/* SPDX-License-Identifier: MIT
 * RocksDB under load: 8 threads, 100 000 keys of 100 bytes, a cache of 1 MiB in
 * two shards, nine reads to a write.  A request is one call.
 *   load_rocksdb FOLDER COUNTER */
#include <rocksdb/c.h>
#include <string.h>

#include "bench/load.h"

#define KEYS 100000
#define VALUE 100

static rocksdb_t *db;
static rocksdb_readoptions_t *reading;
static rocksdb_writeoptions_t *writing;

static void put(uint64_t n, uint64_t with)
{
	char key[20], value[VALUE], *err = NULL;
	snprintf(key, sizeof key, "%016llu", (unsigned long long)n);
	memset(value, (int)(with & 0xff), sizeof value);
	rocksdb_put(db, writing, key, 16, value, sizeof value, &err);
	load_check(!err, err ? err : "");
}

static void get(uint64_t n)
{
	char key[20], *err = NULL;
	size_t len;
	snprintf(key, sizeof key, "%016llu", (unsigned long long)n);
	char *value = rocksdb_get(db, reading, key, 16, &len, &err);
	load_check(!err && value && len == VALUE, err ? err : "a key is gone");
	free(value);
}

static void *work(void *arg)
{
	uint64_t state = (uintptr_t)arg * 0x9e3779b97f4a7c15u;
	while (!load_over) {
		uint64_t r = load_random(&state);
		if (r % 10 == 0)
			put(r / 16 % KEYS, r >> 32);
		else
			get(r / 16 % KEYS);
		load_done();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char *err = NULL;
	if (argc != 3)
		return 2;
	rocksdb_options_t *o = rocksdb_options_create();
	rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();
	rocksdb_cache_t *cache = rocksdb_cache_create_lru(1 << 20);
	rocksdb_block_based_options_set_block_cache(t, cache);
	rocksdb_options_set_block_based_table_factory(o, t);
	rocksdb_options_set_create_if_missing(o, 1);
	reading = rocksdb_readoptions_create();
	writing = rocksdb_writeoptions_create();
	db = rocksdb_open(o, argv[1], &err);
	load_check(db != NULL, err ? err : "open");
	for (uint64_t i = 0; i < KEYS; i++)
		put(i, i);
	rocksdb_flushoptions_t *f = rocksdb_flushoptions_create();
	rocksdb_flush(db, f, &err);
	load_check(!err, err ? err : "");
	load_run(argv[2], work);
	rocksdb_close(db);
	return 0;
}

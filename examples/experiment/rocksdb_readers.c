// SPDX-License-Identifier: MIT
// usage: rocksdb_readers FOLDER READERS SECONDS LATENCIES
// Readers beside one writer, as db_bench's readwhilewriting: 100 000 keys of 100
// bytes, a block cache far too small for them, as its threads share its mutexes.
// The time of each read goes into the file LATENCIES in ns.
#include <fcntl.h>
#include <pthread.h>
#include <rocksdb/c.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX = 64, KEYS = 100000, VALUE = 100 };
static rocksdb_t *db;
static rocksdb_readoptions_t *reading;
static rocksdb_writeoptions_t *writing;
static uint64_t end;
static int out;

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t random_next(uint64_t *state) /* xorshift64 */
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "rocksdb_readers: %s\n", what);
	exit(1);
}

static void put(uint64_t n, uint64_t with)
{
	char key[20], value[VALUE], *err = NULL;
	snprintf(key, sizeof key, "%016llu", (unsigned long long)n);
	memset(value, (int)(with & 0xff), sizeof value);
	rocksdb_put(db, writing, key, 16, value, sizeof value, &err);
	must(!err, err ? err : "");
}

static void get(uint64_t n)
{
	char key[20], *err = NULL;
	size_t len;
	snprintf(key, sizeof key, "%016llu", (unsigned long long)n);
	char *value = rocksdb_get(db, reading, key, 16, &len, &err);
	must(!err && value && len == VALUE, err ? err : "a key is gone");
	free(value);
}

static void *reader(void *arg)
{
	uint64_t state = (uintptr_t)arg * 0x9e3779b97f4a7c15u, from = now_ns();
	size_t size = 0;
	char *text;
	FILE *mine = open_memstream(&text, &size);
	must(mine != NULL, "memory");
	while (from < end) {
		get(random_next(&state) % KEYS);
		uint64_t to = now_ns();
		fprintf(mine, "%llu\n", (unsigned long long)(to - from));
		from = now_ns();
	}
	fclose(mine);
	must(write(out, text, size) == (ssize_t)size, "latencies"); /* O_APPEND: in one piece */
	free(text);
	return NULL;
}

static void *writer(void *arg)
{
	uint64_t state = (uintptr_t)arg;
	while (now_ns() < end) {
		uint64_t r = random_next(&state);
		put(r / 256 % KEYS, r);
	}
	return NULL;
}

static void open_db(const char *folder)
{
	char *err = NULL;
	rocksdb_options_t *o = rocksdb_options_create();
	rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();
	rocksdb_block_based_options_set_block_cache(t, rocksdb_cache_create_lru(1 << 20));
	rocksdb_options_set_block_based_table_factory(o, t);
	rocksdb_options_set_create_if_missing(o, 1);
	rocksdb_options_set_write_buffer_size(o, 1 << 20);
	reading = rocksdb_readoptions_create();
	writing = rocksdb_writeoptions_create();
	db = rocksdb_open(o, folder, &err);
	must(db != NULL, err ? err : "open");
	for (uint64_t i = 0; i < KEYS; i++)
		put(i, i);
	rocksdb_flush(db, rocksdb_flushoptions_create(), &err);
	must(!err, err ? err : "");
}

int main(int argc, char **argv)
{
	pthread_t t[MAX], w;
	if (argc != 5)
		return 2;
	int readers = atoi(argv[2]);
	out = open(argv[4], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (out < 0 || readers < 1 || readers > MAX)
		return 2;
	open_db(argv[1]);
	end = now_ns() + (uint64_t)(1e9 * atof(argv[3]));
	must(pthread_create(&w, NULL, writer, (void *)99) == 0, "pthread_create");
	for (uintptr_t i = 0; i < (uintptr_t)readers; i++)
		must(pthread_create(&t[i], NULL, reader, (void *)(i + 1)) == 0, "pthread_create");
	for (int i = 0; i < readers; i++)
		pthread_join(t[i], NULL);
	pthread_join(w, NULL);
	rocksdb_close(db);
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * A buffer pool: pages of a file, some of them in memory, the least recently used
 * replaced first.
 */
#ifndef POOL_H
#define POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "../../policies/llu.h"

#define PAGE_BYTES 4096u
#define PAGE_WORDS (PAGE_BYTES / 8)

struct frame {
	uint32_t page;         /* NO_PAGE: none.  Changed with both the LRU mutex and the bucket's */
	uint32_t pins;         /* bucket's mutex; pinned: stays where it is */
	bool dirty;            /* latch, or nobody has it pinned */
	pthread_mutex_t latch; /* what is in the page; held while it is read from the file */
	struct frame *older, *younger; /* LRU mutex */
	struct frame *next;    /* of the bucket */
	uint64_t *words;
};

struct bucket {
	pthread_mutex_t mutex;
	struct frame *first;
};

struct pool {
	int fd;
	uint64_t bound_ns;     /* how long a hit waits for the LRU mutex; UINT64_MAX: as long as it takes */
	uint32_t scan;         /* how many of the oldest a miss looks at for one that need not be written */
	uint32_t frames, buckets;
	struct frame *frame;
	struct bucket *bucket;
	unsigned char *memory;
	pthread_mutex_t lru;
	struct frame *oldest, *youngest;
	uint64_t hits, misses, written; /* atomic */
};

int pool_open(struct pool *p, int fd, uint32_t frames, uint32_t scan, uint64_t bound_ns); /* 0 or -1 with errno */
/* The page, pinned and latched; NULL with errno: it cannot be read. */
struct frame *pool_get(struct pool *p, uint32_t page, struct llu_backlog *backlog);
void pool_put(struct pool *p, struct frame *f, bool changed);
/* Writes what has changed; the pool is in nobody else's use.  False: it is not
 * what it should be, or could not be written. */
bool pool_close(struct pool *p);

#endif

/* SPDX-License-Identifier: MIT
 *
 * A small write-ahead log in one file.  Records lie one behind the other from
 * its beginning; one that is not whole, or zeros, ends the log.
 */
#ifndef WAL_H
#define WAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wal_mode {
	WAL_EACH,       /* each commit writes its record and flushes by itself */
	WAL_EAGER,      /* one commit writes and flushes for all who wait by then */
	WAL_LAZY_FLUSH, /* a commit writes; a thread flushes every interval.  Not durable */
	WAL_LAZY_WRITE, /* a commit leaves its record in memory; a thread writes and flushes.  Not durable */
	WAL_MODES
};
extern const char *const wal_mode_name[WAL_MODES];

struct wal_record {
	uint64_t sequence;
	uint32_t bytes; /* with this head */
	uint32_t sum;   /* of all but itself */
};

struct wal {
	int fd;
	enum wal_mode mode;
	size_t block;           /* written in whole blocks of so many bytes, one call each */
	uint64_t interval_ns;
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* flushed or busy has, or stop */
	unsigned char *tail;    /* from tail_at, a multiple of block, to end */
	uint64_t tail_at, end;
	uint64_t written, flushed;
	bool busy, stop, failed;
	unsigned waiting;       /* commits that are not through; atomic, a hint for who chooses a log */
	pthread_t thread;
};

#define WAL_TAIL (16u << 20) /* bytes that may wait to be written */
#define WAL_RECORD_MAX (1u << 20)

/* 0 or -1 with errno. */
int wal_open(struct wal *w, const char *path, enum wal_mode mode, size_t block, uint64_t interval_ns);
/* Appends a record with `bytes` bytes that follow from its sequence number, and
 * returns when it is as safe as the mode makes it; at: where it lies. */
int wal_commit(struct wal *w, uint64_t sequence, size_t bytes, uint64_t *at);
/* Writes and flushes what is left. */
int wal_close(struct wal *w);

/* Calls `each` for every whole record from the beginning of the file on; the
 * number of them, or -1 with errno. */
int64_t wal_read(const char *path, void (*each)(void *context, uint64_t sequence), void *context);
/* Is the record there? */
bool wal_has(int fd, uint64_t at, uint64_t sequence);

#endif

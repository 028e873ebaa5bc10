/* SPDX-License-Identifier: MIT
 *
 * The log.  `mutex` guards everything but the calls on the file: a record is put
 * behind the last one in memory (`tail`); whoever is `busy` has the right to
 * write from there.  In the mode `each` a commit writes its own record at its own
 * place, so that commits meet in the flush only.
 */
#include "wal.h"
#include "../load/load.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const wal_mode_name[WAL_MODES] = {"each", "eager", "lazy-flush", "lazy-write"};

/* ---- records ---- */

static uint32_t sum_of(const unsigned char *record, size_t bytes)
{
	uint32_t h = 2166136261u;
	for (size_t i = 0; i < bytes; i++)
		if (i < offsetof(struct wal_record, sum) || i >= sizeof(struct wal_record))
			h = (h ^ record[i]) * 16777619u;
	return h | 1; /* zeros are no record */
}

static void make_record(unsigned char *to, uint64_t sequence, size_t bytes)
{
	struct wal_record r = {.sequence = sequence, .bytes = (uint32_t)(sizeof r + bytes)};
	memcpy(to, &r, sizeof r);
	for (size_t i = 0; i < bytes; i++)
		to[sizeof r + i] = (unsigned char)(sequence * 131 + i * 7 + 1);
	r.sum = sum_of(to, r.bytes);
	memcpy(to, &r, sizeof r);
}

/* A whole record at the beginning of these bytes? */
static bool whole(const unsigned char *p, uint64_t bytes, struct wal_record *r)
{
	if (bytes < sizeof *r)
		return false;
	memcpy(r, p, sizeof *r);
	return r->bytes >= sizeof *r && r->bytes <= bytes && r->bytes <= sizeof *r + WAL_RECORD_MAX &&
	       sum_of(p, r->bytes) == r->sum;
}

/* ---- the file ---- */

static int write_all(int fd, const unsigned char *p, size_t n, uint64_t at)
{
	while (n) {
		ssize_t k = pwrite(fd, p, n, (off_t)at);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return -1;
		p += k;
		n -= (size_t)k;
		at += (uint64_t)k;
	}
	return 0;
}

/* From `from` to `to`, in whole blocks, from a copy of them. */
static int write_blocks(const struct wal *w, const unsigned char *copy, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to; at += w->block)
		if (write_all(w->fd, copy + (at - from), w->block, at) != 0)
			return -1;
	return 0;
}

/* ---- writing and flushing for others; with the mutex held, without it during the calls ---- */

/* Drops the whole blocks that are written. */
static void shorten_tail(struct wal *w)
{
	uint64_t keep = w->written / w->block * w->block, drop = keep - w->tail_at;
	memmove(w->tail, w->tail + drop, w->end - keep);
	memset(w->tail + (w->end - keep), 0, drop);
	w->tail_at = keep;
}

static unsigned char *copy_of_blocks(const struct wal *w, uint64_t *from)
{
	*from = w->tail_at;
	size_t n = (size_t)(w->end - w->tail_at + w->block - 1) / w->block * w->block;
	unsigned char *copy = malloc(n ? n : 1);
	if (copy)
		memcpy(copy, w->tail, n);
	return copy;
}

/* What a failed write or flush has lost is not known, and no later one makes it good. */
static void note(struct wal *w, bool bad, uint64_t *reached, uint64_t to)
{
	if (bad)
		w->failed = true;
	else if (*reached < to)
		*reached = to;
}

/* The caller is busy.  Everything that is in the log now is written. */
static void write_tail(struct wal *w)
{
	uint64_t from, to = w->end;
	unsigned char *copy = copy_of_blocks(w, &from);
	pthread_mutex_unlock(&w->mutex);
	bool bad = !copy || write_blocks(w, copy, from, to) != 0;
	free(copy);
	pthread_mutex_lock(&w->mutex);
	note(w, bad, &w->written, to);
	if (!bad)
		shorten_tail(w);
}

static void flush_written(struct wal *w)
{
	uint64_t to = w->written;
	pthread_mutex_unlock(&w->mutex);
	bool bad = fdatasync(w->fd) != 0;
	pthread_mutex_lock(&w->mutex);
	note(w, bad, &w->flushed, to);
}

static void bring_up(struct wal *w, bool flush)
{
	w->busy = true;
	if (w->written < w->end)
		write_tail(w);
	if (flush && !w->failed)
		flush_written(w);
	w->busy = false;
	pthread_cond_broadcast(&w->changed);
}

/* Until the log is written, or flushed, up to there: by others, or else by the caller for all. */
static void await(struct wal *w, const uint64_t *reached, uint64_t up_to, bool flush)
{
	while (*reached < up_to && !w->failed) {
		if (w->busy)
			pthread_cond_wait(&w->changed, &w->mutex);
		else
			bring_up(w, flush);
	}
}

/* A flush keeps nobody from writing. */
static void *run_flusher(void *arg)
{
	struct wal *w = arg;
	uint64_t at = now_ns();
	pthread_mutex_lock(&w->mutex);
	while (!w->stop && !w->failed) {
		at += w->interval_ns;
		struct timespec due = {(time_t)(at / 1000000000u), (long)(at % 1000000000u)};
		while (!w->stop && pthread_cond_clockwait(&w->changed, &w->mutex, CLOCK_MONOTONIC, &due) == 0)
			;
		while (w->busy)
			pthread_cond_wait(&w->changed, &w->mutex);
		if (w->mode == WAL_LAZY_WRITE && w->written < w->end)
			bring_up(w, false);
		if (w->flushed < w->written && !w->failed)
			flush_written(w);
	}
	pthread_mutex_unlock(&w->mutex);
	return NULL;
}

/* ---- commits ---- */

/* Room for a record, with the mutex held. */
static bool make_room(struct wal *w, size_t bytes)
{
	while (w->end - w->tail_at + bytes + w->block > WAL_TAIL && !w->failed) {
		if (w->busy)
			pthread_cond_wait(&w->changed, &w->mutex);
		else
			bring_up(w, false);
	}
	return !w->failed;
}

static int commit_each(struct wal *w, uint64_t sequence, size_t bytes, uint64_t *at)
{
	size_t n = sizeof(struct wal_record) + bytes;
	unsigned char *record = malloc(n);
	if (!record)
		return -1;
	make_record(record, sequence, bytes);
	pthread_mutex_lock(&w->mutex);
	*at = w->end;
	w->end += n;
	bool bad = w->failed;
	pthread_mutex_unlock(&w->mutex);
	bad = bad || write_all(w->fd, record, n, *at) != 0 || fdatasync(w->fd) != 0;
	free(record);
	if (!bad)
		return 0;
	pthread_mutex_lock(&w->mutex);
	w->failed = true;
	pthread_mutex_unlock(&w->mutex);
	return -1;
}

static int commit_together(struct wal *w, uint64_t sequence, size_t bytes, uint64_t *at)
{
	size_t n = sizeof(struct wal_record) + bytes;
	pthread_mutex_lock(&w->mutex);
	bool bad = !make_room(w, n);
	if (!bad) {
		*at = w->end;
		make_record(w->tail + (w->end - w->tail_at), sequence, bytes);
		w->end += n;
		if (w->mode == WAL_EAGER)
			await(w, &w->flushed, *at + n, true);
		else if (w->mode == WAL_LAZY_FLUSH)
			await(w, &w->written, *at + n, false);
		bad = w->failed;
	}
	pthread_mutex_unlock(&w->mutex);
	return bad ? -1 : 0;
}

int wal_commit(struct wal *w, uint64_t sequence, size_t bytes, uint64_t *at)
{
	if (bytes > WAL_RECORD_MAX) {
		errno = EINVAL;
		return -1;
	}
	__atomic_fetch_add(&w->waiting, 1, __ATOMIC_RELAXED);
	int r = (w->mode == WAL_EACH ? commit_each : commit_together)(w, sequence, bytes, at);
	__atomic_fetch_sub(&w->waiting, 1, __ATOMIC_RELAXED);
	return r;
}

/* ---- opening, closing ---- */

int wal_open(struct wal *w, const char *path, enum wal_mode mode, size_t block, uint64_t interval_ns)
{
	memset(w, 0, sizeof *w);
	w->mode = mode;
	w->block = block;
	w->interval_ns = interval_ns;
	pthread_mutex_init(&w->mutex, NULL);
	pthread_cond_init(&w->changed, NULL);
	w->tail = calloc(1, WAL_TAIL);
	w->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (!w->tail || w->fd < 0)
		return -1;
	bool thread = mode == WAL_LAZY_FLUSH || mode == WAL_LAZY_WRITE;
	if (thread && (errno = pthread_create(&w->thread, NULL, run_flusher, w)) != 0)
		return -1;
	return 0;
}

int wal_close(struct wal *w)
{
	bool thread = w->mode == WAL_LAZY_FLUSH || w->mode == WAL_LAZY_WRITE;
	pthread_mutex_lock(&w->mutex);
	w->stop = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->mutex);
	if (thread)
		pthread_join(w->thread, NULL);
	pthread_mutex_lock(&w->mutex);
	if (w->mode != WAL_EACH && w->flushed < w->end && !w->failed)
		bring_up(w, true);
	pthread_mutex_unlock(&w->mutex);
	int bad = w->failed;
	if (close(w->fd) != 0)
		bad = 1;
	free(w->tail);
	return bad ? -1 : 0;
}

/* ---- reading ---- */

int64_t wal_read(const char *path, void (*each)(void *context, uint64_t sequence), void *context)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int64_t n = -1;
	if (fd < 0)
		return -1;
	unsigned char *all = fstat(fd, &st) == 0 ? malloc((size_t)st.st_size + 1) : NULL;
	if (all && pread(fd, all, (size_t)st.st_size, 0) == st.st_size) {
		struct wal_record r;
		uint64_t at = 0;
		for (n = 0; whole(all + at, (uint64_t)st.st_size - at, &r); n++, at += r.bytes)
			each(context, r.sequence);
	}
	free(all);
	close(fd);
	return n;
}

bool wal_has(int fd, uint64_t at, uint64_t sequence)
{
	struct wal_record r;
	if (pread(fd, &r, sizeof r, (off_t)at) != (ssize_t)sizeof r || r.bytes < sizeof r ||
	    r.bytes > sizeof r + WAL_RECORD_MAX)
		return false;
	unsigned char *record = malloc(r.bytes);
	bool has = record && pread(fd, record, r.bytes, (off_t)at) == (ssize_t)r.bytes && whole(record, r.bytes, &r) &&
		   r.sequence == sequence;
	free(record);
	return has;
}

/* SPDX-License-Identifier: MIT
 *
 * The arena file, in the recorder: creation, growth by whole backed chunks,
 * the stock in the ready queue, room for row tables.  Only the drain's thread
 * calls these.  What must stay true: a chunk is backed before its number is
 * published, its header is zero when it becomes ready, and the book (state,
 * seq) is never read from shared memory.
 */
#include "recorder/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/err.h"
#include "recorder/orders.h"
#include "recorder/proc.h"

#define STOCK_MIN 192u             /* 3 MiB: half a second of 100 k events/s when every CPU is taken */
#define STOCK_SILENT 1024u         /* 16 MiB */
#define ROWS_KEPT 8u               /* part of the arena that rings leave to rows */
#define RINGS_KEPT 4u              /* and the other way round */
#define WINDOW_NS 250000000ull
#define START_WAIT_MS 1000

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* Backs chunks [backed, backed + n); false: no memory or no room. */
static bool grow(struct ty_arena_file *f, uint32_t n)
{
	if (n > f->limit - f->backed)
		return false;
	off_t off = (off_t)(f->control + (uint64_t)f->backed * TY_CHUNK);
	int rc;
	do {
		rc = fallocate(f->fd, 0, off, (off_t)n * TY_CHUNK);
	} while (rc < 0 && errno == EINTR);
	if (rc < 0) {
		f->grow_failed++;
		f->grow_errno = errno;
		return false;
	}
	f->backed += n;
	return true;
}

static void fill_conf(struct ty_conf *c, const struct ty_settings *s)
{
	c->min_path_ns = s->min_path_ns;
	c->class_mask = s->class_mask;
	c->self_check = s->self_check;
	c->depth = s->depth < 1 ? 1 : s->depth > TY_FRAMES_MAX ? TY_FRAMES_MAX : s->depth;
	c->children = s->children;
	c->start_wait_ms = START_WAIT_MS;
	c->capture_bytes = s->capture_bytes;
	snprintf(c->only, sizeof c->only, "%s", s->only);
}

static int fill_header(struct ty_arena_file *f, const struct ty_settings *s, uint64_t reserve, char *err)
{
	struct ty_arena *a = f->a;
	if (getrandom(a->token, sizeof a->token, 0) != sizeof a->token)
		return ty_err(err, -EIO, "no random numbers for the arena's token");
	a->magic = TY_MAGIC;
	a->abi = TY_ABI;
	a->fingerprint = ty_fingerprint();
	a->owner_pid = getpid();
	a->owner_start = ty_proc_start(getpid());
	a->word_size = sizeof(void *);
	a->reserve = reserve;
	snprintf(a->version, sizeof a->version, "%s", TY_VERSION);
	a->threads_off = round_up(sizeof *a, 4096);
	a->chunk_off = f->control;
	fill_conf(&a->conf, s);
	ty_orders_fill(&a->orders.conf, &s->orders);
	for (uint32_t i = 0; i < TY_THREADS; i++)
		atomic_init(&ty_arena_thread(a, i)->wait_op, UINT32_MAX);
	atomic_init(&a->heartbeat, ty_now());
	atomic_init(&a->enabled, !s->paused);
	int n = snprintf(f->locator, sizeof f->locator, "/proc/%d/fd/%d:", getpid(), f->fd);
	for (unsigned i = 0; i < sizeof a->token; i++)
		n += snprintf(f->locator + n, sizeof f->locator - (size_t)n, "%02x", a->token[i]);
	return 0;
}

int ty_arena_create(struct ty_arena_file *f, const struct ty_settings *s, char *err)
{
	memset(f, 0, sizeof *f);
	f->control = round_up(round_up(sizeof(struct ty_arena), 4096) + TY_THREADS * sizeof(struct ty_thread),
			      TY_CHUNK);
	uint64_t reserve = s->arena_bytes / TY_CHUNK * TY_CHUNK;
	uint64_t least = f->control + (STOCK_MIN + STOCK_MIN / 4) * TY_CHUNK;
	uint64_t most = f->control + (uint64_t)TY_CHUNKS_MAX * TY_CHUNK;
	reserve = reserve < least ? least : reserve > most ? most : reserve;
	f->limit = (uint32_t)((reserve - f->control) / TY_CHUNK);
	f->state = calloc(f->limit, sizeof *f->state);
	f->seq = calloc(f->limit, sizeof *f->seq);
	f->spare = calloc(f->limit, sizeof *f->spare);
	f->fd = memfd_create("tarry", MFD_CLOEXEC);
	int rc;
	if (f->fd < 0 || !f->state || !f->seq || !f->spare) {
		rc = ty_err(err, -errno, "cannot create the arena: %s", strerror(errno));
		goto fail;
	}
	/* only the owner's processes may open it by /proc/PID/fd/N */
	if (fchmod(f->fd, 0600) < 0 || fallocate(f->fd, 0, 0, (off_t)f->control) < 0) {
		rc = ty_err(err, -errno, "cannot allocate the arena's %llu KiB: %s",
			    (unsigned long long)f->control >> 10, strerror(errno));
		goto fail;
	}
	f->a = mmap(NULL, reserve, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	if (f->a == MAP_FAILED) {
		f->a = NULL;
		rc = ty_err(err, -errno, "cannot map the arena: %s", strerror(errno));
		goto fail;
	}
	madvise(f->a, reserve, MADV_DONTDUMP);
	rc = fill_header(f, s, reserve, err);
	if (rc < 0)
		goto fail;
	ty_arena_stock(f, ty_now());
	if (f->backed < STOCK_MIN) {
		rc = ty_err(err, -ENOMEM, "no memory for the arena's first rings");
		goto fail;
	}
	return 0;
fail:
	ty_arena_destroy(f);
	return rc;
}

void ty_arena_destroy(struct ty_arena_file *f)
{
	if (f->a) {
		uint64_t reserve = f->control + (uint64_t)f->limit * TY_CHUNK;
		atomic_store_explicit(&f->a->closed, 1, memory_order_relaxed);
		munmap(f->a, reserve);
	}
	if (f->fd >= 0)
		close(f->fd);
	free(f->state);
	free(f->seq);
	free(f->spare);
	memset(f, 0, sizeof *f);
	f->fd = -1;
}

/* Takes so far, as the traced side says; nonsense reads as "all of them". */
static uint32_t taken(const struct ty_arena_file *f)
{
	uint32_t t = (uint32_t)atomic_load_explicit(&f->a->ready_take, memory_order_acquire);
	return f->ready - t <= TY_READY ? t : f->ready;
}

uint32_t ty_arena_ready(const struct ty_arena_file *f)
{
	return f->ready - taken(f);
}

static bool put_ready(struct ty_arena_file *f, uint32_t chunk)
{
	f->seq[chunk] = f->ready;
	f->state[chunk] = TY_CHUNK_READY;
	if (!ty_ready_put(f->a, chunk)) {
		f->state[chunk] = TY_CHUNK_UNUSED;
		return false;
	}
	f->ready++;
	return true;
}

/* Chunks that rings may have backed: an eighth of the arena is kept for modules'
 * rows whatever rings want, for what is mapped after a burst needs its table, too. */
static uint32_t for_rings(const struct ty_arena_file *f)
{
	uint32_t kept = f->limit / ROWS_KEPT;
	return kept > f->rows_chunks ? f->limit - (kept - f->rows_chunks) : f->limit;
}

void ty_arena_stock(struct ty_arena_file *f, uint64_t now)
{
	uint32_t take = taken(f), used = take - f->window_take;
	if (used > f->recent)
		f->recent = used;
	if (now - f->window_start >= WINDOW_NS) {
		f->recent = used;
		f->window_take = take;
		f->window_start = now;
	}
	uint32_t want = 2 * f->recent > STOCK_MIN ? 2 * f->recent : STOCK_MIN, have = f->ready - take;
	/* threads without a ring may all want one in the same instant */
	uint32_t silent = f->silent < STOCK_SILENT ? f->silent : STOCK_SILENT;
	if (want < silent + STOCK_MIN / 2)
		want = silent + STOCK_MIN / 2;
	if (want > TY_READY)
		want = TY_READY;
	for (; have < want && f->spares; have++)
		if (!put_ready(f, f->spare[--f->spares])) {
			f->spares++;
			return;
		}
	uint32_t first = f->backed, n = want - have, limit = for_rings(f);
	if (have >= want || now < f->retry_at || f->backed >= limit)
		return;
	if (n > limit - f->backed)
		n = limit - f->backed;
	if (!grow(f, n)) {
		f->retry_at = now + TY_ARENA_RETRY_NS;
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!put_ready(f, first + i))
			f->spare[f->spares++] = first + i;
}

bool ty_arena_link(struct ty_arena_file *f, uint32_t chunk_plus_1)
{
	uint32_t c = chunk_plus_1 - 1;
	if (chunk_plus_1 == 0 || c >= f->backed || f->state[c] != TY_CHUNK_READY)
		return false;
	/* still in the queue: nobody can have it yet */
	if ((int32_t)(f->seq[c] - taken(f)) >= 0)
		return false;
	f->state[c] = TY_CHUNK_LINKED;
	return true;
}

void ty_arena_unlink(struct ty_arena_file *f, uint32_t chunk)
{
	struct ty_chunk *c = ty_arena_chunk(f->a, chunk);
	atomic_store_explicit(&c->committed, 0, memory_order_relaxed);
	atomic_store_explicit(&c->next, 0, memory_order_relaxed);
	/* ready_put's release publishes the zeroed header */
	if (!put_ready(f, chunk))
		f->spare[f->spares++] = chunk;
}

int ty_arena_publish(struct ty_arena_file *f, const struct ty_module_id *id, const struct ty_rows *rows, size_t bytes)
{
	uint32_t i = atomic_load_explicit(&f->a->module_count, memory_order_relaxed);
	if (i >= TY_MODULES)
		return -ENOSPC;
	struct ty_module *m = &f->a->module[i];
	*m = (struct ty_module){ .id = *id, .state = TY_MODULE_NO_ROWS };
	uint32_t n = (uint32_t)((bytes + TY_CHUNK - 1) / TY_CHUNK), first = f->backed;
	int rc = 0;
	/* rings keep a quarter of the arena whatever modules want */
	if (rows && (f->rows_chunks + n > f->limit - f->limit / RINGS_KEPT || n > f->limit - f->backed)) {
		f->rows_refused++;
		rc = -ENOSPC;
	} else if (rows) {
		if (!grow(f, n))
			return -EAGAIN;
		memset(f->state + first, TY_CHUNK_ROWS, n);
		memcpy(ty_arena_chunk(f->a, first), rows, bytes);
		m->rows_off_chunk = first;
		m->state = TY_MODULE_READY;
		f->rows_chunks += n;
	}
	atomic_store_explicit(&f->a->module_count, i + 1, memory_order_release);
	return rc;
}

/* "/proc/PID/fd/N:TOKEN"; the file's path and the token of a locator. */
static bool parse_locator(const char *locator, char *path, size_t size, uint8_t token[16])
{
	const char *colon = strrchr(locator, ':');
	if (!colon || strlen(colon + 1) != 32 || strncmp(locator, "/proc/", 6) || (size_t)(colon - locator) >= size)
		return false;
	memcpy(path, locator, (size_t)(colon - locator));
	path[colon - locator] = 0;
	for (int i = 0; i < 16; i++) {
		unsigned v;
		if (sscanf(colon + 1 + 2 * i, "%2x", &v) != 1)
			return false;
		token[i] = (uint8_t)v;
	}
	return true;
}

int ty_arena_attach(struct ty_arena **ret, const char *locator, char *err)
{
	char path[64];
	uint8_t token[16];
	struct stat st;
	if (!parse_locator(locator, path, sizeof path, token))
		return ty_err(err, -EINVAL, "the store's arena locator cannot be read");
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return ty_err(err, -errno, errno == EACCES || errno == EPERM ?
			      "not permitted to reach the recorder (run as the same user)" :
			      "the recorder of this store has ended");
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size < sizeof(struct ty_arena)) {
		close(fd);
		return ty_err(err, -ESRCH, "the recorder of this store has ended");
	}
	struct ty_arena *a = mmap(NULL, sizeof *a, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (a == MAP_FAILED)
		return ty_err(err, -errno, "cannot map the arena: %s", strerror(errno));
	int rc = 0;
	if (a->magic != TY_MAGIC || memcmp(a->token, token, sizeof token) != 0)
		rc = ty_err(err, -ESRCH, "the recorder of this store has ended");
	else if (a->abi != TY_ABI || a->fingerprint != ty_fingerprint())
		rc = ty_err(err, -EPROTO, "the recording runs with another version of tarry (%.31s)", a->version);
	if (rc < 0) {
		munmap(a, sizeof *a);
		return rc;
	}
	*ret = a;
	return 0;
}

void ty_arena_detach(struct ty_arena *a)
{
	munmap(a, sizeof *a);
}

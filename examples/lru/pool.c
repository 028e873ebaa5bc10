/* SPDX-License-Identifier: MIT
 *
 * The pool.  Locks, in the order in which they are taken: the LRU mutex (the
 * list, and which page is in which frame), a bucket's mutex (who is in it, and
 * pins).  A latch is waited for with the page pinned and nothing else held.
 *
 * A hit moves its page to the young end of the list.  That is what may be late:
 * with a bound, the hit does not wait longer than that for the LRU mutex, and
 * leaves the move in its thread's backlog.  A miss needs the mutex in any case.
 */
#include "pool.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NO_PAGE UINT32_MAX

static struct bucket *bucket_of(const struct pool *p, uint32_t page)
{
	return &p->bucket[(page * 2654435761u) % p->buckets];
}

/* ---- the list, with the LRU mutex held ---- */

static void take_out(struct pool *p, struct frame *f)
{
	*(f->older ? &f->older->younger : &p->oldest) = f->younger;
	*(f->younger ? &f->younger->older : &p->youngest) = f->older;
}

static void put_young(struct pool *p, struct frame *f)
{
	f->younger = NULL;
	f->older = p->youngest;
	*(p->youngest ? &p->youngest->younger : &p->oldest) = f;
	p->youngest = f;
}

static void make_young(struct pool *p, struct frame *f)
{
	if (f == p->youngest)
		return;
	take_out(p, f);
	put_young(p, f);
}

/* An item of the backlog: frame and page.  Only if that page is still there. */
static uint64_t item_of(const struct pool *p, const struct frame *f, uint32_t page)
{
	return (uint64_t)(f - p->frame) << 32 | page;
}

static void do_backlog(struct pool *p, struct llu_backlog *backlog)
{
	for (uint64_t item; llu_next(backlog, &item);) {
		struct frame *f = &p->frame[item >> 32];
		if (f->page == (uint32_t)item)
			make_young(p, f);
	}
}

/* ---- buckets, with the bucket's mutex held ---- */

static struct frame *find(const struct bucket *b, uint32_t page)
{
	struct frame *f = b->first;
	while (f && f->page != page)
		f = f->next;
	return f;
}

static void remove_from(struct bucket *b, const struct frame *f)
{
	struct frame **at = &b->first;
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
}

/* ---- pins ---- */

static struct frame *pin(struct pool *p, uint32_t page)
{
	struct bucket *b = bucket_of(p, page);
	pthread_mutex_lock(&b->mutex);
	struct frame *f = find(b, page);
	if (f)
		f->pins++;
	pthread_mutex_unlock(&b->mutex);
	return f;
}

static void unpin(struct pool *p, struct frame *f)
{
	struct bucket *b = bucket_of(p, f->page); /* does not change while it is pinned */
	pthread_mutex_lock(&b->mutex);
	f->pins--;
	pthread_mutex_unlock(&b->mutex);
}

/* ---- misses ---- */

static int write_page(struct pool *p, const struct frame *f)
{
	__atomic_fetch_add(&p->written, 1, __ATOMIC_RELAXED);
	return pwrite(p->fd, f->words, PAGE_BYTES, (off_t)f->page * PAGE_BYTES) == PAGE_BYTES ? 0 : -1;
}

/* A page that nobody uses and that is as its file has it, out of its bucket.  Of
 * a changed one: pinned, if it is to be had at all. */
static bool try_victim(struct pool *p, struct frame *f, bool *dirty)
{
	if (f->page == NO_PAGE)
		return true;
	struct bucket *b = bucket_of(p, f->page);
	pthread_mutex_lock(&b->mutex);
	bool good = f->pins == 0 && (!f->dirty || dirty);
	if (good && f->dirty) {
		f->pins++;
		*dirty = true;
	} else if (good) {
		remove_from(b, f);
		f->page = NO_PAGE;
	}
	pthread_mutex_unlock(&b->mutex);
	return good;
}

/* Of the oldest `scan` pages the first that need not be written; else the oldest. */
static struct frame *find_victim(struct pool *p, bool *dirty)
{
	uint32_t n = 0;
	for (struct frame *f = p->oldest; f && n < p->scan; f = f->younger, n++)
		if (try_victim(p, f, NULL))
			return f;
	for (struct frame *f = p->oldest; f; f = f->younger)
		if (try_victim(p, f, dirty))
			return f;
	return NULL;
}

static int clean(struct pool *p, struct frame *f)
{
	pthread_mutex_lock(&f->latch);
	int r = f->dirty ? write_page(p, f) : 0;
	if (r == 0)
		f->dirty = false;
	pthread_mutex_unlock(&f->latch);
	unpin(p, f);
	return r;
}

/* Victim becomes the page's, pinned and latched, not read yet; with the LRU mutex held. */
static void assign(struct pool *p, struct frame *f, uint32_t page)
{
	struct bucket *b = bucket_of(p, page);
	pthread_mutex_lock(&f->latch); /* free: nobody had it pinned */
	pthread_mutex_lock(&b->mutex);
	f->page = page;
	f->pins = 1;
	f->next = b->first;
	b->first = f;
	pthread_mutex_unlock(&b->mutex);
	make_young(p, f);
}

/* A frame for the page, to be read: *read; or another thread's, pinned, if one was as fast. */
static struct frame *make_place(struct pool *p, uint32_t page, struct llu_backlog *backlog, bool *read)
{
	for (;;) {
		bool dirty = false;
		pthread_mutex_lock(&p->lru);
		do_backlog(p, backlog);
		struct frame *f = pin(p, page);
		*read = !f;
		if (!f && (f = find_victim(p, &dirty)) && !dirty)
			assign(p, f, page);
		pthread_mutex_unlock(&p->lru);
		if (!dirty) {
			errno = EBUSY; /* if all are pinned */
			return f;
		}
		if (clean(p, f) != 0)
			return NULL;
	}
}

static void touch(struct pool *p, struct frame *f, uint32_t page, struct llu_backlog *backlog)
{
	if (p->bound_ns == UINT64_MAX)
		pthread_mutex_lock(&p->lru);
	else if (!llu_lock(&p->lru, backlog, item_of(p, f, page), p->bound_ns))
		return;
	do_backlog(p, backlog);
	make_young(p, f);
	pthread_mutex_unlock(&p->lru);
}

struct frame *pool_get(struct pool *p, uint32_t page, struct llu_backlog *backlog)
{
	bool read = false;
	struct frame *f = pin(p, page);
	if (f) {
		__atomic_fetch_add(&p->hits, 1, __ATOMIC_RELAXED);
		touch(p, f, page, backlog);
	} else if (!(f = make_place(p, page, backlog, &read))) {
		return NULL;
	} else {
		__atomic_fetch_add(&p->misses, 1, __ATOMIC_RELAXED);
	}
	if (!read)
		pthread_mutex_lock(&f->latch);
	else if (pread(p->fd, f->words, PAGE_BYTES, (off_t)page * PAGE_BYTES) != PAGE_BYTES)
		memset(f->words, 0, PAGE_BYTES); /* no page that it could be; whoever looks will see */
	return f;
}

void pool_put(struct pool *p, struct frame *f, bool changed)
{
	f->dirty |= changed;
	pthread_mutex_unlock(&f->latch);
	unpin(p, f);
}

/* ---- opening, closing ---- */

int pool_open(struct pool *p, int fd, uint32_t frames, uint32_t scan, uint64_t bound_ns)
{
	memset(p, 0, sizeof *p);
	p->fd = fd;
	p->bound_ns = bound_ns;
	p->frames = frames;
	p->scan = scan;
	p->buckets = frames;
	p->frame = calloc(frames, sizeof *p->frame);
	p->bucket = calloc(frames, sizeof *p->bucket);
	p->memory = aligned_alloc(PAGE_BYTES, (size_t)frames * PAGE_BYTES);
	if (!p->frame || !p->bucket || !p->memory)
		return -1;
	pthread_mutex_init(&p->lru, NULL);
	for (uint32_t i = 0; i < frames; i++) {
		struct frame *f = &p->frame[i];
		pthread_mutex_init(&p->bucket[i].mutex, NULL);
		pthread_mutex_init(&f->latch, NULL);
		f->words = (uint64_t *)(void *)(p->memory + (size_t)i * PAGE_BYTES);
		f->page = NO_PAGE;
		put_young(p, f);
	}
	return 0;
}

/* Every frame once in the list, and in the bucket where it is looked for. */
static bool whole(struct pool *p)
{
	uint32_t n = 0;
	for (struct frame *f = p->oldest, *last = NULL; f; last = f, f = f->younger)
		if (++n > p->frames || f->older != last || f->pins)
			return false;
	for (uint32_t i = 0; i < p->frames; i++)
		if (p->frame[i].page != NO_PAGE && find(bucket_of(p, p->frame[i].page), p->frame[i].page) != &p->frame[i])
			return false;
	return n == p->frames;
}

bool pool_close(struct pool *p)
{
	bool good = whole(p);
	for (uint32_t i = 0; i < p->frames; i++) {
		struct frame *f = &p->frame[i];
		if (f->page != NO_PAGE && f->dirty && write_page(p, f) != 0)
			good = false;
		pthread_mutex_destroy(&f->latch);
		pthread_mutex_destroy(&p->bucket[i].mutex);
	}
	pthread_mutex_destroy(&p->lru);
	free(p->memory);
	free(p->bucket);
	free(p->frame);
	return good;
}

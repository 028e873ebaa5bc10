/* SPDX-License-Identifier: MIT
 * The recorder's side of the arena (include/tarry/arena.h): the file, its
 * growth, the book of chunks, published modules. */
#ifndef TY_RECORDER_ARENA_H
#define TY_RECORDER_ARENA_H

#include <stdbool.h>
#include "common/conf.h"
#include "tarry/arena.h"
#include "tarry/rows.h"

enum ty_chunk_state {
	TY_CHUNK_UNUSED, /* not backed, or backed and spare */
	TY_CHUNK_READY,  /* in the ready queue, or taken and not linked yet */
	TY_CHUNK_LINKED, /* part of a ring the drain follows */
	TY_CHUNK_ROWS,
};

/* How long after the system had no memory it is asked again. */
#define TY_ARENA_RETRY_NS 1000000000ull

struct ty_arena_file {
	struct ty_arena *a;
	int fd;
	char locator[96];   /* value of TARRY_ARENA */
	uint64_t control;   /* bytes before the first chunk */
	uint32_t limit;     /* chunks that fit in `reserve` */
	uint32_t backed;    /* chunks in the file */
	uint32_t ready;     /* chunks put into the queue so far, also the next sequence number */
	uint64_t retry_at;  /* when growing may be tried again after a failure */
	uint64_t grow_failed;
	int grow_errno;     /* of the last failure */
	/* The recorder's own book: what a ring says about a chunk is believed only
	 * if this agrees. */
	uint8_t *state;     /* [limit] */
	uint32_t *seq;      /* [limit] number of its put, state READY */
	uint32_t *spare, spares;
	/* consumption of late, for the size of the stock */
	uint64_t window_start;
	uint32_t window_take, recent;
	uint32_t silent;       /* threads that have no ring yet; the drain says */
	uint32_t rows_chunks;
	uint64_t rows_refused; /* tables that found no room */
};

int ty_arena_create(struct ty_arena_file *f, const struct ty_settings *s, char *err);
void ty_arena_destroy(struct ty_arena_file *f);
/* Keeps enough chunks ready; call once a pass. */
void ty_arena_stock(struct ty_arena_file *f, uint64_t now);
/* A ring refers to a chunk (index + 1).  True when that may be: it was handed
 * out and no ring has it; it is LINKED from now on. */
bool ty_arena_link(struct ty_arena_file *f, uint32_t chunk_plus_1);
/* A linked chunk has been read to its end: zeroed and ready again. */
void ty_arena_unlink(struct ty_arena_file *f, uint32_t chunk);
/* Publishes a module; rows NULL: it has none.  -ENOSPC: the arena is full, and it
 * is published as having none.  -EAGAIN: the system gives no memory now, nothing
 * was published. */
int ty_arena_publish(struct ty_arena_file *f, const struct ty_module_id *id, const struct ty_rows *rows,
		     size_t bytes);
/* Chunks ready for the traced side now. */
uint32_t ty_arena_ready(const struct ty_arena_file *f);

/* The reading end, for `tarry ctl`: maps the header a locator names, read and
 * write, after checking magic, ABI, token and owner. */
int ty_arena_attach(struct ty_arena **ret, const char *locator, char *err);
void ty_arena_detach(struct ty_arena *a);

#endif

/* SPDX-License-Identifier: MIT
 * The writer: a thread of the recorder that owns the store while recording,
 * so that a slow disk never keeps the drain from emptying rings.  Everything
 * is copied into a queue; the functions do not fail, losses are counted. */
#ifndef TY_WRITER_H
#define TY_WRITER_H

#include "common/conf.h"
#include "common/store.h"

struct ty_writer;

/* What became of the events given to the writer. */
struct ty_written {
	uint64_t events;    /* committed */
	uint64_t behind;    /* lost: the queue was full, the disk too slow */
	uint64_t failed;    /* lost: the store could not be written (disk full) */
	uint64_t trimmed;   /* dropped on purpose, --max-size and --keep */
	uint64_t cpu_ns;
	char err[TY_ERR_MAX]; /* the first failure, or "" */
};

/* Creates the store and starts the thread. */
int ty_writer_start(struct ty_writer **ret, const char *path, const struct ty_settings *s, char *err);
void ty_writer_process(struct ty_writer *w, uint32_t id, const struct ty_process *p);
void ty_writer_thread(struct ty_writer *w, uint32_t id, const struct ty_thread_info *t);
void ty_writer_module(struct ty_writer *w, uint32_t id, const struct ty_module_info *m);
void ty_writer_path(struct ty_writer *w, uint32_t id, const struct ty_path *p);
void ty_writer_descriptor(struct ty_writer *w, const struct ty_descriptor *d);
void ty_writer_label(struct ty_writer *w, uint32_t id, const char *text);
void ty_writer_meta(struct ty_writer *w, const char *key, const char *value);
/* Takes over ev (malloc'd).  slot[i], also taken over: equal for events of one
 * thread; the events are grouped by it before they are stored. */
void ty_writer_block(struct ty_writer *w, struct ty_ev *ev, uint16_t *slot, size_t n, uint64_t complete_to);
/* Makes all of the above visible to readers, soon. */
void ty_writer_commit(struct ty_writer *w);
void ty_writer_status(struct ty_writer *w, struct ty_written *out);
/* Writes what is queued, commits and ends the thread.  The store is then the
 * caller's to finish, by the thread that calls this, until ty_writer_close. */
struct ty_store *ty_writer_stop(struct ty_writer *w);
/* Closes the store. */
void ty_writer_close(struct ty_writer *w);

#endif

/* SPDX-License-Identifier: MIT
 * The worker: a thread of the recorder for what may take long and must not
 * keep the drain: opening modules, building their row tables, checking sampled
 * stacks.  Requests are answered in order. */
#ifndef TY_WORKER_H
#define TY_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/store.h" /* TY_ERR_MAX */
#include "recorder/coverage.h"
#include "tarry/event.h"
#include "tarry/rows.h"

struct ty_worker;

struct ty_built { /* answer to ty_worker_build */
	struct ty_built *next;
	uint32_t module;
	struct ty_module_id id;
	struct ty_elf *elf;   /* NULL: the file could not be opened */
	struct ty_rows *rows; /* malloc'd; NULL: err says why */
	size_t bytes;
	struct ty_imports imports;
	char err[TY_ERR_MAX];
};

struct ty_stack { /* a sampled stack, malloc'd */
	struct ty_stack *next;
	uint64_t path, image, gen;
	uint64_t pc, sp, bp;
	uint64_t frame[TY_FRAMES_MAX];
	uint32_t frames, total, have, age;
	uint16_t flags;
	uint8_t data[];
};

struct ty_checks { uint64_t agree, shorter, differ, skipped; };

/* answer_fd: an eventfd that is written when an answer is there. */
int ty_worker_start(struct ty_worker **ret, int answer_fd);
void ty_worker_build(struct ty_worker *w, uint32_t module, const struct ty_module_id *id, const char *path,
		     const char *root, uint32_t pid, uint64_t start, uint64_t end);
/* A module's place in an image, for the self-check. */
void ty_worker_map(struct ty_worker *w, uint64_t image, uint64_t gen, uint64_t start, uint64_t end, uint64_t base,
		   uint32_t module);
/* Takes over the stack; path, frames and flags filled. */
void ty_worker_check(struct ty_worker *w, struct ty_stack *s);
/* Next answer, or NULL; the caller frees it and owns elf and rows. */
struct ty_built *ty_worker_answer(struct ty_worker *w);
void ty_worker_checks(struct ty_worker *w, struct ty_checks *out);
/* Finishes what was asked for and ends the thread; the answers stay. */
void ty_worker_stop(struct ty_worker *w);
void ty_worker_free(struct ty_worker *w);

#endif

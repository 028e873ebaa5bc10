/* SPDX-License-Identifier: MIT
 * The worker: a thread of the recorder for what may take long and must not
 * keep the drain: opening modules, building their row tables, looking up names for
 * the rules of orders, checking sampled stacks.  What is asked for is done in that
 * order.  Main thread's side; where there is no memory, what was asked is not done. */
#ifndef TY_WORKER_H
#define TY_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/store.h" /* TY_ERR_MAX */
#include "recorder/coverage.h"
#include "recorder/match.h"
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
	struct ty_variable *variable; /* malloc'd: those that rules of orders name */
	size_t variables;
	char err[TY_ERR_MAX];
};

struct ty_range { /* a module's place in an address space */
	uint64_t start, end, base;
	uint32_t module;
};

struct ty_stack { /* a sampled stack, malloc'd */
	struct ty_stack *next;
	struct ty_range *range; /* owned: what was mapped */
	size_t ranges;
	uint64_t path;
	uint64_t pc, sp, bp;
	uint64_t frame[TY_FRAMES_MAX];
	uint32_t frames, total, have, age;
	uint16_t flags;
	uint8_t data[];
};

struct ty_checks { uint64_t agree, shorter, differ, skipped; };

/* answer_fd: an eventfd that is written when an answer is there.  0 or a negative errno. */
int ty_worker_start(struct ty_worker **ret, int answer_fd);
/* Looks for the names in the rules of orders; before anything is asked for, and owned
 * by the worker. */
void ty_worker_orders(struct ty_worker *w, struct ty_matcher *m);
/* Takes over the path. */
void ty_worker_match(struct ty_worker *w, struct ty_match *p);
/* Opens the module that a process has mapped at start: the file `path` below its root
 * ("": ours), or what /proc/PID still has of it.  The answer is a struct ty_built. */
void ty_worker_build(struct ty_worker *w, uint32_t module, const struct ty_module_id *id, const char *path,
		     const char *root, uint32_t pid, uint64_t start);
/* Takes over the stack; ranges, path, frames and flags filled. */
void ty_worker_check(struct ty_worker *w, struct ty_stack *s);
/* Next answer, or NULL; the caller frees it and owns elf, rows and variable. */
struct ty_built *ty_worker_answer(struct ty_worker *w);
void ty_worker_checks(struct ty_worker *w, struct ty_checks *out); /* so far */
/* Finishes what was asked for and ends the thread; the answers stay. */
void ty_worker_stop(struct ty_worker *w);
void ty_worker_free(struct ty_worker *w);
void ty_stack_free(struct ty_stack *s); /* NULL is allowed */

#endif

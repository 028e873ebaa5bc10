/* SPDX-License-Identifier: MIT
 *
 * The test walks its own stack as the hook does: with the row tables of the
 * modules mapped here and ty_walk_step.  For test_rows.c and test_selfcheck.c.
 * self_modules() before the first walk and after each dlopen; a walk itself
 * allocates nothing, so that a signal handler may do it.
 */
#ifndef TARRY_TEST_WALK_SELF_H
#define TARRY_TEST_WALK_SELF_H

#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "recorder/rows.h"
#include "tarry/walk.h"

enum { SELF_MODULES = 64, SELF_FRAMES = 2048 };

struct self_module {
	uint64_t base, start, end;
	struct ty_elf *e;
	struct ty_rows *rows;
};
static struct self_module self_module[SELF_MODULES];
static int self_module_count;

struct self_walk {
	uint64_t pc, sp, bp; /* where it began */
	uint64_t lo, hi;
	uint64_t frame[SELF_FRAMES]; /* as in struct ty_rec_path */
	int count;
	int end; /* last result of ty_walk_step */
};

static int self_add(struct dl_phdr_info *i, size_t size, void *arg)
{
	struct self_module m = { .base = i->dlpi_addr, .start = UINT64_MAX };
	char err[TY_ERR_MAX] = "";
	size_t bytes;
	for (int k = 0; k < i->dlpi_phnum; k++) {
		const ElfW(Phdr) *p = &i->dlpi_phdr[k];
		if (p->p_type != PT_LOAD)
			continue;
		if (m.base + p->p_vaddr < m.start)
			m.start = m.base + p->p_vaddr;
		if (m.base + p->p_vaddr + p->p_memsz > m.end)
			m.end = m.base + p->p_vaddr + p->p_memsz;
	}
	for (int k = 0; k < self_module_count; k++)
		if (self_module[k].start == m.start && self_module[k].end == m.end)
			return 0;
	const char *path = i->dlpi_name;
	if (!*path)
		path = "/proc/self/exe";
	else if (strstr(path, "linux-vdso"))
		path = "[vdso]";
	if (self_module_count == SELF_MODULES || ty_elf_open(&m.e, path, NULL, err) ||
	    ty_rows_build(m.e, &m.rows, &bytes, err)) {
		fprintf(stderr, "module %s: %s\n", path, err);
		exit(1);
	}
	self_module[self_module_count++] = m;
	return 0;
}

static inline void self_modules(void)
{
	dl_iterate_phdr(self_add, NULL);
}

static inline void self_modules_free(void)
{
	for (int i = 0; i < self_module_count; i++) {
		ty_elf_close(self_module[i].e);
		free(self_module[i].rows);
	}
	self_module_count = 0;
}

static inline uint32_t self_rule(uint64_t addr)
{
	for (int i = 0; i < self_module_count; i++)
		if (addr >= self_module[i].start && addr < self_module[i].end)
			return ty_rows_find(self_module[i].rows, addr - self_module[i].base);
	return ty_rule(TY_RULE_STOP, 0, 0, 0);
}

static inline uint64_t self_stack_top(void)
{
	pthread_attr_t a;
	void *addr;
	size_t size;
	pthread_getattr_np(pthread_self(), &a);
	pthread_attr_getstack(&a, &addr, &size);
	pthread_attr_destroy(&a);
	return (uint64_t)(uintptr_t)addr + size;
}

static inline void self_walk_from(struct self_walk *w, uint64_t pc, uint64_t sp, uint64_t bp, uint64_t hi)
{
	int known = 1, exact = 0;
	w->pc = pc, w->sp = w->lo = sp, w->bp = bp, w->hi = hi;
	for (w->count = 0, w->end = TY_WALK_NEXT; w->count < SELF_FRAMES && w->end == TY_WALK_NEXT;) {
		w->frame[w->count++] = pc | (exact ? TY_FRAME_EXACT : 0);
		w->end = ty_walk_step(self_rule(exact ? pc : pc - 1), &pc, &sp, &bp, &known, &exact, w->lo,
				      hi);
	}
}

/* Walks from the caller of the function that uses it, as a wrapper would. */
#define SELF_WALK(w, top)                                                                                    \
	do {                                                                                                 \
		const uint64_t *fp_ = __builtin_frame_address(0);                                            \
		self_walk_from((w), (uint64_t)(uintptr_t)__builtin_return_address(0),                        \
			       (uint64_t)(uintptr_t)(fp_ + 2), fp_[0], (top));                               \
	} while (0)

#endif

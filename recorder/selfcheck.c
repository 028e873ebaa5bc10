/* SPDX-License-Identifier: MIT
 *
 * Unwinds shipped stacks with libunwind's remote interface and compares.  Runs
 * in the recorder; the traced process may be gone by then, so memory is the
 * shipped stack and the ELF files.  What must stay true: this is a second
 * opinion, so nothing of it comes from the row tables, and where libunwind
 * guesses (no unwind information) or lacks data it has no opinion.
 */
#include "recorder/selfcheck.h"

#include <errno.h>
#include <libunwind-x86_64.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/elf_int.h"

/* libunwind's search in .eh_frame_hdr: exported for debuggers, in no header. */
int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
				       unw_proc_info_t *pi, int need_unwind_info, void *arg);

enum { PAGE = 4096, PAGES = 256 };

struct mapping {
	uint64_t start, end, base;
	struct ty_elf *e;
	uint64_t table;  /* address of the sorted table in .eh_frame_hdr, 0: none */
	uint64_t header; /* address of .eh_frame_hdr */
	uint32_t entries;
};

struct space { /* one address space at one time */
	uint64_t image, gen;
	struct mapping *map;
	size_t count, room;
};

/* libunwind reads byte by byte; pages of the files are kept. */
struct page {
	const struct ty_elf *e;
	uint64_t vaddr;
	uint8_t bytes[PAGE];
};

/* Why libunwind could not go on by unwind information in this step. */
enum cause { CAUSE_NONE, CAUSE_NO_INFO, CAUSE_NO_DATA };

struct ty_selfcheck {
	unw_addr_space_t as;
	void *spaces; /* tree of struct space */
	struct page *page;
	/* the run going on */
	const struct space *space;
	uint64_t pc, sp, bp;
	const uint8_t *stack;
	size_t n;
	enum cause cause;
};

static int cmp_space(const void *a, const void *b)
{
	const struct space *x = a, *y = b;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return (x->gen > y->gen) - (x->gen < y->gen);
}

static void free_space(void *p)
{
	struct space *s = p;
	free(s->map);
	free(s);
}

static const struct mapping *mapping_at(const struct space *s, uint64_t addr)
{
	for (size_t i = s->count; i-- > 0;)
		if (addr >= s->map[i].start && addr < s->map[i].end)
			return &s->map[i];
	return NULL;
}

static void no_opinion(struct ty_selfcheck *c, enum cause cause)
{
	if (c->cause == CAUSE_NONE) /* the first one counts, guesses follow */
		c->cause = cause;
}

static bool read_file(struct ty_selfcheck *c, const struct mapping *m, uint64_t addr, uint8_t *byte)
{
	uint64_t vaddr = addr - m->base, at = vaddr & ~(uint64_t)(PAGE - 1);
	struct page *p = &c->page[(at / PAGE + (uintptr_t)m->e / sizeof *m->e) % PAGES];
	if (p->e == m->e && p->vaddr == at) {
		*byte = p->bytes[vaddr - at];
		return true;
	}
	p->e = NULL;
	if (ty_elf_read(m->e, at, p->bytes, PAGE)) /* the first or last page of a segment */
		return ty_elf_read(m->e, vaddr, byte, 1) == 0;
	p->e = m->e;
	p->vaddr = at;
	*byte = p->bytes[vaddr - at];
	return true;
}

static int access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *val, int write, void *arg)
{
	struct ty_selfcheck *c = arg;
	if (write)
		return -UNW_EINVAL;
	if (addr >= c->sp && addr - c->sp < c->n && c->n - (addr - c->sp) >= sizeof *val) {
		memcpy(val, c->stack + (addr - c->sp), sizeof *val);
		return 0;
	}
	const struct mapping *m = mapping_at(c->space, addr);
	uint8_t bytes[sizeof *val] = { 0 };
	for (size_t i = 0; m && i < sizeof bytes; i++)
		if (!read_file(c, m, addr + i, &bytes[i])) {
			if (i == 0)
				m = NULL;
			break; /* a word across the end of a segment: zeros */
		}
	if (!m) {
		no_opinion(c, CAUSE_NO_DATA);
		return -UNW_EINVAL;
	}
	memcpy(val, bytes, sizeof bytes);
	return 0;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *val, int write, void *arg)
{
	struct ty_selfcheck *c = arg;
	if (write)
		return -UNW_EREADONLYREG;
	switch (reg) {
	case UNW_X86_64_RIP:
		/* A return address: what is looked up is the call before it.
		 * libunwind does that itself for all frames but the first. */
		*val = c->pc - 1;
		return 0;
	case UNW_X86_64_RSP:
		*val = c->sp;
		return 0;
	case UNW_X86_64_RBP:
		*val = c->bp;
		return 0;
	default:
		no_opinion(c, CAUSE_NO_DATA);
		return -UNW_EBADREG;
	}
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need, void *arg)
{
	struct ty_selfcheck *c = arg;
	const struct mapping *m = mapping_at(c->space, ip);
	int r = -UNW_ENOINFO;
	if (m && m->table) {
		unw_dyn_info_t di = { .format = UNW_INFO_FORMAT_REMOTE_TABLE,
				      .start_ip = m->start,
				      .end_ip = m->end };
		di.u.rti.segbase = m->header;
		di.u.rti.table_data = m->table;
		di.u.rti.table_len = (unw_word_t)m->entries * 8 / sizeof(unw_word_t);
		r = _Ux86_64_dwarf_search_unwind_table(as, ip, &di, pi, need, arg);
	}
	if (r < 0)
		no_opinion(c, CAUSE_NO_INFO);
	return r;
}

/* libunwind keeps what it found in a pool and returns it there by itself. */
static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg) {}

static int get_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *addr, void *arg)
{
	return -UNW_ENOINFO;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *val, int write, void *arg)
{
	return -UNW_EBADREG;
}

static int resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t as, unw_word_t addr, char *buf, size_t n, unw_word_t *off,
			 void *arg)
{
	return -UNW_ENOINFO;
}

int ty_selfcheck_new(struct ty_selfcheck **ret)
{
	static unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = get_dyn_info_list_addr,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = resume,
		.get_proc_name = get_proc_name,
	};
	struct ty_selfcheck *c = calloc(1, sizeof *c);
	if (!c)
		return -ENOMEM;
	c->page = calloc(PAGES, sizeof *c->page);
	c->as = unw_create_addr_space(&accessors, 0);
	if (!c->page || !c->as) {
		ty_selfcheck_free(c);
		return -ENOMEM;
	}
	/* A cache would outlive a dlclose. */
	unw_set_caching_policy(c->as, UNW_CACHE_NONE);
	*ret = c;
	return 0;
}

void ty_selfcheck_free(struct ty_selfcheck *c)
{
	if (!c)
		return;
	if (c->as)
		unw_destroy_addr_space(c->as);
	tdestroy(c->spaces, free_space);
	free(c->page);
	free(c);
}

/* Where the sorted table of .eh_frame_hdr is, if it is the usual one. */
static void find_table(struct mapping *m)
{
	struct {
		uint8_t version, ptr_enc, count_enc, table_enc;
		uint32_t ptr, count;
	} h;
	const GElf_Phdr *p = ty_elf_phdr(m->e, PT_GNU_EH_FRAME);
	if (!p || ty_elf_read(m->e, p->p_vaddr, &h, sizeof h) || h.version != 1 || h.ptr_enc != 0x1b ||
	    h.count_enc != 0x03 || h.table_enc != 0x3b || h.count > p->p_filesz / 8)
		return;
	m->header = m->base + p->p_vaddr;
	m->table = m->header + sizeof h;
	m->entries = h.count;
}

void ty_selfcheck_map(struct ty_selfcheck *c, uint64_t image, uint64_t gen, uint64_t start, uint64_t end,
		      uint64_t base, struct ty_elf *e)
{
	struct space *s = malloc(sizeof *s);
	if (!s)
		return;
	*s = (struct space){ .image = image, .gen = gen };
	struct space **slot = tsearch(s, &c->spaces, cmp_space);
	if (!slot || *slot != s) {
		free(s);
		if (!slot)
			return;
		s = *slot;
	}
	struct mapping m = { .start = start, .end = end, .base = base, .e = e };
	for (size_t i = 0; i < s->count; i++)
		if (s->map[i].start == start && s->map[i].end == end) { /* told again, or replaced */
			memmove(&s->map[i], &s->map[i + 1], (s->count - i - 1) * sizeof m);
			s->count--;
			break;
		}
	if (s->count == s->room) {
		size_t room = s->room ? s->room * 2 : 16;
		struct mapping *p = realloc(s->map, room * sizeof *p);
		if (!p)
			return;
		s->map = p;
		s->room = room;
	}
	find_table(&m);
	s->map[s->count++] = m;
}

static int compare(struct ty_selfcheck *c, unw_cursor_t *cursor, const uint64_t *frames, size_t count,
		   bool partial)
{
	size_t same = 1;
	for (;; same++) {
		unw_word_t ip = 0;
		c->cause = CAUSE_NONE;
		int r = unw_step(cursor);
		if (r > 0 && unw_get_reg(cursor, UNW_REG_IP, &ip))
			r = -1;
		bool ended = r <= 0 || ip == 0 || c->cause != CAUSE_NONE;
		if (same == count) {
			if (ended || partial)
				break;
			return TY_CHECK_DIFFER; /* we called it complete */
		}
		if (ended && c->cause == CAUSE_NO_DATA)
			break; /* the snapshot or the known registers end here */
		if (ended)
			return same > 1 || c->cause == CAUSE_NONE ? TY_CHECK_SHORTER : TY_CHECK_SKIPPED;
		if (ip != (frames[same] & ~TY_FRAME_EXACT))
			return TY_CHECK_DIFFER;
	}
	return same > 1 || (!partial && c->cause == CAUSE_NONE) ? TY_CHECK_AGREE : TY_CHECK_SKIPPED;
}

int ty_selfcheck_run(struct ty_selfcheck *c, uint64_t image, uint64_t gen, uint64_t pc, uint64_t sp,
		     uint64_t bp, const void *stack, size_t n, const uint64_t *frames, size_t count,
		     uint16_t path_flags)
{
	struct space key = { .image = image, .gen = gen };
	void *slot = tfind(&key, &c->spaces, cmp_space);
	unw_cursor_t cursor;

	if (!slot || !count)
		return TY_CHECK_SKIPPED;
	if (frames[0] != pc)
		return TY_CHECK_DIFFER;
	c->space = *(struct space **)slot;
	c->pc = pc, c->sp = sp, c->bp = bp;
	c->stack = stack;
	c->n = n;
	c->cause = CAUSE_NONE;
	if (unw_init_remote(&cursor, c->as, c))
		return TY_CHECK_SKIPPED;
	return compare(c, &cursor, frames, count, (path_flags & TY_F_PARTIAL) != 0);
}

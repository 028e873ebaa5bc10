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
#include <stdlib.h>
#include <string.h>

#include "recorder/elf_int.h"

/* libunwind's search in .eh_frame_hdr: exported for debuggers, in no header. */
int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
				       unw_proc_info_t *pi, int need_unwind_info, void *arg);

enum { PAGE = 4096, PAGES = 256 };

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
	struct page *page;
	/* the run going on */
	const struct ty_mapping *map;
	size_t maps;
	uint64_t pc, sp, bp;
	const uint8_t *stack;
	size_t n;
	enum cause cause;
};

static const struct ty_mapping *mapping_at(const struct ty_selfcheck *c, uint64_t addr)
{
	for (size_t i = 0; i < c->maps; i++)
		if (addr >= c->map[i].start && addr < c->map[i].end)
			return &c->map[i];
	return NULL;
}

static void no_opinion(struct ty_selfcheck *c, enum cause cause)
{
	if (c->cause == CAUSE_NONE) /* the first one counts, guesses follow */
		c->cause = cause;
}

static bool read_file(struct ty_selfcheck *c, const struct ty_mapping *m, uint64_t addr, uint8_t *byte)
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
	const struct ty_mapping *m = mapping_at(c, addr);
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

/* The sorted table of .eh_frame_hdr, if it is the usual one. */
static bool find_table(const struct ty_mapping *m, unw_dyn_info_t *di)
{
	struct {
		uint8_t version, ptr_enc, count_enc, table_enc;
		uint32_t ptr, count;
	} h;
	const GElf_Phdr *p = ty_elf_phdr(m->e, PT_GNU_EH_FRAME);
	if (!p || ty_elf_read(m->e, p->p_vaddr, &h, sizeof h) || h.version != 1 || h.ptr_enc != 0x1b ||
	    h.count_enc != 0x03 || h.table_enc != 0x3b || h.count > p->p_filesz / 8)
		return false;
	*di = (unw_dyn_info_t){ .format = UNW_INFO_FORMAT_REMOTE_TABLE, .start_ip = m->start, .end_ip = m->end };
	di->u.rti.segbase = m->base + p->p_vaddr;
	di->u.rti.table_data = di->u.rti.segbase + sizeof h;
	di->u.rti.table_len = (unw_word_t)h.count * 8 / sizeof(unw_word_t);
	return true;
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need, void *arg)
{
	struct ty_selfcheck *c = arg;
	const struct ty_mapping *m = mapping_at(c, ip);
	unw_dyn_info_t di;
	int r = -UNW_ENOINFO;
	if (m && find_table(m, &di))
		r = _Ux86_64_dwarf_search_unwind_table(as, ip, &di, pi, need, arg);
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
	free(c->page);
	free(c);
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

int ty_selfcheck_run(struct ty_selfcheck *c, const struct ty_mapping *map, size_t maps, uint64_t pc, uint64_t sp,
		     uint64_t bp, const void *stack, size_t n, const uint64_t *frames, size_t count,
		     uint16_t path_flags)
{
	unw_cursor_t cursor;

	if (!maps || !count)
		return TY_CHECK_SKIPPED;
	if (frames[0] != pc)
		return TY_CHECK_DIFFER;
	c->map = map;
	c->maps = maps;
	c->pc = pc, c->sp = sp, c->bp = bp;
	c->stack = stack;
	c->n = n;
	c->cause = CAUSE_NONE;
	if (unw_init_remote(&cursor, c->as, c))
		return TY_CHECK_SKIPPED;
	return compare(c, &cursor, frames, count, (path_flags & TY_F_PARTIAL) != 0);
}

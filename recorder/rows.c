/* SPDX-License-Identifier: MIT
 *
 * From .eh_frame to the row table that the traced process walks with.  Runs
 * in the recorder, once per build of a module.  What must stay true: a row
 * says exactly what the call frame information says or it says STOP; a wrong
 * rule would give wrong call paths that nobody could notice.  The file is not
 * trusted: no crash, and no more work than a bound allows.
 */
#include "recorder/rows.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/reserve.h"
#include "recorder/cfi.h"
#include "recorder/elf_int.h"
#include "tarry/walk.h"

enum { REG_BP = 6, REG_SP = 7, REG_PC = 16 };

/* libdw runs a function's program from its start for every row.  Real code
 * needs under 2^24 byte-steps a function; a crafted file could ask for 2^50. */
#define WORK_FDE ((uint64_t)1 << 29)
#define WORK_ALL ((uint64_t)1 << 33)

struct build {
	struct ty_elf *e;
	Dwarf_CFI *cfi;
	struct ty_row *row;
	size_t rows, row_room;
	uint64_t lo, hi, at; /* at: rows are complete below */
	uint64_t work;
	uint32_t skipped;
};

static int put(struct build *b, uint64_t from, uint64_t to, uint32_t rule)
{
	if (from > b->at) {
		int r = put(b, b->at, from, ty_rule(TY_RULE_STOP, 0, 0, 0));
		if (r)
			return r;
	}
	if (from < b->at)
		from = b->at;
	if (to > b->hi)
		to = b->hi;
	if (from >= to)
		return 0;
	b->at = to;
	if (b->rows && b->row[b->rows - 1].rule == rule)
		return 0;
	if (ty_reserve(&b->row, &b->row_room, b->rows + 1, sizeof *b->row))
		return -ENOMEM;
	b->row[b->rows++] = (struct ty_row){ (uint32_t)from, rule };
	return 0;
}

static bool fits(int64_t v, int64_t max)
{
	return v % 8 == 0 && v / 8 >= -max && v / 8 <= max;
}

/* One operation "register + offset", in either spelling of libdw. */
static bool is_breg(const Dwarf_Op *op, int *reg, int64_t *off)
{
	if (op->atom == DW_OP_bregx) {
		*reg = (int)op->number;
		*off = (int64_t)op->number2;
		return op->number < 128;
	}
	if (op->atom < DW_OP_breg0 || op->atom > DW_OP_breg31)
		return false;
	*reg = op->atom - DW_OP_breg0;
	*off = (int64_t)op->number;
	return true;
}

/* A register's "saved at" expression that is one breg: libdw puts the CFA in
 * front, which DWARF says is on the stack to begin with. */
static bool is_saved_at_breg(const Dwarf_Op *ops, size_t n, int *reg, int64_t *off)
{
	return n == 2 && ops[0].atom == DW_OP_call_frame_cfa && is_breg(&ops[1], reg, off);
}

static bool is_cfa(const Dwarf_Op *ops, size_t n, enum ty_rule_kind *kind, int64_t *k)
{
	int reg;
	if (n < 1 || n > 2 || !is_breg(&ops[0], &reg, k) || !fits(*k, TY_RULE_K_MAX))
		return false;
	if (n == 2) { /* realigned frame: the caller's SP was saved at BP + k */
		*kind = TY_RULE_BPREF;
		return reg == REG_BP && ops[1].atom == DW_OP_deref;
	}
	*kind = reg == REG_SP ? TY_RULE_SP : TY_RULE_BP;
	return reg == REG_SP || reg == REG_BP;
}

/* "Saved at CFA + off" */
static bool is_cfa_offset(const Dwarf_Op *ops, size_t n, int64_t *off)
{
	if (n < 1 || n > 2 || ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	*off = n == 2 ? (int64_t)ops[1].number : 0;
	return n == 1 || ops[1].atom == DW_OP_plus_uconst;
}

/* The low 13 bits of a rule: what became of the caller's BP.  What cannot be
 * said is "lost", which only ends a walk that would need it. */
static uint32_t bp_rule(Dwarf_Frame *f, enum ty_rule_kind kind, int64_t k)
{
	Dwarf_Op mem[3], *ops;
	size_t n;
	int64_t off;
	int reg;
	const uint32_t lost = ty_rule(TY_RULE_STOP, 0, 1, TY_BP_LOST);

	if (dwarf_frame_register(f, REG_BP, mem, &ops, &n))
		return lost;
	if (n == 0)
		return ops == NULL ? 0 : lost;
	if (is_cfa_offset(ops, n, &off)) {
		if (kind == TY_RULE_BPREF)
			return lost;
	} else if (is_saved_at_breg(ops, n, &reg, &off)) {
		if ((kind == TY_RULE_SP && reg == REG_SP) || (kind == TY_RULE_BP && reg == REG_BP))
			off -= k; /* CFA = reg + k */
		else if (kind != TY_RULE_BPREF || reg != REG_BP)
			return lost;
	} else {
		return lost;
	}
	return fits(off, TY_RULE_BP_MAX) ? ty_rule(TY_RULE_STOP, 0, 1, (int32_t)(off / 8)) : lost;
}

static bool saved_at_sp(Dwarf_Frame *f, int regno, int64_t want)
{
	Dwarf_Op mem[3], *ops;
	size_t n;
	int64_t off;
	int reg;
	return !dwarf_frame_register(f, regno, mem, &ops, &n) && is_saved_at_breg(ops, n, &reg, &off) &&
	       reg == REG_SP && off == want;
}

/* A signal frame is followed only if it is laid out as the kernel's. */
static bool is_kernel_signal_frame(Dwarf_Frame *f, const Dwarf_Op *cfa, size_t n)
{
	int reg;
	int64_t off;
	return n == 2 && is_breg(&cfa[0], &reg, &off) && reg == REG_SP && off == TY_UC_SP &&
	       cfa[1].atom == DW_OP_deref && saved_at_sp(f, REG_PC, TY_UC_PC) &&
	       saved_at_sp(f, REG_BP, TY_UC_BP);
}

/* The linkers' one expression for all PLT entries: within each 16 bytes the
 * first `step` have CFA = SP + 8, after the push it is SP + 16. */
static bool is_plt(const Dwarf_Op *op, size_t n, unsigned *step)
{
	int reg;
	int64_t off;
	if (n != 9 || !is_breg(&op[0], &reg, &off) || reg != REG_SP || off != 8 ||
	    !is_breg(&op[1], &reg, &off) || reg != REG_PC || off != 0 || op[2].atom != DW_OP_lit15 ||
	    op[3].atom != DW_OP_and || op[4].atom < DW_OP_lit0 || op[4].atom > DW_OP_lit15 ||
	    op[5].atom != DW_OP_ge || op[6].atom != DW_OP_lit3 || op[7].atom != DW_OP_shl ||
	    op[8].atom != DW_OP_plus)
		return false;
	*step = op[4].atom - DW_OP_lit0;
	return true;
}

/* The rule of one libdw row; *plt is the step of is_plt, or -1.  False: it does
 * not fit any rule. */
static bool translate(Dwarf_Frame *f, bool signal, uint32_t *rule, int *plt)
{
	Dwarf_Op mem[3], *ra, *cfa;
	size_t nra, ncfa;
	enum ty_rule_kind kind;
	int64_t k, off;
	unsigned step;

	*plt = -1;
	if (dwarf_frame_register(f, REG_PC, mem, &ra, &nra))
		return false;
	if (nra == 0 && ra == mem) { /* undefined: the outermost frame */
		*rule = ty_rule(TY_RULE_END, 0, 0, 0);
		return true;
	}
	bool ra_here = is_cfa_offset(ra, nra, &off) && off == -8;
	if (dwarf_frame_cfa(f, &cfa, &ncfa))
		return false;
	if (signal) {
		*rule = ty_rule(TY_RULE_SIGNAL, 0, 0, 0);
		return is_kernel_signal_frame(f, cfa, ncfa);
	}
	if (!ra_here)
		return false;
	if (is_plt(cfa, ncfa, &step)) {
		*plt = (int)step;
		*rule = 0;
		return true;
	}
	if (!is_cfa(cfa, ncfa, &kind, &k))
		return false;
	*rule = ty_rule(kind, (int32_t)(k / 8), 0, 0) | bp_rule(f, kind, k);
	return true;
}

static int put_plt(struct build *b, uint64_t from, uint64_t to, unsigned step)
{
	for (uint64_t at = from; at < to;) {
		uint64_t line = at & ~(uint64_t)15, end = at - line < step ? line + step : line + 16;
		int r = put(b, at, end < to ? end : to, ty_rule(TY_RULE_SP, at - line < step ? 1 : 2, 0, 0));
		if (r)
			return r;
		at = end;
	}
	return 0;
}

static int put_fde(struct build *b, const struct ty_fde *d)
{
	uint64_t work = 0;
	int r = 0;
	for (uint64_t at = d->lo > b->at ? d->lo : b->at; !r && at < d->hi && at < b->hi;) {
		Dwarf_Frame *f = NULL;
		Dwarf_Addr start, end;
		bool signal, ok = false;
		uint32_t rule = 0;
		int plt = -1;

		work += d->work;
		b->work += d->work;
		if (work <= WORK_FDE && b->work <= WORK_ALL && !dwarf_cfi_addrframe(b->cfi, at, &f))
			ok = dwarf_frame_info(f, &start, &end, &signal) >= 0 && start <= at && end > at;
		if (!ok || end > d->hi)
			end = d->hi;
		if (end > b->hi)
			end = b->hi;
		if (ok)
			ok = translate(f, signal, &rule, &plt);
		free(f);
		b->skipped += !ok;
		if (plt >= 0)
			r = put_plt(b, at, end, (unsigned)plt);
		else
			r = put(b, at, end, ok ? rule : ty_rule(TY_RULE_STOP, 0, 0, 0));
		at = end;
	}
	return r;
}

static int code_range(struct build *b, char *err)
{
	b->lo = UINT64_MAX;
	for (size_t i = 0; i < b->e->phnum; i++) {
		const GElf_Phdr *p = &b->e->phdr[i];
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !p->p_filesz)
			continue;
		uint64_t end = p->p_vaddr + p->p_filesz;
		if (end < p->p_vaddr || end > UINT32_MAX)
			return ty_err(err, -ERANGE, "%s: code above 4 GiB", b->e->path);
		if (p->p_vaddr < b->lo)
			b->lo = p->p_vaddr;
		if (end > b->hi)
			b->hi = end;
	}
	if (b->lo >= b->hi)
		return ty_err(err, -ENOENT, "%s: no code", b->e->path);
	/* A table is never larger than the file gives reason for. */
	if (b->hi - b->lo > b->e->size + ((uint64_t)64 << 20))
		return ty_err(err, -ERANGE, "%s: code spread over too wide a range", b->e->path);
	b->at = b->lo;
	return 0;
}

static int all_rows(struct build *b, char *err)
{
	struct ty_fdes f;
	int r = ty_fdes_list(b->e, b->lo, b->hi, &f);
	if (r == 0) {
		ty_err(err, 0, "%s: no .eh_frame, call paths end here", b->e->path);
		return put(b, b->lo, b->hi, ty_rule(TY_RULE_STOP, 0, 0, 0));
	}
	b->cfi = r > 0 ? dwarf_getcfi_elf(b->e->elf) : NULL;
	if (r > 0 && !b->cfi) {
		ty_fdes_free(&f);
		r = -EINVAL;
	}
	if (r < 0)
		return ty_err(err, r, "%s: %s", b->e->path,
			      r == -EINVAL ? "damaged .eh_frame" : strerror(-r));
	b->skipped = f.skipped;
	r = 0;
	for (size_t i = 0; !r && i < f.count; i++)
		r = put_fde(b, &f.fde[i]);
	ty_fdes_free(&f);
	if (!r)
		r = put(b, b->at, b->hi, ty_rule(TY_RULE_STOP, 0, 0, 0));
	return r ? ty_err(err, r, "%s: %s", b->e->path, strerror(-r)) : 0;
}

static struct ty_rows *pack(const struct build *b, size_t *bytes)
{
	uint32_t blocks = (uint32_t)((b->hi - b->lo + TY_ROWS_BLOCK - 1) / TY_ROWS_BLOCK);
	*bytes = ty_rows_size((uint32_t)b->rows, blocks);
	struct ty_rows *t = calloc(1, *bytes);
	if (!t)
		return NULL;
	*t = (struct ty_rows){ .magic = TY_ROWS_MAGIC,
			       .count = (uint32_t)b->rows,
			       .blocks = blocks,
			       .lo = (uint32_t)b->lo,
			       .hi = (uint32_t)b->hi,
			       .skipped = b->skipped };
	uint32_t *ix = (uint32_t *)ty_rows_index(t), i = 0;
	for (uint32_t n = 0; n <= blocks; n++) {
		while (i + 1 < b->rows && b->row[i + 1].addr <= b->lo + (uint64_t)n * TY_ROWS_BLOCK)
			i++;
		ix[n] = i;
	}
	memcpy((struct ty_row *)ty_rows_row(t), b->row, b->rows * sizeof *b->row);
	return t;
}

int ty_rows_build(struct ty_elf *e, struct ty_rows **ret, size_t *bytes, char *err)
{
	struct build b = { .e = e };
	struct ty_rows *t = NULL;
	size_t n = 0;

	if (err)
		err[0] = '\0';
	int r = code_range(&b, err);
	if (!r)
		r = all_rows(&b, err);
	if (!r && !(t = pack(&b, &n)))
		r = ty_err(err, -ENOMEM, "%s: out of memory", e->path);
	if (b.cfi)
		dwarf_cfi_end(b.cfi);
	free(b.row);
	if (r)
		return r;
	*ret = t;
	*bytes = n;
	return 0;
}

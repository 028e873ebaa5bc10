/* SPDX-License-Identifier: MIT
 *
 * Lists the functions (FDEs) of .eh_frame.  Runs in the recorder.  libdw finds
 * the row of a given address but not the next function after a hole, so the
 * list is made here.  libdw also believes the programs it runs: a register
 * number of 2^31 makes it allocate 32 GiB.  What must stay true: a function is
 * listed only if its program and its CIE's are ones that libdw runs with
 * little memory.
 */
#include "recorder/cfi.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/reserve.h"
#include "recorder/elf_int.h"

enum { MAX_REG = 128, MAX_SAVED_STATES = 64 };

struct list {
	struct ty_fdes *out;
	size_t room;
	uint64_t lo, hi;
	uint64_t vaddr; /* of the section */
	const Elf_Data *data;
	/* the CIE of the last FDE: neighbours mostly share one */
	Dwarf_Off cie_off;
	bool cie_ok, cie_z; /* usable; FDEs of it have augmentation data */
	unsigned enc;
	uint64_t cie_work;
};

static bool skip_leb(const uint8_t **p, const uint8_t *end)
{
	while (*p < end)
		if (!(*(*p)++ & 0x80))
			return true;
	return false;
}

static bool leb(const uint8_t **p, const uint8_t *end, uint64_t *v)
{
	*v = 0;
	for (unsigned shift = 0; *p < end && shift < 63; shift += 7) {
		uint8_t c = *(*p)++;
		*v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return true;
	}
	return false;
}

static bool skip(const uint8_t **p, const uint8_t *end, uint64_t n)
{
	if ((uint64_t)(end - *p) < n)
		return false;
	*p += n;
	return true;
}

/* The operands of each operation below 0x40, one letter each: r register, l
 * LEB128, b block, 1 2 4 8 bytes, a code address. */
static const char *const operands[0x40] = {
	[DW_CFA_nop] = "",
	[DW_CFA_set_loc] = "a",
	[DW_CFA_advance_loc1] = "1",
	[DW_CFA_advance_loc2] = "2",
	[DW_CFA_advance_loc4] = "4",
	[DW_CFA_MIPS_advance_loc8] = "8",
	[DW_CFA_offset_extended] = "rl",
	[DW_CFA_restore_extended] = "r",
	[DW_CFA_undefined] = "r",
	[DW_CFA_same_value] = "r",
	[DW_CFA_register] = "rr",
	[DW_CFA_remember_state] = "",
	[DW_CFA_restore_state] = "",
	[DW_CFA_def_cfa] = "rl",
	[DW_CFA_def_cfa_register] = "r",
	[DW_CFA_def_cfa_offset] = "l",
	[DW_CFA_def_cfa_expression] = "b",
	[DW_CFA_expression] = "rb",
	[DW_CFA_offset_extended_sf] = "rl",
	[DW_CFA_def_cfa_sf] = "rl",
	[DW_CFA_def_cfa_offset_sf] = "l",
	[DW_CFA_val_offset] = "rl",
	[DW_CFA_val_offset_sf] = "rl",
	[DW_CFA_val_expression] = "rb",
	[DW_CFA_GNU_window_save] = "",
	[DW_CFA_GNU_args_size] = "l",
	[DW_CFA_GNU_negative_offset_extended] = "rl",
};

static bool operand_ok(char kind, const uint8_t **p, const uint8_t *end, uint64_t address_width)
{
	uint64_t v;
	switch (kind) {
	case 'r':
		return leb(p, end, &v) && v < MAX_REG;
	case 'l':
		return skip_leb(p, end);
	case 'b':
		return leb(p, end, &v) && skip(p, end, v);
	case 'a':
		return skip(p, end, address_width);
	default:
		return skip(p, end, (uint64_t)(kind - '0'));
	}
}

static uint64_t pointer_width(unsigned enc)
{
	static const uint8_t width[16] = { [0] = 8, [2] = 2, [3] = 4, [4] = 8, [10] = 2, [11] = 4, [12] = 8 };
	return width[enc & 15];
}

static bool program_ok(const uint8_t *p, const uint8_t *end, unsigned enc)
{
	unsigned saved = 0;
	while (p < end) {
		uint8_t op = *p++;
		if (op >= 0x40) { /* advance_loc, offset, restore: one operand is inside op */
			if ((op & 0xc0) == DW_CFA_offset && !skip_leb(&p, end))
				return false;
			continue;
		}
		const char *kinds = operands[op];
		if (!kinds)
			return false;
		for (; *kinds; kinds++)
			if (!operand_ok(*kinds, &p, end, pointer_width(enc)))
				return false;
		if (op == DW_CFA_remember_state && ++saved > MAX_SAVED_STATES)
			return false;
		if (op == DW_CFA_restore_state && saved-- == 0)
			return false;
	}
	return true;
}

/* A pointer of .eh_frame in encoding enc at *p, which ends at end. */
static bool read_pointer(const struct list *l, const uint8_t **p, const uint8_t *end, unsigned enc,
			 uint64_t *ret)
{
	uint64_t here = l->vaddr + (uint64_t)(*p - (const uint8_t *)l->data->d_buf), v = 0;
	uint64_t n = pointer_width(enc);
	if (!n || (enc & 0x80) || (uint64_t)(end - *p) < n)
		return false;
	memcpy(&v, *p, n); /* little-endian, as the file */
	if ((enc & 8) && n < 8)
		v = (uint64_t)((int64_t)(v << (64 - 8 * n)) >> (64 - 8 * n));
	*p += n;
	if ((enc & 0x70) == DW_EH_PE_pcrel)
		v += here;
	else if (enc & 0x70) /* relative to text, data or function: not used for code addresses */
		return false;
	*ret = v;
	return true;
}

/* The encoding of code addresses that a CIE asks for. */
static bool cie_encoding(const Dwarf_CIE *cie, unsigned *enc)
{
	const char *a = cie->augmentation;
	const uint8_t *d = cie->augmentation_data, *end = d + cie->augmentation_data_size;
	*enc = 0;
	if (*a != 'z')
		return *a == '\0';
	for (a++; *a; a++) {
		switch (*a) {
		case 'R':
			if (d >= end)
				return false;
			*enc = *d++;
			break;
		case 'L':
			if (!skip(&d, end, 1))
				return false;
			break;
		case 'P':
			if (d >= end || !pointer_width(*d) || (*d & 0x70) == DW_EH_PE_aligned ||
			    !skip(&d, end, 1 + pointer_width(*d)))
				return false;
			break;
		case 'S':
		case 'B':
			break;
		default:
			return false;
		}
	}
	return true;
}

static int next_entry(struct list *l, struct ty_elf *e, Dwarf_Off off, Dwarf_Off *next,
		      Dwarf_CFI_Entry *entry)
{
	return dwarf_next_cfi((const unsigned char *)e->ehdr.e_ident, (Elf_Data *)l->data, true, off, next,
			      entry);
}

static int use_cie(struct list *l, struct ty_elf *e, Dwarf_Off off)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off ignore;
	if (off == l->cie_off)
		return 0;
	if (next_entry(l, e, off, &ignore, &entry) || !dwarf_cfi_cie_p(&entry))
		return -EINVAL;
	const Dwarf_CIE *c = &entry.cie;
	l->cie_off = off;
	l->cie_z = c->augmentation[0] == 'z';
	l->cie_ok = c->return_address_register < MAX_REG && cie_encoding(c, &l->enc) &&
		    program_ok(c->initial_instructions, c->initial_instructions_end, l->enc);
	l->cie_work = (uint64_t)(c->initial_instructions_end - c->initial_instructions);
	return 0;
}

static int add(struct list *l, const Dwarf_FDE *f)
{
	struct ty_fdes *out = l->out;
	const uint8_t *p = f->start;
	uint64_t lo, len, aug = 0;

	if (!l->cie_ok || !read_pointer(l, &p, f->end, l->enc, &lo) ||
	    !read_pointer(l, &p, f->end, l->enc & 7, &len)) {
		out->skipped++;
		return 0;
	}
	if (len == 0 || lo >= l->hi || lo + len < lo || lo + len <= l->lo)
		return 0; /* of discarded code, or not code at all */
	if ((l->cie_z && (!leb(&p, f->end, &aug) || !skip(&p, f->end, aug))) ||
	    !program_ok(p, f->end, l->enc)) {
		out->skipped++;
		return 0;
	}
	if (ty_reserve(&out->fde, &l->room, out->count + 1, sizeof *out->fde))
		return -ENOMEM;
	uint64_t work = l->cie_work + (uint64_t)(f->end - p) + 64; /* 64: the look-up itself */
	out->fde[out->count++] = (struct ty_fde){ lo, lo + len, work };
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct ty_fde *x = a, *y = b;
	return x->lo != y->lo ? (x->lo > y->lo) - (x->lo < y->lo) : (x->hi > y->hi) - (x->hi < y->hi);
}

int ty_fdes_list(struct ty_elf *e, uint64_t lo, uint64_t hi, struct ty_fdes *ret)
{
	struct ty_fdes out = { 0 };
	struct list l = { .out = &out, .lo = lo, .hi = hi, .cie_off = (Dwarf_Off)-1 };
	uint64_t offset, size;

	if (!ty_elf_eh_frame(e, &l.vaddr, &offset, &size))
		return 0;
	l.data = elf_getdata_rawchunk(e->elf, (int64_t)offset, size, ELF_T_BYTE);
	if (!l.data)
		return -EINVAL;
	int r = 0;
	for (Dwarf_Off off = 0, next = 0; !r; off = next) {
		Dwarf_CFI_Entry entry;
		int n = next_entry(&l, e, off, &next, &entry);
		if (n > 0 || (!n && next <= off))
			break;
		if (n < 0)
			r = -EINVAL;
		else if (!dwarf_cfi_cie_p(&entry))
			r = use_cie(&l, e, entry.fde.CIE_pointer);
		if (!r && !dwarf_cfi_cie_p(&entry))
			r = add(&l, &entry.fde);
	}
	if (r) {
		ty_fdes_free(&out);
		return r;
	}
	if (out.count)
		qsort(out.fde, out.count, sizeof *out.fde, by_start);
	*ret = out;
	return 1;
}

void ty_fdes_free(struct ty_fdes *f)
{
	free(f->fde);
	*f = (struct ty_fdes){ 0 };
}

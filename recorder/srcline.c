/* SPDX-License-Identifier: MIT
 *
 * Functions, inlined calls and lines from DWARF.  Runs in the recorder, when
 * the addresses seen are named.  The tables of units and of a unit's functions
 * are made here: .debug_aranges is absent in what clang and rustc write, and
 * libdw's dwarf_getscopes walks a whole unit for each address.  What must stay
 * true: a damaged file costs bounded work.
 */
#include "recorder/srcline.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "common/reserve.h"

enum { MAX_DEPTH = 64, MAX_CHAIN = 64, MAX_DIES = 1 << 24 };

struct range {
	uint64_t lo, hi;
	uint64_t top; /* largest hi of this and all before it */
	Dwarf_Die die;
	size_t unit; /* units: index into unit[] */
};

struct ranges {
	struct range *r;
	size_t count, room;
};

struct unit {
	Dwarf_Die die;       /* has the line table */
	struct ranges funcs; /* made at first use */
	int listed;
};

struct ty_srcline {
	struct unit *unit;
	size_t units, unit_room;
	struct ranges by_addr;
};

static void add_ranges(struct ranges *t, Dwarf_Die *die, size_t unit)
{
	Dwarf_Addr base, lo, hi;
	for (ptrdiff_t off = 0; (off = dwarf_ranges(die, off, &base, &lo, &hi)) > 0;) {
		if (lo >= hi || lo == 0)
			continue; /* code that the linker discarded */
		if (ty_reserve(&t->r, &t->room, t->count + 1, sizeof *t->r))
			return;
		t->r[t->count++] = (struct range){ .lo = lo, .hi = hi, .die = *die, .unit = unit };
	}
}

static int by_lo(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return (x->hi < y->hi) - (x->hi > y->hi); /* the inner one last */
}

static void sort_ranges(struct ranges *t)
{
	if (t->count)
		qsort(t->r, t->count, sizeof *t->r, by_lo);
	for (size_t i = 0; i < t->count; i++)
		t->r[i].top = i && t->r[i - 1].top > t->r[i].hi ? t->r[i - 1].top : t->r[i].hi;
}

/* The innermost range over pc. */
static struct range *find_range(const struct ranges *t, uint64_t pc)
{
	size_t lo = 0, hi = t->count;
	while (lo < hi) {
		size_t m = lo + (hi - lo) / 2;
		if (t->r[m].lo <= pc)
			lo = m + 1;
		else
			hi = m;
	}
	while (lo-- > 0 && t->r[lo].top > pc)
		if (t->r[lo].hi > pc)
			return &t->r[lo];
	return NULL;
}

struct ty_srcline *ty_srcline_new(Dwarf *dwarf)
{
	struct ty_srcline *s = calloc(1, sizeof *s);
	Dwarf_CU *cu = NULL;
	uint8_t type;
	Dwarf_Die die, sub;

	while (s && dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &sub) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (ty_reserve(&s->unit, &s->unit_room, s->units + 1, sizeof *s->unit))
			break;
		s->unit[s->units] = (struct unit){ .die = die };
		add_ranges(&s->by_addr, &die, s->units++);
	}
	if (s)
		sort_ranges(&s->by_addr);
	return s;
}

void ty_srcline_free(struct ty_srcline *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->units; i++)
		free(s->unit[i].funcs.r);
	free(s->unit);
	free(s->by_addr.r);
	free(s);
}

/* All functions with code below die.  Functions stand at the top, in
 * namespaces (Rust), in types, or nested in other functions (lambdas). */
static void list_functions(struct ranges *t, Dwarf_Die *parent, int depth, int *budget)
{
	Dwarf_Die die;
	if (depth > MAX_DEPTH || dwarf_child(parent, &die))
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			add_ranges(t, &die, 0);
			list_functions(t, &die, depth + 1, budget);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type:
		case DW_TAG_lexical_block:
			list_functions(t, &die, depth + 1, budget);
			break;
		default:
			break;
		}
	} while (--*budget > 0 && dwarf_siblingof(&die, &die) == 0);
}

/* Adds the inlined calls over pc inside parent, outermost first. */
static int inlined_calls(Dwarf_Die *parent, uint64_t pc, Dwarf_Die *chain, int n, int depth, int *budget)
{
	Dwarf_Die die;
	if (depth > MAX_DEPTH || dwarf_child(parent, &die))
		return n;
	do {
		int tag = dwarf_tag(&die);
		bool inlined = tag == DW_TAG_inlined_subroutine;
		if (!inlined && tag != DW_TAG_lexical_block)
			continue;
		/* A block without addresses of its own may still hold calls. */
		if (dwarf_haspc(&die, pc) <= 0 &&
		    (inlined || dwarf_hasattr(&die, DW_AT_low_pc) || dwarf_hasattr(&die, DW_AT_ranges)))
			continue;
		int m = n;
		if (inlined && m < MAX_CHAIN)
			chain[m++] = die;
		m = inlined_calls(&die, pc, chain, m, depth + 1, budget);
		if (inlined || m > n)
			return m;
	} while (--*budget > 0 && dwarf_siblingof(&die, &die) == 0);
	return n;
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *s = NULL;
	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		s = dwarf_formstring(&attr);
	return s ? s : dwarf_diename(die);
}

/* Where the inlined function die was called from. */
static void call_site(Dwarf_Die *unit, Dwarf_Die *die, struct ty_src *out)
{
	Dwarf_Attribute attr;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t n;
	if (!dwarf_attr(die, DW_AT_call_line, &attr) || dwarf_formudata(&attr, &line))
		return;
	if (!dwarf_attr(die, DW_AT_call_file, &attr) || dwarf_formudata(&attr, &file))
		return;
	if (dwarf_getsrcfiles(unit, &files, &n) || file >= n)
		return;
	out->file = dwarf_filesrc(files, file, NULL, NULL);
	out->line = (unsigned)line;
}

static void line_at(Dwarf_Die *unit, uint64_t pc, struct ty_src *out)
{
	Dwarf_Line *l = dwarf_getsrc_die(unit, pc);
	int line;
	if (!l || dwarf_lineno(l, &line) || line <= 0)
		return;
	out->file = dwarf_linesrc(l, NULL, NULL);
	out->line = (unsigned)line;
}

int ty_srcline_at(struct ty_srcline *s, uint64_t pc, struct ty_src *out, size_t max)
{
	struct range *ur = find_range(&s->by_addr, pc);
	if (!ur || !max)
		return 0;
	struct unit *u = &s->unit[ur->unit];
	int budget = MAX_DIES;
	if (!u->listed) {
		u->listed = 1;
		list_functions(&u->funcs, &u->die, 0, &budget);
		sort_ranges(&u->funcs);
	}
	struct range *f = find_range(&u->funcs, pc);
	if (!f)
		return 0;

	Dwarf_Die chain[MAX_CHAIN + 1];
	chain[0] = f->die;
	budget = MAX_DIES;
	int n = inlined_calls(&f->die, pc, chain, 1, 0, &budget);
	int first = (size_t)n > max ? n - (int)max : 0; /* innermost ones left out */
	for (int i = n - 1 - first, o = 0; i >= 0; i--, o++) {
		out[o] = (struct ty_src){ .name = name_of(&chain[i]) };
		if (i == n - 1)
			line_at(&u->die, pc, &out[o]);
		else
			call_site(&u->die, &chain[i + 1], &out[o]);
	}
	return n - first;
}

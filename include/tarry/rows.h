/* SPDX-License-Identifier: MIT
 *
 * Unwind rows: for each code address of a module, where the caller's frame is
 * and where the frame pointer was saved.  The recorder derives them from
 * .eh_frame and publishes them in the arena (recorder/rows.c); the hook walks
 * with them (preload/path.c).  A table never changes once published.
 *
 *   struct ty_rows header | u32 index[blocks + 1] | struct ty_row row[count]
 *
 * A row covers ELF virtual addresses [row[i].addr, row[i+1].addr).  Rows are
 * sorted; holes without an FDE are rows of kind STOP.  index[b] is the number
 * of the last row with addr <= lo + b * TY_ROWS_BLOCK, so a look-up reads
 * index[b], index[b + 1] and the few rows between.
 *
 *   rule   31   29 28             13 12  11              0
 *         +-------+-----------------+---+----------------+
 *         | kind  | k / 8 (signed)  | s | bp / 8 (signed)|
 *         +-------+-----------------+---+----------------+
 *   kind SP:    CFA = SP + k             RETURN ADDRESS is *(CFA - 8), always
 *        BP:    CFA = BP + k
 *        BPREF: CFA = *(BP + k)          realigned frames (DRAP)
 *        SIGNAL: pc, sp, bp from the ucontext at SP
 *        END:   outermost frame (return address undefined): path complete
 *        STOP:  no rule; path is cut here
 *   s    0: BP of the caller unchanged    1: saved at CFA + bp (BPREF: at BP + bp)
 *        bp == TY_BP_LOST with s == 1: undefined from here on
 */
#ifndef TARRY_ROWS_H
#define TARRY_ROWS_H

#include <stdint.h>

enum ty_rule_kind { TY_RULE_STOP, TY_RULE_SP, TY_RULE_BP, TY_RULE_BPREF, TY_RULE_SIGNAL, TY_RULE_END };

#define TY_ROWS_MAGIC 0x31776f72u /* "row1" */
#define TY_ROWS_BLOCK 256u
#define TY_BP_LOST (-2048) /* in units of 8 bytes */
#define TY_RULE_K_MAX 32767
#define TY_RULE_BP_MAX 2047

struct ty_row {
	uint32_t addr; /* ELF virtual address; modules above 4 GiB get no table */
	uint32_t rule;
};

struct ty_rows {
	uint32_t magic;
	uint32_t count;  /* rows, >= 1 */
	uint32_t blocks; /* (hi - lo + BLOCK - 1) / BLOCK */
	uint32_t lo, hi; /* addresses covered; the last row ends at hi */
	uint32_t skipped; /* rows whose rule does not fit (expressions, wide offsets), published as STOP */
	/* uint32_t index[blocks + 1]; struct ty_row row[count] at the next multiple of 8 */
};

static inline uint32_t ty_rule(enum ty_rule_kind kind, int32_t k8, int saved, int32_t bp8)
{
	return (uint32_t)kind << 29 | ((uint32_t)k8 & 0xffff) << 13 | (uint32_t)(saved & 1) << 12 |
	       ((uint32_t)bp8 & 0xfff);
}
static inline enum ty_rule_kind ty_rule_kind(uint32_t r) { return (enum ty_rule_kind)(r >> 29); }
static inline int64_t ty_rule_k(uint32_t r) { return (int64_t)(int16_t)(r >> 13) * 8; }
static inline int ty_rule_saved(uint32_t r) { return r >> 12 & 1; }
static inline int64_t ty_rule_bp(uint32_t r) { return (int64_t)((int32_t)(r << 20) >> 20) * 8; }
static inline int ty_rule_bp_lost(uint32_t r) { return ty_rule_saved(r) && ty_rule_bp(r) == TY_BP_LOST * 8; }

static inline const uint32_t *ty_rows_index(const struct ty_rows *t) { return (const uint32_t *)(t + 1); }
static inline const struct ty_row *ty_rows_row(const struct ty_rows *t)
{
	uintptr_t p = (uintptr_t)(ty_rows_index(t) + t->blocks + 1);
	return (const struct ty_row *)((p + 7) & ~(uintptr_t)7);
}
static inline uint64_t ty_rows_size(uint32_t count, uint32_t blocks)
{
	return ((sizeof(struct ty_rows) + ((uint64_t)blocks + 1) * 4 + 7) & ~(uint64_t)7) +
	       (uint64_t)count * sizeof(struct ty_row);
}

/* The rule for one address; STOP outside the table. */
static inline uint32_t ty_rows_find(const struct ty_rows *t, uint64_t addr)
{
	if (addr < t->lo || addr >= t->hi)
		return ty_rule(TY_RULE_STOP, 0, 0, 0);
	const uint32_t *ix = ty_rows_index(t);
	const struct ty_row *row = ty_rows_row(t);
	uint32_t b = (uint32_t)(addr - t->lo) / TY_ROWS_BLOCK;
	uint32_t i = ix[b], j = ix[b + 1];
	while (i < j) { /* last row with row.addr <= addr, between i and j */
		uint32_t m = i + (j - i + 1) / 2;
		if (row[m].addr <= addr)
			i = m;
		else
			j = m - 1;
	}
	return row[i].rule;
}

_Static_assert(sizeof(struct ty_row) == 8, "8 bytes a row");
_Static_assert(sizeof(struct ty_rows) == 24, "fixed width");

#endif

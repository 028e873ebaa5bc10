/* SPDX-License-Identifier: MIT
 *
 * One step of the walk over unwind rows.  The hook (preload/path.c) and the
 * tests share it, so what the tests check against other unwinders is what
 * runs in the traced process.  It reads the walking thread's own stack only,
 * never below lo and never at or above hi; it calls nothing, allocates
 * nothing and uses no lock.
 *
 * The state (pc, sp, bp) is that of a frame: pc where it goes on, sp and bp as
 * they are there.  By induction every state is the true one if the rows are
 * true and the code at pc is the code the rows were made from:
 *
 *   exact == 0: pc is a return address, look the rule up at pc - 1
 *   exact == 1: pc was interrupted by a signal, look the rule up at pc
 *
 * lo is the first sp of the walk (nothing below it is live, so nothing below
 * it is read), hi the end of this thread's stack, both 8-aligned.
 */
#ifndef TARRY_WALK_H
#define TARRY_WALK_H

#include <stdint.h>
#include "tarry/rows.h"

/* Where the kernel's signal frame keeps the interrupted registers, from SP at
 * the return trampoline (struct ucontext of x86-64). */
enum { TY_UC_BP = 0x78, TY_UC_SP = 0xa0, TY_UC_PC = 0xa8 };

enum { TY_WALK_NEXT = 1, TY_WALK_END = 0, TY_WALK_NO_RULE = -1, TY_WALK_NO_BP = -2, TY_WALK_BOUNDS = -3 };

#define TY_WALK_FN static inline __attribute__((no_sanitize("address", "thread")))

/* The word at a of the own stack; 0 if a is not a whole word inside [lo, hi). */
TY_WALK_FN int ty_walk_load(uint64_t a, uint64_t lo, uint64_t hi, uint64_t *ret)
{
	if ((a & 7) || a < lo || a >= hi || hi - a < 8)
		return 0;
	*ret = *(const volatile uint64_t *)(uintptr_t)a;
	return 1;
}

/* From the frame in (pc, sp, bp) to its caller by the frame's rule.
 * TY_WALK_NEXT: the state is the caller's.  TY_WALK_END: this frame is the
 * outermost one, the path is complete.  Negative: the path is cut here, by
 * which of the three; the state is unchanged. */
TY_WALK_FN int ty_walk_step(uint32_t rule, uint64_t *pc, uint64_t *sp, uint64_t *bp, int *bp_known,
			    int *exact, uint64_t lo, uint64_t hi)
{
	uint64_t cfa, npc, nsp, nbp = *bp;
	int known = *bp_known;

	switch (ty_rule_kind(rule)) {
	case TY_RULE_END:
		return TY_WALK_END;
	case TY_RULE_SIGNAL:
		if (!ty_walk_load(*sp + TY_UC_PC, lo, hi, &npc) ||
		    !ty_walk_load(*sp + TY_UC_SP, lo, hi, &nsp) ||
		    !ty_walk_load(*sp + TY_UC_BP, lo, hi, &nbp))
			return TY_WALK_BOUNDS;
		if (nsp < *sp || nsp >= hi) /* handler ran on another stack */
			return TY_WALK_BOUNDS;
		*pc = npc, *sp = nsp, *bp = nbp;
		*bp_known = *exact = 1;
		return TY_WALK_NEXT;
	case TY_RULE_SP:
		cfa = *sp + (uint64_t)ty_rule_k(rule);
		break;
	case TY_RULE_BP:
		if (!known)
			return TY_WALK_NO_BP;
		cfa = *bp + (uint64_t)ty_rule_k(rule);
		break;
	case TY_RULE_BPREF:
		if (!known)
			return TY_WALK_NO_BP;
		if (!ty_walk_load(*bp + (uint64_t)ty_rule_k(rule), lo, hi, &cfa))
			return TY_WALK_BOUNDS;
		break;
	default:
		return TY_WALK_NO_RULE;
	}
	/* Strictly upwards, or a damaged stack could hold the walk for ever. */
	if ((cfa & 7) || cfa > hi || cfa < *sp || (cfa == *sp && !*exact))
		return TY_WALK_BOUNDS;
	if (!ty_walk_load(cfa - 8, lo, hi, &npc))
		return TY_WALK_BOUNDS;
	if (ty_rule_bp_lost(rule)) {
		known = 0;
	} else if (ty_rule_saved(rule)) {
		uint64_t at = ty_rule_kind(rule) == TY_RULE_BPREF ? *bp : cfa;
		if (!ty_walk_load(at + (uint64_t)ty_rule_bp(rule), lo, hi, &nbp))
			return TY_WALK_BOUNDS;
		known = 1;
	}
	*pc = npc, *sp = cfa, *bp = nbp;
	*bp_known = known, *exact = 0;
	return TY_WALK_NEXT;
}

#endif

/* SPDX-License-Identifier: MIT
 * Request markers of the application (include/tarry/tarry.h finds this function
 * by name).  Runs in the traced process. */
#include "policies/age.h"

TY_EXPORT void tarry_mark_v1(int what, uint64_t id, const char *cls);
TY_EXPORT void tarry_mark_v1(int what, uint64_t id, const char *cls)
{
	ty_age_mark(what, id); /* also while nothing is recorded */
	struct ty_thread *t = what >= TY_MARK_BEGIN && what <= TY_MARK_RESUME ? ty_enter() : NULL;
	if (!t)
		return;
	ty_guard_set((uintptr_t)__builtin_frame_address(0));
	struct ty_rec_mark *r = ty_ring_reserve(ty_proc.arena, t, &ty_tls.cursor, sizeof *r);
	if (r) {
		*r = (struct ty_rec_mark){ TY_WORD0(TY_REC_MARK, sizeof *r / 8, what, 0, 0), ty_now(), id, "" };
		if (cls)
			memcpy(r->cls, cls, strnlen(cls, sizeof r->cls - 1));
		ty_ring_commit(ty_proc.arena, &ty_tls.cursor, r, sizeof *r);
	} else {
		ty_lose(t, TY_LOSS_RING_FULL);
	}
	ty_guard_clear();
}

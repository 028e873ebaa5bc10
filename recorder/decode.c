/* SPDX-License-Identifier: MIT
 *
 * Records of a ring (include/tarry/event.h) -> registry, modules, paths and
 * events.  Runs in the recorder; the record is a private copy whose length has
 * been checked, everything else in it may be garbage.  A record that cannot be
 * true makes ty_decode() return false; that thread's ring is then only followed
 * and counted (drain.c).
 */
#include <stdlib.h>
#include <string.h>
#include "recorder/orders.h"
#include "recorder/recorder.h"

#define FUTURE_NS 1000000000ull /* no clock runs ahead of ours by more */
#define STACK_MAX 65536u

static bool plausible(struct ty_recorder *r, uint64_t t)
{
	/* a pass may take long: ask the clock before calling it garbage */
	return t <= r->now + FUTURE_NS || t <= ty_now() + FUTURE_NS;
}

static bool has_nul(const char *s, size_t n)
{
	return n && memchr(s, 0, n);
}

static bool wait(struct ty_recorder *r, uint16_t slot, const struct ty_rec_wait *w, uint32_t words, bool wake)
{
	unsigned op = ty_rec_op(w->w0), flags = ty_rec_flags(w->w0);
	if (words != sizeof *w / 8 || op >= TY_OP_COUNT || w->end < w->begin || !plausible(r, w->end))
		return false;
	struct ty_slot *s = &r->reg.slot[slot];
	struct ty_rproc *p = r->reg.process[s->process];
	struct ty_ev ev = {
		.begin = w->begin,
		.end = w->end,
		.object = w->object,
		.aux = w->aux,
		.thread = s->thread,
		.op = (uint16_t)op,
		.err = (uint16_t)ty_rec_err(w->w0),
		.flags = flags & (TY_F_CONTENDED | TY_F_SHARED | TY_F_BROADCAST | TY_F_CLOCK),
		.kind = wake ? TY_EV_WAKE : TY_EV_WAIT,
		.cls = (uint8_t)ty_op_class((uint16_t)op),
	};
	if (flags & TY_F_SHARED)
		ev.object = ty_shared_object(r, p, w->object);
	if (!wake) {
		s->waits_ns += w->end - w->begin;
		s->last_begin = w->begin;
		ty_descriptors_event(r, p, &ev);
		ty_classify_wait(r, slot, &ev);
	}
	s->recorded[op]++;
	if (!wake)
		ty_orders_wait(r, op);
	ty_event_add(r, slot, &ev, w->path, (uint16_t)flags);
	return true;
}

static bool path(struct ty_recorder *r, uint16_t slot, const struct ty_rec_path *p, uint32_t words)
{
	uint32_t head = sizeof *p / 8;
	if (words <= head || words - head > TY_FRAMES_MAX || !(p->path >> 63))
		return false;
	ty_path_record(r, r->reg.process[r->reg.slot[slot].process], p, words - head);
	return true;
}

static bool module(struct ty_recorder *r, uint16_t slot, const struct ty_rec_module *m, uint32_t words)
{
	uint32_t head = sizeof *m / 8;
	if (words <= head || words - head > 4096 / 8 + 1 || !has_nul(m->path, (words - head) * 8) || m->id.kind > 2 ||
	    m->id.len > TY_ID_MAX || m->end <= m->start)
		return false;
	ty_module_mapped(r, r->reg.process[r->reg.slot[slot].process], m, m->path);
	return true;
}

static bool process(struct ty_recorder *r, uint16_t slot, const struct ty_rec_process *p, uint32_t words)
{
	uint32_t head = sizeof *p / 8;
	if (words <= head || words - head > 4096 / 8 + 1 || !has_nul(p->exe, (words - head) * 8) ||
	    !plausible(r, p->when))
		return false;
	struct ty_slot *s = &r->reg.slot[slot];
	ty_process_announced(r, r->reg.process[s->process], (uint16_t)ty_rec_flags(p->w0), (uint32_t)p->parent,
			     p->when, p->exe);
	return true;
}

static bool mark(struct ty_recorder *r, uint16_t slot, const struct ty_rec_mark *m, uint32_t words)
{
	unsigned what = ty_rec_op(m->w0);
	if (words != sizeof *m / 8 || what < TY_MARK_BEGIN || what > TY_MARK_RESUME || !plausible(r, m->when))
		return false;
	char cls[sizeof m->cls + 1];
	memcpy(cls, m->cls, sizeof m->cls);
	cls[sizeof m->cls] = 0;
	struct ty_ev ev = {
		.begin = m->when,
		.end = m->when,
		.object = m->id,
		.aux = ty_label(r, cls),
		.thread = r->reg.slot[slot].thread,
		.op = (uint16_t)what,
		.kind = TY_EV_MARK,
		.cls = TY_CLASS_COUNT,
	};
	ty_event_add(r, slot, &ev, 0, TY_F_NO_PATH);
	return true;
}

static bool bytes(struct ty_recorder *r, uint16_t slot, const struct ty_rec_bytes *b, uint32_t words)
{
	return words == sizeof *b / 8 && b->begin <= b->end && plausible(r, b->end) && b->object <= INT32_MAX && b->length &&
	       ty_classify_bytes(r, slot, b);
}

/* Pieces of one stack follow each other; whatever does not fit is skipped,
 * for pieces may have been dropped. */
static bool stack(struct ty_recorder *r, uint16_t slot, const struct ty_rec_stack *k, uint32_t words)
{
	uint32_t head = sizeof *k / 8;
	if (words < head || k->total > STACK_MAX || k->bytes > (words - head) * 8 || k->offset > k->total ||
	    k->bytes > k->total - k->offset)
		return false;
	struct ty_slot *s = &r->reg.slot[slot];
	struct ty_stack *x = s->stack;
	if (k->offset == 0) {
		free(x);
		x = s->stack = malloc(sizeof *x + k->total);
		if (!x)
			return true;
		*x = (struct ty_stack){ .path = k->path, .pc = k->pc, .sp = k->sp, .bp = k->bp,
					.total = (uint32_t)k->total };
	}
	if (!x || x->path != k->path || x->sp != k->sp || x->have != k->offset || x->total != k->total) {
		free(x);
		s->stack = NULL;
		return true;
	}
	memcpy(x->data + x->have, k->data, k->bytes);
	x->have += (uint32_t)k->bytes;
	if (x->have == x->total) {
		ty_checks_add(r, x);
		s->stack = NULL;
	}
	return true;
}

bool ty_decode(struct ty_recorder *r, uint16_t slot, const uint64_t *rec, uint32_t words)
{
	const struct ty_rec_gen *gen = (const void *)rec;
	switch (ty_rec_type(rec[0])) {
	case TY_REC_WAIT:
		return wait(r, slot, (const void *)rec, words, false);
	case TY_REC_WAKE:
		return wait(r, slot, (const void *)rec, words, true);
	case TY_REC_PATH:
		return path(r, slot, (const void *)rec, words);
	case TY_REC_MODULE:
		return module(r, slot, (const void *)rec, words);
	case TY_REC_PROCESS:
		return process(r, slot, (const void *)rec, words);
	case TY_REC_GEN:
		if (words != sizeof *gen / 8)
			return false;
		if (gen->gen > r->reg.process[r->reg.slot[slot].process]->gen) /* rings come in any order */
			r->reg.process[r->reg.slot[slot].process]->gen = gen->gen;
		return true;
	case TY_REC_STACK:
		return stack(r, slot, (const void *)rec, words);
	case TY_REC_MARK:
		return mark(r, slot, (const void *)rec, words);
	case TY_REC_BYTES:
		return bytes(r, slot, (const void *)rec, words);
	default:
		return false;
	}
}

/* SPDX-License-Identifier: MIT
 *
 * Thread slots in the recorder: from the claim by a traced thread to giving
 * the slot back.  Runs in the recorder's main thread; see registry.c.
 */
#include <stdlib.h>
#include <string.h>
#include "recorder/recorder.h"

bool ty_slot_claim(struct ty_recorder *r, uint16_t slot, uint64_t owner)
{
	struct ty_registry *g = &r->reg;
	struct ty_slot *s = &g->slot[slot];
	struct ty_watch *w = ty_watch_add(r, (pid_t)(owner >> 32));
	if (!w) {
		r->lost.no_memory++;
		return false;
	}
	uint64_t *keep = s->recorded;
	*s = (struct ty_slot){ .owner = owner, .watch = w, .recorded = keep,
			       .process = TY_NONE, .thread = TY_NONE };
	g->active[g->actives++] = slot;
	w->slots++;
	return true;
}

/* A thread has one slot.  Two with the same owner: an exec, or an id that was
 * used again; the thread born first has ended. */
static void one_slot(struct ty_registry *g, struct ty_slot *s)
{
	for (uint32_t i = 0; i < g->actives; i++) {
		struct ty_slot *other = &g->slot[g->active[i]];
		if (other == s || !other->registered || other->owner != s->owner)
			continue;
		*(other->start <= s->start ? &other->gone : &s->gone) = true;
	}
}

void ty_slot_register(struct ty_recorder *r, uint16_t slot)
{
	struct ty_registry *g = &r->reg;
	struct ty_slot *s = &g->slot[slot];
	const volatile struct ty_thread *t = ty_arena_thread(r->arena.a, slot);
	if (!s->recorded)
		s->recorded = calloc(TY_OP_COUNT, sizeof *s->recorded);
	uint64_t birth = t->birth;
	s->start = birth && birth <= r->now ? birth : r->now;
	struct ty_rproc *p = s->recorded ? ty_process_get(r, (uint32_t)(s->owner >> 32), t->image, s->start) : NULL;
	if (!p) {
		r->lost.no_memory++;
		return;
	}
	memset(s->recorded, 0, TY_OP_COUNT * sizeof *s->recorded);
	s->process = p->id;
	s->thread = g->threads++;
	s->registered = true;
	s->gone = p->replaced;
	p->slots++;
	one_slot(g, s);
	ty_sample_slot(r, slot);
	ty_thread_store(r, slot, 0);
}

/* The wait that a living thread is in, for those who read along: no event may
 * ever have named its path. */
static void open_now(struct ty_recorder *r, const struct ty_slot *s, struct ty_thread *t, struct ty_thread_info *info)
{
	/* pairs with publish() in preload/wait.c, as does the fence below */
	uint32_t seq = atomic_load_explicit(&t->wait_seq, memory_order_acquire);
	uint32_t word = atomic_load_explicit(&t->wait_op, memory_order_relaxed), op = ty_wait_word_op(word);
	uint64_t begin = atomic_load_explicit(&t->wait_begin, memory_order_relaxed);
	uint64_t path = atomic_load_explicit(&t->wait_path, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	if ((seq & 1) || seq != atomic_load_explicit(&t->wait_seq, memory_order_relaxed) || op >= TY_OP_COUNT ||
	    begin == s->last_begin || (path >> 63 && !ty_path_known(r, path)))
		return;
	info->open_begin = begin;
	info->open_path = ty_path_resolve(r, r->reg.process[s->process], path, path >> 63 ? 0 : TY_F_NO_PATH);
}

void ty_thread_store(struct ty_recorder *r, uint16_t slot, uint64_t end)
{
	struct ty_slot *s = &r->reg.slot[slot];
	struct ty_thread *t = ty_arena_thread(r->arena.a, slot);
	uint64_t fast[TY_OP_COUNT], loss[TY_LOSS_COUNT];
	for (unsigned i = 0; i < TY_OP_COUNT; i++)
		fast[i] = atomic_load_explicit(&t->fast[i], memory_order_relaxed);
	for (unsigned i = 0; i < TY_LOSS_COUNT; i++)
		loss[i] = atomic_load_explicit(&t->loss[i], memory_order_relaxed);
	struct ty_thread_info info = {
		.process = s->process,
		.tid = (uint32_t)s->owner,
		.name = s->name,
		.start = s->start,
		.end = end,
		.fast = fast,
		.recorded = s->recorded,
		.loss = loss,
	};
	if (s->samples > 1) {
		info.sampled_ns = s->last_at - s->first_at;
		info.cpu_ns = s->cpu - s->cpu0;
		info.runq_ns = s->runq - s->runq0;
		info.waits_ns = s->last_waits - s->first_waits;
	}
	if (!end)
		open_now(r, s, t, &info);
	ty_writer_thread(r->writer, s->thread, &info);
	s->dirty = false;
}

/* The wait a thread was in when it stopped writing, as an event of its own. */
void ty_slot_open_wait(struct ty_recorder *r, uint16_t slot, uint64_t end, bool killed)
{
	struct ty_slot *s = &r->reg.slot[slot];
	struct ty_thread *t = ty_arena_thread(r->arena.a, slot);
	/* pairs with publish() in preload/wait.c, as does the fence below */
	uint32_t seq = atomic_load_explicit(&t->wait_seq, memory_order_acquire);
	uint32_t word = atomic_load_explicit(&t->wait_op, memory_order_relaxed), op = ty_wait_word_op(word);
	struct ty_ev ev = {
		.begin = atomic_load_explicit(&t->wait_begin, memory_order_relaxed),
		.object = atomic_load_explicit(&t->wait_object, memory_order_relaxed),
		.aux = atomic_load_explicit(&t->wait_aux, memory_order_relaxed),
		.end = end,
		.thread = s->thread,
		.op = (uint16_t)op,
		.kind = TY_EV_OPEN,
		.flags = (uint16_t)ty_wait_word_flags(word),
		.cls = (uint8_t)ty_op_class((uint16_t)op),
	};
	uint64_t path = atomic_load_explicit(&t->wait_path, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	bool torn = (seq & 1) || seq != atomic_load_explicit(&t->wait_seq, memory_order_relaxed);
	/* its record may have been committed without the end being published */
	if (torn || op >= TY_OP_COUNT || ev.begin == s->last_begin || ev.begin > end)
		return;
	if (killed)
		r->reg.process[s->process]->info.ended_waiting = true;
	if (ev.flags & TY_F_SHARED)
		ev.object = ty_shared_object(r, r->reg.process[s->process], ev.object);
	ty_event_add(r, slot, &ev, path, path >> 63 ? 0 : TY_F_NO_PATH);
}

/* Gives the slot back: last counters, its chunk, then zero and owner 0. */
void ty_slot_finish(struct ty_recorder *r, uint16_t slot)
{
	struct ty_registry *g = &r->reg;
	struct ty_slot *s = &g->slot[slot];
	struct ty_thread *t = ty_arena_thread(r->arena.a, slot);
	bool died = s->watch->dead;
	uint64_t end = died ? s->watch->died : ty_now();
	if (s->registered) {
		ty_sample_slot(r, slot);
		/* Threads of a killed process are gone from /proc before it is dead.  One
		 * that ends by itself, even cancelled in a wait, says so. */
		/* pairs with the release of end_here() in preload/thread.c */
		bool said = atomic_load_explicit(&t->state, memory_order_acquire) == TY_THREAD_ENDED;
		ty_slot_open_wait(r, slot, end, died || (!said && !g->process[s->process]->replaced));
		ty_thread_store(r, slot, end);
		g->ring_lost += atomic_load_explicit(&t->loss[TY_LOSS_RING_FULL], memory_order_relaxed);
		struct ty_rproc *p = g->process[s->process];
		if (--p->slots == 0 && p->replaced && !p->info.ended)
			ty_process_end(r, p, end);
	}
	if (s->chunk)
		ty_arena_unlink(&r->arena, s->chunk - 1);
	free(s->stack);
	s->watch->slots--;
	for (uint32_t i = 0; i < g->actives; i++)
		if (g->active[i] == slot) {
			g->active[i] = g->active[--g->actives];
			break;
		}
	*s = (struct ty_slot){ .recorded = s->recorded, .watch = NULL };
	/* All but the owner is zero before the slot is free (the claim's acquire
	 * pairs with the release below). */
	memset((char *)t + sizeof t->owner, 0, sizeof *t - sizeof t->owner);
	atomic_store_explicit(&t->wait_op, UINT32_MAX, memory_order_relaxed);
	atomic_store_explicit(&t->owner, 0, memory_order_release);
	if (slot < g->hint)
		g->hint = slot;
}

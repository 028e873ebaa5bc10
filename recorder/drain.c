/* SPDX-License-Identifier: MIT
 *
 * One pass over the rings: finds claimed slots, reads whole records, hands
 * them to decode.c, gives chunks back, notices who has ended.  Runs in the
 * recorder's main thread.  What must stay true: nothing in shared memory is
 * read twice and believed (records are copied before they are looked at), an
 * index is followed only if the book of arena.c allows it, and a pass ends
 * whatever the rings hold.
 */
#include <string.h>
#include "recorder/recorder.h"

#define CHUNKS_A_PASS 512u /* of one thread: 8 MiB; the others wait as long */
#define FREE_RUN 16u       /* free slots in a row that end the search for new ones */
#define ROTATE 64u

/* A ring that says something impossible: its records are not believed from
 * there on, only counted in bytes.  Its chunks are still followed and given
 * back, each by the rules for a sound one. */
static void bad(struct ty_recorder *r, struct ty_slot *s)
{
	s->bad = true;
	r->lost.bad_record++;
}

/* Records in [s->pos, committed) of one chunk. */
static bool read_records(struct ty_recorder *r, uint16_t slot, const struct ty_chunk *c, uint32_t committed)
{
	struct ty_slot *s = &r->reg.slot[slot];
	uint64_t copy[TY_CHUNK_DATA / 8];
	while (s->pos < committed) {
		uint32_t room = (committed - s->pos) / 8;
		const volatile uint64_t *from = (const volatile uint64_t *)c->data + s->pos / 8;
		uint64_t w0 = from[0], words = ty_rec_words8(w0);
		if (words == 0 && room > 1) {
			words = from[1];
			if (words < 2)
				return false;
		}
		if (words == 0 || words > room)
			return false;
		copy[0] = w0;
		for (uint64_t i = 1; i < words; i++)
			copy[i] = from[i];
		if (ty_rec_words8(w0) == 0)
			copy[1] = words;
		if (!ty_decode(r, slot, copy, (uint32_t)words))
			return false;
		s->pos += (uint32_t)words * 8;
	}
	return true;
}

bool ty_ring_read(struct ty_recorder *r, uint16_t slot)
{
	struct ty_slot *s = &r->reg.slot[slot];
	if (s->lost)
		return true;
	if (!s->chunk) {
		uint32_t first = atomic_load_explicit(&ty_arena_thread(r->arena.a, slot)->first, memory_order_acquire);
		if (!first)
			return true;
		if (!ty_arena_link(&r->arena, first)) {
			bad(r, s);
			s->lost = true;
			return true;
		}
		s->chunk = first;
		s->pos = 0;
	}
	for (unsigned i = 0; i < CHUNKS_A_PASS; i++) {
		struct ty_chunk *c = ty_arena_chunk(r->arena.a, s->chunk - 1);
		uint32_t committed, next;
		ty_ring_peek(c, &committed, &next);
		bool sane = committed <= TY_CHUNK_DATA && committed % 8 == 0 && committed >= s->pos;
		if (!s->bad && (!sane || !read_records(r, slot, c, committed)))
			bad(r, s);
		if (s->bad && sane) {
			r->lost.bad_bytes += committed - s->pos;
			s->pos = committed;
		}
		if (!next)
			return true;
		if (!ty_arena_link(&r->arena, next)) {
			if (!s->bad)
				bad(r, s);
			s->lost = true;
			return true;
		}
		ty_arena_unlink(&r->arena, s->chunk - 1);
		s->chunk = next;
		s->pos = 0;
	}
	return false;
}

/* A slot that is, or just has been, claimed. */
static void visit(struct ty_recorder *r, uint16_t slot)
{
	struct ty_slot *s = &r->reg.slot[slot];
	struct ty_thread *t = ty_arena_thread(r->arena.a, slot);
	uint64_t owner = atomic_load_explicit(&t->owner, memory_order_acquire);
	if (!s->owner && (!owner || !ty_slot_claim(r, slot, owner)))
		return;
	/* The end is looked for before the ring is read: what was committed before
	 * it is then in the ring. */
	uint32_t state = atomic_load_explicit(&t->state, memory_order_acquire);
	bool ended = s->gone || s->watch->dead || state == TY_THREAD_ENDED || owner != s->owner;
	if (!s->registered && state != TY_THREAD_FREE)
		ty_slot_register(r, slot);
	bool empty = !s->registered || ty_ring_read(r, slot);
	if (ended && empty)
		ty_slot_finish(r, slot);
}

/* New claims: threads take the first free slot at or after the hint. */
static void find_new(struct ty_recorder *r)
{
	struct ty_registry *g = &r->reg;
	uint32_t n = r->full_scan ? TY_THREADS : 0;
	for (uint32_t i = 0; i < n; i++)
		if (!g->slot[i].owner)
			visit(r, (uint16_t)i);
	if (n)
		return;
	for (uint32_t i = g->hint, free_run = 0; i < TY_THREADS && free_run < FREE_RUN; i++) {
		if (!g->slot[i].owner)
			visit(r, (uint16_t)i);
		free_run = g->slot[i].owner ? 0 : free_run + 1;
	}
	for (uint32_t i = 0; i < ROTATE; i++) {
		uint32_t at = g->rotor++ % TY_THREADS;
		if (!g->slot[at].owner)
			visit(r, (uint16_t)at);
	}
}

static void set_hint(struct ty_recorder *r)
{
	struct ty_registry *g = &r->reg;
	while (g->hint < TY_THREADS - 1 && g->slot[g->hint].owner)
		g->hint++;
	atomic_store_explicit(&r->arena.a->thread_hint, g->hint, memory_order_relaxed);
}

size_t ty_drain(struct ty_recorder *r)
{
	struct ty_registry *g = &r->reg;
	uint64_t before = r->drained;
	r->now = ty_now();
	atomic_store_explicit(&r->arena.a->heartbeat, r->now, memory_order_relaxed);
	r->full_scan = r->want_full || r->death;
	r->want_full = r->death = false;
	/* Finishing a slot moves the last active one into its place. */
	for (uint32_t i = 0; i < g->actives;) {
		uint16_t slot = g->active[i];
		visit(r, slot);
		i += i < g->actives && g->active[i] == slot;
	}
	find_new(r);
	set_hint(r);
	r->arena.silent = 0;
	for (uint32_t i = 0; i < g->actives; i++)
		r->arena.silent += !g->slot[g->active[i]].chunk;
	ty_arena_stock(&r->arena, r->now);
	ty_events_pass_end(r);
	ty_registry_reap(r);
	return (size_t)(r->drained - before);
}

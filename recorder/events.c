/* SPDX-License-Identifier: MIT
 *
 * Events between ring and store.  A WAIT may be drained before the PATH it
 * names, which another thread has in its ring; it was committed earlier, so
 * the pass after has it.  Events are therefore held for one pass, and for one
 * more that looks at every slot if their path is still unknown.  Then they get
 * their store path and go to the writer in blocks.  Main thread only.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "recorder/recorder.h"

#define BLOCK_EVENTS 16384u
#define BLOCK_NS 250000000ull

static bool pending(const struct ty_ev *ev)
{
	return ev->kind == TY_EV_MARK && ev->op == TY_MARK_PENDING;
}

bool ty_event_add(struct ty_recorder *r, uint16_t slot, const struct ty_ev *ev, uint64_t path, uint16_t flags)
{
	struct ty_held_list *l = &r->events.now;
	if (ty_reserve(&l->held, &l->cap, l->count + 1, sizeof *l->held) < 0) {
		r->lost.no_memory++;
		return false;
	}
	struct ty_slot *s = &r->reg.slot[slot];
	struct ty_held *h = &l->held[l->count++];
	*h = (struct ty_held){ .ev = *ev, .path = path, .process = s->process, .slot = slot, .flags = flags };
	/* Readers rely on each thread's order of end. */
	if (ev->end < s->last_end) {
		h->ev.end = s->last_end;
		h->ev.flags |= TY_F_CLOCK;
	}
	s->last_end = h->ev.end;
	s->dirty = true;
	r->drained += !pending(ev);
	return true;
}

uint32_t ty_label(struct ty_recorder *r, const char *text)
{
	struct ty_events *e = &r->events;
	uint64_t *at = ty_map_put(&e->labels, XXH3_64bits(text, strlen(text)));
	if (!at)
		return 0;
	if (!*at) {
		*at = ++e->next_label;
		ty_writer_label(r->writer, (uint32_t)*at, text);
	}
	return (uint32_t)*at;
}

static void hand_over(struct ty_recorder *r, uint64_t complete_to)
{
	struct ty_events *e = &r->events;
	if (e->count) {
		ty_writer_block(r->writer, e->ev, e->slot, e->count, complete_to);
		e->ev = NULL;
		e->slot = NULL;
		e->count = 0;
	}
	e->complete_to = complete_to;
}

static void flush(struct ty_recorder *r)
{
	hand_over(r, r->events.complete_to);
	ty_writer_commit(r->writer);
	r->flushed_at = r->now;
}

static void append(struct ty_recorder *r, struct ty_held *h)
{
	struct ty_events *e = &r->events;
	if (pending(&h->ev)) {
		if (!ty_classify_answer(r, &h->ev))
			return;
		r->drained++;
	}
	if (!e->ev) {
		e->ev = malloc(BLOCK_EVENTS * sizeof *e->ev);
		e->slot = malloc(BLOCK_EVENTS * sizeof *e->slot);
		if (!e->ev || !e->slot) {
			free(e->ev);
			free(e->slot);
			e->ev = NULL;
			e->slot = NULL;
			r->lost.no_memory++;
			return;
		}
		e->since = r->now;
	}
	struct ty_ev *ev = &e->ev[e->count];
	*ev = h->ev;
	ev->path = ty_path_resolve(r, r->reg.process[h->process], h->path, h->flags);
	ty_object_seen(r, r->reg.process[h->process], ev);
	e->slot[e->count++] = h->slot;
	if (e->count == BLOCK_EVENTS) {
		hand_over(r, e->complete_to); /* more of this pass follow */
		ty_writer_commit(r->writer);
		r->flushed_at = r->now;
	}
}

static bool all_known(const struct ty_recorder *r, const struct ty_held_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->held[i].path >> 63 && !ty_path_known(r, l->held[i].path))
			return false;
	return true;
}

static void resolve(struct ty_recorder *r, struct ty_held_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		append(r, &l->held[i]);
	l->count = 0;
	r->events.complete_to = l->begin;
}

void ty_events_pass_end(struct ty_recorder *r)
{
	struct ty_events *e = &r->events;
	e->now.begin = r->now;
	ty_classify_pass(r, r->now);
	if (e->before.count && !r->full_scan && !all_known(r, &e->before)) {
		/* keep them, with what this pass brought, for a pass over all slots */
		r->want_full = true;
		if (ty_reserve(&e->before.held, &e->before.cap, e->before.count + e->now.count,
			       sizeof *e->before.held) == 0) {
			if (e->now.count)
				memcpy(e->before.held + e->before.count, e->now.held,
				       e->now.count * sizeof *e->now.held);
			e->before.count += e->now.count;
			e->now.count = 0;
			e->before.begin = e->now.begin;
			return;
		}
	}
	resolve(r, &e->before);
	struct ty_held_list empty = e->before;
	e->before = e->now;
	e->now = empty;
	if (e->count && r->now - e->since >= BLOCK_NS)
		flush(r);
}

void ty_events_finish(struct ty_recorder *r)
{
	struct ty_events *e = &r->events;
	ty_classify_pass(r, UINT64_MAX);
	resolve(r, &e->before);
	resolve(r, &e->now);
	hand_over(r, e->complete_to);
	ty_writer_commit(r->writer);
}

void ty_events_free(struct ty_recorder *r)
{
	struct ty_events *e = &r->events;
	free(e->now.held);
	free(e->before.held);
	free(e->ev);
	free(e->slot);
	ty_map_free(&e->labels);
}

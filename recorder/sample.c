/* SPDX-License-Identifier: MIT
 *
 * What /proc says about each recorded thread: name, CPU and run-queue time,
 * and whether it is still there.  Runs in the recorder's main thread, a few
 * slots a pass, so that thousands of threads cost no more than a bounded share
 * of a core.  wall - CPU - run queue - recorded waits is the time that nobody
 * sees; all four are taken over the same window.
 */
#include <errno.h>
#include <string.h>
#include "recorder/recorder.h"

#define SLOTS_A_PASS 32u
#define SAMPLE_NS 250000000ull
#define SAMPLE_A_THREAD_NS 500000ull /* the interval grows with the number of threads */
#define NAMES_EVERY 16u

/* Recorded waits so far, with the one in progress.  A wait's record is committed
 * before its end is published: one that is no longer published is in the ring,
 * which may last have been read long ago. */
static uint64_t waits_until(struct ty_recorder *r, uint16_t slot, uint64_t now)
{
	const struct ty_slot *s = &r->reg.slot[slot];
	struct ty_thread *t = ty_arena_thread(r->arena.a, slot);
	/* pairs with unpublish() in preload/wait.c */
	bool waiting = ty_wait_word_op(atomic_load_explicit(&t->wait_op, memory_order_acquire)) < TY_OP_COUNT;
	uint64_t begin = atomic_load_explicit(&t->wait_begin, memory_order_relaxed);
	ty_ring_read(r, slot);
	return s->waits_ns + (waiting && begin > s->last_begin && begin < now && begin >= s->start ? now - begin : 0);
}

void ty_sample_slot(struct ty_recorder *r, uint16_t slot)
{
	struct ty_slot *s = &r->reg.slot[slot];
	pid_t pid = (pid_t)(s->owner >> 32);
	uint32_t tid = (uint32_t)s->owner;
	uint64_t interval = r->reg.actives * SAMPLE_A_THREAD_NS, cpu, runq;
	s->next_sample = r->now + (interval > SAMPLE_NS ? interval : SAMPLE_NS);
	int rc = ty_proc_schedstat(pid, tid, &cpu, &runq);
	if (rc == -ENOENT)
		s->gone = true;
	if (s->samples < 4 || s->samples % NAMES_EVERY == 0) {
		char name[sizeof s->name];
		ty_proc_comm(pid, tid, name, sizeof name);
		if (*name)
			memcpy(s->name, name, sizeof name);
	}
	if (rc < 0)
		return;
	s->last_at = ty_now();
	s->cpu = cpu;
	s->runq = runq;
	s->last_waits = waits_until(r, slot, s->last_at);
	if (s->samples++ == 0) {
		s->first_at = s->last_at;
		s->cpu0 = cpu;
		s->runq0 = runq;
		s->first_waits = s->last_waits;
	}
	s->dirty = true;
}

void ty_sample(struct ty_recorder *r)
{
	struct ty_registry *g = &r->reg;
	for (uint32_t i = 0; i < SLOTS_A_PASS && i < g->actives; i++) {
		uint16_t slot = g->active[g->sample_rotor++ % g->actives];
		struct ty_slot *s = &g->slot[slot];
		if (s->registered && !s->watch->dead && r->now >= s->next_sample)
			ty_sample_slot(r, slot);
	}
}

/* SPDX-License-Identifier: MIT
 *
 * The end of a recording: the last drain, waits still open, the worker's last
 * answers, symbols, closing words.  Recorder's main thread; it must come to an
 * end whatever failed before, and a store that could not be written whole says
 * so in its state and by `trouble`.
 */
#include "recorder/finish.h"

#include <string.h>
#include "common/err.h"
#include "recorder/meta.h"
#include "recorder/orders.h"
#include "recorder/session.h"

static uint64_t ring_losses(const struct ty_recorder *r)
{
	uint64_t n = r->reg.ring_lost;
	for (uint32_t i = 0; i < r->reg.actives; i++) {
		struct ty_thread *t = ty_arena_thread(r->arena.a, r->reg.active[i]);
		n += atomic_load_explicit(&t->loss[TY_LOSS_RING_FULL], memory_order_relaxed);
	}
	return n;
}

uint64_t ty_lost_total(const struct ty_recorder *r, const struct ty_written *w)
{
	return ring_losses(r) + atomic_load_explicit(&r->arena.a->no_slot, memory_order_relaxed) + w->failed + w->behind +
	       r->lost.bad_record + r->lost.no_memory;
}

/* Threads that go on without us: what they wait for now, and their counters. */
static void leave_running(struct ty_recorder *r)
{
	uint64_t now = ty_now();
	for (uint32_t i = 0; i < r->reg.actives; i++) {
		uint16_t slot = r->reg.active[i];
		if (!r->reg.slot[slot].registered)
			continue;
		ty_sample_slot(r, slot);
		ty_slot_open_wait(r, slot, now, false);
		ty_thread_store(r, slot, 0);
	}
}

void ty_session_finish(struct ty_recorder *r, bool early, struct ty_summary *out)
{
	char err[TY_ERR_MAX] = "";
	struct ty_written w;
	atomic_store_explicit(&r->arena.a->closed, 1, memory_order_relaxed);
	atomic_store_explicit(&r->arena.a->enabled, 0, memory_order_relaxed);
	ty_orders_pass_end(r); /* before the next line switches what goes on without us */
	atomic_store_explicit(&r->arena.a->orders_native, 1, memory_order_relaxed);
	for (int i = 0; i < 3; i++) { /* slots found, their processes' ends seen, the rest */
		r->want_full = true;
		ty_drain(r);
		ty_session_wait(r, 0);
	}
	ty_checks_pass_end(r);
	leave_running(r);
	ty_descriptors_finish(r);
	ty_events_finish(r);
	struct timespec cpu;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	r->drain_cpu = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	ty_worker_stop(r->worker);
	ty_modules_built(r, true);
	ty_session_figures(r, out);
	out->processes = (uint32_t)r->reg.count;
	out->threads = r->reg.threads;
	struct ty_store *s = ty_writer_stop(r->writer);
	ty_writer_status(r->writer, &w);
	out->lost = ty_lost_total(r, &w);
	out->events = w.events;
	out->trimmed = w.trimmed;
	for (uint32_t i = 0; out->notes < TY_RULES &&
	     ty_orders_unmatched(r, &i, out->note[out->notes], sizeof *out->note);)
		out->notes++;
	if (w.trimmed && w.trimmed == w.events && r->set->max_size && ty_store_size(s) > r->set->max_size &&
	    out->notes < TY_RULES)
		ty_err(out->note[out->notes++], 0, "no event is left under max_size: what is kept of %u thread%s, of processes, "
		       "modules and call paths takes %.1f MiB by itself", out->threads, out->threads == 1 ? "" : "s",
		       (double)ty_store_size(s) / (1 << 20));
	int rc = 0;
	if (!early && !w.err[0] && r->set->symbols)
		rc = ty_store_names(r, s, err);
	if (rc == 0 && !early && !w.err[0] && r->set->symbols)
		rc = ty_store_object_names(r, s, err);
	if (rc == 0)
		rc = ty_meta_end(r, s, &w, !early && r->set->symbols, err);
	if (rc == 0)
		rc = ty_store_commit(s, true, err);
	if (w.err[0] || rc < 0)
		ty_err(out->trouble, 0, "%s", w.err[0] ? w.err : err);
	ty_session_free(r);
}

/* SPDX-License-Identifier: MIT
 * One wait from begin to end, and what wakes others.  Runs in the traced
 * process between a hook's entry and its return; the guard is set throughout,
 * so that a signal handler's own calls pass through and the ring has one
 * writer. */
#include "preload/wait.h"
#include "preload/path.h"

static const uint8_t op_class[TY_OP_COUNT] = {
#define TY_W(ret, name, ver, need, cls, body, params, args, obj, try) [TY_OP_##name] = TY_CLASS_##cls,
#define TY_SYS(id, name, cls) [TY_OP_##id] = TY_CLASS_##cls,
#include "tarry/wrap.def"
};

static inline void guard_set(struct ty_frame_ref f)
{
	ty_tls.guard = f.sp - 16; /* the wrapper's frame address */
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void guard_clear(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	ty_tls.guard = 0;
}

/* Says what this thread waits for.  Readers: live view and, after a death, the
 * recorder; see wait_seq in arena.h. */
static inline void publish(struct ty_wait *w, uint64_t path)
{
	struct ty_thread *t = w->t;
	/* even again, should a handler have jumped out from between the two stores */
	uint32_t seq = atomic_load_explicit(&t->wait_seq, memory_order_relaxed) & ~1u;
	atomic_store_explicit(&t->wait_seq, seq + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&t->wait_op, w->op, memory_order_relaxed);
	atomic_store_explicit(&t->wait_begin, w->begin, memory_order_relaxed);
	atomic_store_explicit(&t->wait_object, w->object, memory_order_relaxed);
	atomic_store_explicit(&t->wait_path, path, memory_order_relaxed);
	atomic_store_explicit(&t->wait_aux, w->aux, memory_order_relaxed);
	atomic_store_explicit(&t->wait_seq, seq + 2, memory_order_release);
}

/* After the record is in the ring: between the two a kill shows the wait twice
 * (as finished and as open), never not at all; the recorder drops an open wait
 * whose begin it has already seen. */
static inline void unpublish(struct ty_thread *t)
{
	atomic_store_explicit(&t->wait_op, UINT32_MAX, memory_order_release);
}

static void push(struct ty_wait *w, unsigned type, uint64_t end, int err)
{
	struct ty_rec_wait *r = ty_ring_reserve(ty_proc.arena, w->t, &ty_tls.cursor, sizeof *r);
	if (TY_UNLIKELY(!r)) {
		ty_lose(w->t, TY_LOSS_RING_FULL);
		return;
	}
	r->w0 = TY_WORD0(type, sizeof *r / 8, w->op, w->flags, err);
	r->begin = w->begin;
	r->end = end;
	r->object = w->object;
	r->path = w->path;
	r->aux = w->aux;
	ty_ring_commit(ty_proc.arena, &ty_tls.cursor, sizeof *r);
}

/* The clock for an end; never before begin. */
static uint64_t end_clock(struct ty_wait *w)
{
	uint64_t end = ty_now();
	if (TY_UNLIKELY(end < w->begin)) {
		w->flags |= TY_F_CLOCK;
		ty_lose(w->t, TY_LOSS_CLOCK);
		end = w->begin;
	}
	return end;
}

static int still_mine(const struct ty_wait *w)
{
	return w->t == ty_tls.t && ty_self.arena; /* not in a child forked from a handler meanwhile */
}

void ty_wait_begin(struct ty_wait *w, struct ty_thread *t, enum ty_op op, uint64_t object, uint64_t aux,
		   unsigned flags, struct ty_frame_ref frame)
{
	if (!ty_records(op_class[op])) {
		ty_count(t, op);
		w->t = NULL;
		return;
	}
	guard_set(frame);
	w->t = t;
	w->op = (uint16_t)op;
	w->flags = (uint16_t)flags;
	w->object = object;
	w->aux = aux;
	w->frame = frame;
	w->path = ty_path_take(t, frame, &w->flags, 0);
	w->waited = ty_waited_key(object, !!(flags & TY_F_SHARED));
	atomic_fetch_add_explicit(&ty_proc.arena->waited[w->waited], 1, memory_order_relaxed);
	w->begin = ty_now();
	publish(w, w->path);
}

void ty_wait_end(struct ty_wait *w, int err)
{
	if (!w->t)
		return;
	int saved = errno;
	uint64_t end = end_clock(w);
	if (still_mine(w)) { /* else the parent takes its own count back */
		atomic_fetch_sub_explicit(&ty_proc.arena->waited[w->waited], 1, memory_order_relaxed);
		if (TY_UNLIKELY(w->flags & TY_F_MISS)) { /* the same frames are still there */
			w->flags &= (uint16_t)~TY_F_PARTIAL;
			w->path = ty_path_take(w->t, w->frame, &w->flags, 1);
		}
		push(w, TY_REC_WAIT, end, err);
		unpublish(w->t);
	}
	guard_clear();
	errno = saved;
}

void ty_io_begin(struct ty_wait *w, struct ty_thread *t, enum ty_op op, uint64_t object, struct ty_frame_ref frame)
{
	if (!ty_records(op_class[op])) {
		ty_count(t, op);
		w->t = NULL;
		return;
	}
	guard_set(frame);
	w->t = t;
	w->op = (uint16_t)op;
	w->flags = 0;
	w->object = object;
	w->aux = 0;
	w->frame = frame;
	w->begin = ty_now();
	publish(w, frame.pc);
}

static void io_end(struct ty_wait *w, uint64_t aux, int err, int saved)
{
	uint64_t end = end_clock(w);
	if (still_mine(w)) {
		w->aux = aux;
		if (end - w->begin < ty_proc.min_path_ns) {
			w->path = w->frame.pc;
			w->flags |= TY_F_NO_PATH;
		} else {
			w->path = ty_path_take(w->t, w->frame, &w->flags, 1);
		}
		push(w, TY_REC_WAIT, end, err);
		unpublish(w->t);
	}
	guard_clear();
	errno = saved;
}

void ty_io_end(struct ty_wait *w, int64_t result)
{
	if (w->t)
		io_end(w, result < 0 ? 0 : (uint64_t)result, result < 0 ? errno : 0, errno);
}

void ty_io_end_err(struct ty_wait *w, int err)
{
	if (w->t)
		io_end(w, 0, err, errno);
}

void ty_wake(struct ty_thread *t, enum ty_op op, uint64_t object, uint64_t aux, unsigned flags, uint64_t when,
	     struct ty_frame_ref frame)
{
	if (!ty_records(TY_CLASS_WAKE))
		return;
	int saved = errno;
	guard_set(frame);
	struct ty_wait w = { .t = t, .begin = when, .object = object, .aux = aux, .op = (uint16_t)op,
			     .flags = (uint16_t)flags, .frame = frame };
	w.path = ty_path_take(t, frame, &w.flags, 1);
	push(&w, TY_REC_WAKE, when, 0);
	guard_clear();
	errno = saved;
}

void ty_wait_wakes(const struct ty_wait *w, uint64_t object, unsigned flags)
{
	if (!ty_records(TY_CLASS_WAKE))
		return;
	struct ty_wait k = *w; /* inside its guard */
	k.object = object;
	k.aux = 0;
	k.flags = (uint16_t)((w->flags & TY_F_PARTIAL) | flags);
	k.begin = ty_now();
	push(&k, TY_REC_WAKE, k.begin, 0);
}

/* SPDX-License-Identifier: MIT
 * One wait from begin to end, and what wakes others.  Runs in the traced
 * process between a hook's entry and its return; the guard is set throughout,
 * so that a signal handler's own calls pass through and the ring has one
 * writer. */
#include "preload/wait.h"
#include "preload/capture.h"
#include "preload/path.h"
#include "policies/threshold.h"

static const uint8_t op_class[TY_OP_COUNT] = {
#define TY_W(ret, name, ver, need, cls, body, params, args, obj, try) [TY_OP_##name] = TY_CLASS_##cls,
#define TY_SYS(id, name, cls) [TY_OP_##id] = TY_CLASS_##cls,
#include "tarry/wrap.def"
};

static inline void guard_set(struct ty_frame_ref f)
{
	ty_guard_set(f.sp - 16); /* the wrapper's frame address */
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
	atomic_store_explicit(&t->wait_op, ty_wait_word(w->op, w->flags), memory_order_relaxed);
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

TY_HOT static int push(struct ty_wait *w, unsigned type, uint64_t end, int err)
{
	struct ty_rec_wait *r = ty_ring_reserve(ty_proc.arena, w->t, &ty_tls.cursor, sizeof *r);
	if (TY_UNLIKELY(!r)) {
		ty_lose(w->t, TY_LOSS_RING_FULL);
		return 0;
	}
	r->w0 = TY_WORD0(type, sizeof *r / 8, w->op, w->flags, err);
	r->begin = w->begin;
	r->end = end;
	r->object = w->object;
	r->path = w->path;
	r->aux = w->aux;
	ty_ring_commit(ty_proc.arena, &ty_tls.cursor, r, sizeof *r);
	return 1;
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

/* Not in a child forked from a handler meanwhile. */
static int is_mine(const struct ty_thread *t)
{
	return t == ty_tls.t && ty_self.arena;
}
static int still_mine(const struct ty_wait *w)
{
	return is_mine(w->t);
}

TY_HOT void ty_wait_begin(struct ty_wait *w, struct ty_thread *t, enum ty_op op, uint64_t object, uint64_t aux,
		   unsigned flags, struct ty_frame_ref frame)
{
	if (!ty_records(op_class[op])) {
		ty_count(t, op);
		w->t = NULL;
		return;
	}
	guard_set(frame);
	if (TY_UNLIKELY(!is_mine(t))) { /* a handler forked since the caller asked for its slot */
		ty_guard_clear();
		w->t = NULL;
		return;
	}
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

TY_HOT void ty_wait_end(struct ty_wait *w, int err)
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
	if (TY_UNLIKELY(ty_tls.tuned)) {
		ty_threshold_waited(ty_tls.tuned - 1, end - w->begin);
		ty_tls.tuned = 0;
	}
	ty_guard_clear();
	errno = saved;
}

TY_HOT void ty_io_begin(struct ty_wait *w, struct ty_thread *t, enum ty_op op, uint64_t object,
			struct ty_frame_ref frame)
{
	if (!ty_records(op_class[op])) {
		ty_count(t, op);
		w->t = NULL;
		return;
	}
	if (TY_UNLIKELY(op_class[op] == TY_CLASS_CLOSE) && op != TY_OP_shutdown && ty_accepted_closing(object)) {
		ty_count(t, op); /* no close of the process whose ring this is */
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

/* What follows an IO call's record; NULL, NULL: nothing. */
struct bytes {
	const struct ty_pieces *received;
	const struct ty_sent *sent;
};

TY_HOT static void io_end(struct ty_wait *w, uint64_t aux, int err, int saved, struct bytes b)
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
		int pushed = push(w, TY_REC_WAIT, end, err);
		if (pushed && b.received)
			ty_capture_received(w, end, aux, b.received);
		if (pushed && b.sent)
			ty_capture_sent(w, end, aux, b.sent);
		unpublish(w->t);
	}
	ty_guard_clear();
	errno = saved;
}

/* A vfork child's descriptor is none of the process whose ring this is. */
static void io_drop(struct ty_wait *w)
{
	if (still_mine(w)) {
		ty_count(w->t, w->op);
		unpublish(w->t);
	}
	ty_guard_clear();
}

TY_HOT void ty_io_end(struct ty_wait *w, int64_t result)
{
	if (!w->t)
		return;
	unsigned cls = op_class[w->op];
	if (TY_UNLIKELY(cls == TY_CLASS_ACCEPT || cls == TY_CLASS_DUP) && result >= 0 &&
	    ty_accepted_opened(cls, w->object, (uint64_t)result)) {
		io_drop(w);
		return;
	}
	io_end(w, result < 0 ? 0 : (uint64_t)result, result < 0 ? errno : 0, errno, (struct bytes){ NULL, NULL });
}

void ty_io_end_received(struct ty_wait *w, int64_t result, struct ty_pieces pieces)
{
	if (w->t)
		io_end(w, (uint64_t)result, 0, errno, (struct bytes){ &pieces, NULL });
}

void ty_io_end_sent(struct ty_wait *w, int64_t result, const struct ty_sent *sent)
{
	if (w->t)
		io_end(w, (uint64_t)result, 0, errno, (struct bytes){ NULL, sent });
}

void ty_io_end_err(struct ty_wait *w, int err)
{
	if (w->t)
		io_end(w, 0, err, errno, (struct bytes){ NULL, NULL });
}

TY_HOT void ty_wake(struct ty_thread *t, enum ty_op op, uint64_t object, uint64_t aux, unsigned flags, uint64_t when,
	     struct ty_frame_ref frame)
{
	int cls = op_class[op];
	if (!ty_records(cls == TY_CLASS_SIGNAL ? cls : TY_CLASS_WAKE)) {
		if (cls == TY_CLASS_WAKE || cls == TY_CLASS_SIGNAL)
			ty_count(t, op); /* a wait that wakes was counted as a wait */
		return;
	}
	int saved = errno;
	guard_set(frame);
	if (TY_UNLIKELY(!is_mine(t))) {
		ty_guard_clear();
		errno = saved;
		return;
	}
	struct ty_wait w = { .t = t, .begin = when, .object = object, .aux = aux, .op = (uint16_t)op,
			     .flags = (uint16_t)flags, .frame = frame };
	w.path = ty_path_take(t, frame, &w.flags, 1);
	push(&w, TY_REC_WAKE, when, 0);
	ty_guard_clear();
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

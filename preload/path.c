/* SPDX-License-Identifier: MIT
 * Takes call paths in the traced process: walks this thread's own stack by the
 * rows that the recorder published, folds the addresses into a path id, and
 * sends the frames of a path once.  No loader lock, no system call, no
 * allocation; the frames are written straight into the ring, so the walk
 * needs little stack. */
#include "preload/path.h"
#include "tarry/walk.h"

#define KNOWN_PROBES 16u
#define STACK_SPARE 48u /* chunks left for events when a stack of up to five is sent */

static int is_known(struct ty_arena *a, uint64_t id)
{
	for (uint32_t i = 0; i < KNOWN_PROBES; i++) {
		uint64_t v = atomic_load_explicit(&a->known[(id + i) % TY_KNOWN], memory_order_acquire);
		if (v == id)
			return 1;
		if (v == 0)
			return 0;
	}
	return 0;
}

static void make_known(struct ty_arena *a, uint64_t id)
{
	if (atomic_load_explicit(&a->known_count, memory_order_relaxed) > TY_KNOWN / 8 * 7)
		return;
	for (uint32_t i = 0; i < KNOWN_PROBES; i++) {
		uint64_t none = 0;
		if (atomic_compare_exchange_strong_explicit(&a->known[(id + i) % TY_KNOWN], &none, id,
							    memory_order_release, memory_order_relaxed)) {
			atomic_fetch_add_explicit(&a->known_count, 1, memory_order_relaxed);
			return;
		}
		if (none == id)
			return;
	}
}

struct walk {
	uint64_t hash, count;
	uint64_t *out;    /* room for ty_proc.depth frames, or NULL */
	uint16_t partial;
	uint64_t unknown; /* an address in a module that was not announced yet, 0: none */
};

static void walk(struct walk *w, struct ty_frame_ref f)
{
	uint64_t lo = f.sp, hi = ty_tls.hi, pc = f.pc, sp = f.sp, bp = f.bp;
	int bp_known = 1, exact = 0;
	int on_stack = sp >= ty_tls.lo && sp < hi;
	for (;;) {
		uint64_t frame = pc | (exact ? TY_FRAME_EXACT : 0);
		if (w->out)
			w->out[w->count] = frame;
		w->count++;
		w->hash = (w->hash ^ frame) * 0x9e3779b97f4a7c15ULL;
		w->hash ^= w->hash >> 29;
		if (!on_stack) {
			w->partial = TY_F_LEAF;
			return;
		}
		if (w->count == ty_proc.depth) {
			w->partial = TY_F_CUT;
			return;
		}
		uint64_t at = exact ? pc : pc - 1;
		enum ty_rows_state st;
		uint32_t rule;
		if (!ty_module_rule(at, &rule, &st)) {
			w->partial = st == TY_ROWS_NEVER ? TY_F_CUT : TY_F_MISS;
			w->unknown = st == TY_ROWS_NEW ? at : 0;
			return;
		}
		int r = ty_walk_step(rule, &pc, &sp, &bp, &bp_known, &exact, lo, hi);
		if (r == TY_WALK_END || (r == TY_WALK_NEXT && pc == 0))
			return;
		if (r != TY_WALK_NEXT) {
			w->partial = TY_F_CUT;
			return;
		}
	}
}

/* Ships the stack from f.sp upwards for the recorder's self-check. */
static void send_stack(struct ty_thread *t, uint64_t path, struct ty_frame_ref f)
{
	enum { PIECE = 8192 };
	uint64_t total = ty_tls.hi - f.sp;
	if (total > 65536)
		total = 65536;
	if (ty_ready_count(ty_proc.arena) < STACK_SPARE) { /* events come first */
		ty_lose(t, TY_LOSS_STACK_DROPPED);
		return;
	}
	for (uint64_t at = 0; at < total; at += PIECE) {
		uint64_t n = total - at < PIECE ? total - at : PIECE;
		uint32_t bytes = (uint32_t)(sizeof(struct ty_rec_stack) + ((n + 7) & ~7ull));
		struct ty_rec_stack *r = ty_ring_reserve(ty_proc.arena, t, &ty_tls.cursor, bytes);
		if (!r) {
			ty_lose(t, TY_LOSS_STACK_DROPPED);
			return;
		}
		*r = (struct ty_rec_stack){ .w0 = TY_WORD0(TY_REC_STACK, 0, 0, 0, 0), .words = bytes / 8,
					    .path = path, .pc = f.pc, .sp = f.sp, .bp = f.bp,
					    .total = total, .offset = at, .bytes = n };
		memcpy(r->data, (const void *)(uintptr_t)(f.sp + at), n);
		ty_ring_commit(ty_proc.arena, &ty_tls.cursor, r, bytes);
	}
}

static void sample(struct ty_thread *t, uint64_t path, struct ty_frame_ref f)
{
	if (ty_tls.sample > 1) {
		ty_tls.sample--;
		return;
	}
	ty_tls.sample = ty_proc.self_check;
	send_stack(t, path, f);
}

static void count_partial(struct ty_thread *t, uint16_t partial)
{
	if (partial)
		ty_lose(t, partial & TY_F_LEAF ? TY_LOSS_NO_STACK : partial & TY_F_CUT ? TY_LOSS_CUT : TY_LOSS_MISS);
}

TY_HOT uint64_t ty_path_take(struct ty_thread *t, struct ty_frame_ref f, uint16_t *flags, int final)
{
	struct ty_arena *a = ty_proc.arena;
	uint32_t room = (uint32_t)(sizeof(struct ty_rec_path) + ty_proc.depth * 8);
	struct ty_rec_path *rec;
	struct walk w;
	uint64_t gen, map;
	for (int tries = 0;; tries++) {
		gen = ty_module_gen();
		map = atomic_load_explicit(&ty_proc.map, memory_order_relaxed);
		rec = ty_ring_reserve(a, t, &ty_tls.cursor, room);
		w = (struct walk){ .hash = map ^ gen * 0xd1342543de82ef95ULL, .out = rec ? rec->frame : NULL };
		walk(&w, f);
		if (map != atomic_load_explicit(&ty_proc.map, memory_order_relaxed) && tries < 64)
			continue; /* a module was added meanwhile, and may be among the frames */
		/* An unknown module is announced after the reserved room was given up. */
		if (!w.unknown || tries == 64 || !ty_module_announce(t, w.unknown))
			break;
	}
	*flags |= w.partial;
	if (w.partial == TY_F_MISS && !final)
		return f.pc; /* walked again after the call */
	count_partial(t, w.partial);
	uint64_t id = ty_mix(w.hash ^ w.partial) | 1ull << 63;
	if (!is_known(a, id)) {
		/* the last announcement may have taken the room and still have failed */
		if (!rec || !ty_ring_is_room(a, &ty_tls.cursor, rec)) {
			ty_lose(t, TY_LOSS_PATH_DROPPED);
			return id;
		}
		rec->w0 = TY_WORD0(TY_REC_PATH, 0, 0, w.partial, 0);
		rec->words = sizeof *rec / 8 + w.count;
		rec->path = id;
		rec->gen = gen;
		rec->map = map;
		ty_ring_commit(a, &ty_tls.cursor, rec, (uint32_t)(sizeof *rec + w.count * 8));
		make_known(a, id);
	}
	if (TY_UNLIKELY(ty_proc.self_check) && !(w.partial & TY_F_LEAF))
		sample(t, id, f);
	return id;
}

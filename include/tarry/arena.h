/* SPDX-License-Identifier: MIT
 *
 * The arena: the memory shared by the traced processes and one recorder, and
 * the rings in it.  All atomics that the traced side shares with the recorder
 * live in this file and in order.h; each names its partner.
 *
 * The recorder creates a memfd, so nothing is left behind after kill -9 and a
 * small /dev/shm does not matter.  Processes find it by the environment
 * variable TARRY_ARENA = "/proc/PID/fd/N:TOKEN" (TOKEN: 32 hex digits, equal
 * to `token` below), map `reserve` bytes once and close the descriptor.  The
 * file is shorter than the mapping: it grows by whole chunks, each backed
 * (fallocate) before anybody hears of it, so a host never faults on memory
 * that is not there and an mlockall() pins only what exists.
 *
 *   0            struct ty_arena (header, ready queue, hash tables, modules, orders)
 *   threads_off  struct ty_thread [TY_THREADS]
 *   chunk_off    chunks of TY_CHUNK bytes: rings, and row tables in runs of chunks
 *
 * Who writes: (R) recorder, (T) traced processes.  Unmarked: R before the
 * locator is published, constant afterwards.
 * The recorder trusts nothing that is marked T: every index and length from a
 * ring is checked before use, and a bad one ends that thread's ring (counted).
 */
#ifndef TARRY_ARENA_H
#define TARRY_ARENA_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "tarry/event.h"
#include "tarry/ops.h"
#include "tarry/order.h"

#define TY_MAGIC 0x0a59525241540aULL /* "\nTARRY\n" */
#define TY_ABI 3u /* bump with any change of event.h, rows.h, order.h or this file */
#define TY_ENV_ARENA "TARRY_ARENA"
#define TY_ENV_STORE "TARRY_STORE"
#define TY_ENV_CONFIG "TARRY_CONFIG"

#define TY_CHUNK 16384u
#define TY_THREADS 4096u
#define TY_CHUNKS_MAX 65536u  /* bounds `reserve` to 1 GiB of chunks */
#define TY_READY 4096u        /* ready queue, power of two */
#define TY_WAITED 65536u      /* power of two */
#define TY_KNOWN 65536u       /* power of two */
#define TY_MODULES 2048u

/* What can be lost or left out, counted per thread (T) and named in the store. */
#define TY_LOSSES(X)                                                                   \
	X(RING_FULL, "ring_full", "records dropped: no free chunk")                    \
	X(PATH_DROPPED, "path_dropped", "frame lists dropped: no free chunk; sent again later") \
	X(NESTED, "nested", "calls inside another recorded call (signal handlers, other preloads)") \
	X(NO_STACK, "no_stack", "paths cut to the caller: stack bounds unknown")       \
	X(CUT, "cut", "paths cut at code without unwind rules or at the depth limit")  \
	X(MISS, "miss", "paths cut where unwind rules were not published yet")         \
	X(CLOCK, "clock", "negative durations set to 0")                               \
	X(STACK_DROPPED, "stack_dropped", "self-check stacks dropped: no free chunk")
enum ty_loss {
#define X(id, name, what) TY_LOSS_##id,
	TY_LOSSES(X)
#undef X
	TY_LOSS_COUNT
};

/* Configuration the traced side needs; filled from YAML by the recorder. */
struct ty_conf {
	uint64_t min_path_ns;  /* IO calls shorter than this get no path; 0: all do */
	uint64_t class_mask;   /* bit TY_CLASS_x: record waits of this class */
	uint32_t self_check;   /* ship the stack of one path in N; 0: never */
	uint32_t depth;        /* frames at most, 1..TY_FRAMES_MAX */
	uint32_t children;     /* 0: only the process `first_pid` records */
	uint32_t start_wait_ms; /* how long a starting process waits for its rows, 0..2000 */
	int32_t first_pid;     /* (R) set before the command is exec'd; 0: not known */
	uint32_t capture_bytes; /* of what is received, 0..TY_BYTES_MAX; 0: nothing is captured at all */
	char only[64];         /* base name of the only executable to record; "" for all */
};

/* One module whose rows are, or will not be, published. (R) */
struct ty_module {
	struct ty_module_id id;
	uint32_t rows_off_chunk; /* chunk index where its struct ty_rows begins; state READY */
	uint32_t state;          /* enum ty_module_state */
	uint64_t pad[4];
};
enum ty_module_state { TY_MODULE_NONE, TY_MODULE_READY, TY_MODULE_NO_ROWS };

struct ty_thread {
	/* (T) claim by CAS 0 -> pid << 32 | tid, acquire; pairs with the recorder's
	 * release store of 0 in recycling. */
	_Atomic uint64_t owner;
	_Atomic uint32_t state;      /* (T) enum ty_thread_state, release; recorder acquires */
	uint32_t pad0;
	uint64_t image;              /* (T) before state LIVE */
	uint64_t birth;              /* (T) ns, before state LIVE */
	/* ring: first chunk + 1; (T) release, pairs with the drain's acquire */
	_Atomic uint32_t first;
	uint32_t pad;
	/* The wait in progress.  (T) odd seq while being changed, relaxed stores
	 * inside, release at both ends; readers (live view, recorder after death)
	 * acquire and retry or, when the thread is dead, take an even seq as is.
	 * wait_op: ty_wait_word(); UINT32_MAX: not waiting. */
	_Atomic uint32_t wait_seq;
	_Atomic uint32_t wait_op;
	_Atomic uint64_t wait_begin, wait_object, wait_path, wait_aux;
	_Atomic uint64_t loss[TY_LOSS_COUNT]; /* (T) relaxed, single writer */
	_Atomic uint64_t fast[TY_OP_COUNT];   /* (T) relaxed, single writer: calls that were not recorded as events */
} __attribute__((aligned(64)));
enum ty_thread_state { TY_THREAD_FREE, TY_THREAD_LIVE, TY_THREAD_ENDED };

/* What wait_op holds: the op, and whether the object says it is process-shared. */
static inline uint32_t ty_wait_word(uint32_t op, unsigned flags)
{
	return op | (uint32_t)(flags & TY_F_SHARED) << 16;
}
static inline uint32_t ty_wait_word_op(uint32_t word)
{
	return word == UINT32_MAX ? word : word & 0xffff;
}
static inline unsigned ty_wait_word_flags(uint32_t word)
{
	return word == UINT32_MAX ? 0 : word >> 16 & TY_F_SHARED;
}

/* A ring is a chain of chunks, one producer, one consumer (the drain). */
struct ty_chunk {
	/* bytes of whole records after this header; (T) release in ty_ring_commit,
	 * pairs with the acquire in ty_ring_peek */
	_Atomic uint32_t committed;
	/* following chunk + 1; (T) release in ty_ring_reserve, pairs with the
	 * acquire in ty_ring_peek.  Once set, committed no longer changes. */
	_Atomic uint32_t next;
	uint64_t pad[7];
	uint64_t data[];
};
#define TY_CHUNK_DATA (TY_CHUNK - (uint32_t)sizeof(struct ty_chunk))

struct ty_arena {
	/* fixed for all versions: offsets 0..63 never move */
	uint64_t magic;
	uint32_t abi;
	uint32_t fingerprint;          /* ty_fingerprint() of the recorder's build */
	uint8_t token[16];
	_Atomic uint32_t refused;      /* (T) processes of another version that stayed off, relaxed */
	_Atomic uint32_t refused_abi;  /* (T) the last one's abi */
	uint64_t owner_start;          /* recorder's start time, clock ticks since boot (/proc/PID/stat) */
	int32_t owner_pid;
	uint32_t word_size;            /* sizeof(void *) */
	uint64_t reserve;              /* bytes to map */
	/* from here on by this ABI only */
	char version[32];
	uint64_t threads_off, chunk_off;
	struct ty_conf conf;
	_Atomic uint32_t enabled;      /* (R, ctl) 1: record.  relaxed both sides: a switch needs no order */
	_Atomic uint32_t orders_native; /* (ctl) 1: new waits are libc's own.  relaxed both sides, likewise */
	_Atomic uint32_t closed;       /* (R) 1: recorder has ended, for readers; it clears `enabled` for the library */
	_Atomic uint64_t heartbeat;    /* (R) CLOCK_MONOTONIC ns of the last drain, relaxed */
	_Atomic uint32_t module_count; /* (R) release after module[i] is filled; (T) acquire */
	_Atomic uint32_t thread_hint;  /* (R) index near a free slot, relaxed */
	_Atomic uint64_t no_slot;      /* (T) events lost for want of a thread slot, relaxed add */
	_Atomic uint64_t attached;     /* (T) processes that mapped the arena, relaxed add */
	/* Ready queue: one producer (R), many consumers (T). */
	_Atomic uint64_t ready_put __attribute__((aligned(64)));  /* (R) release; (T) acquire */
	_Atomic uint64_t ready_take __attribute__((aligned(64))); /* (T) CAS acq_rel; (R) acquire */
	_Atomic uint32_t ready[TY_READY];
	/* Waited-for addresses: how many threads say they wait (hint, never
	 * trusted: a killed waiter leaves its count).  (T) relaxed adds and loads;
	 * a wake that misses a waiter which is just arriving loses a hint only. */
	_Atomic uint32_t waited[TY_WAITED];
	/* Path ids whose frames have been sent.  (T) CAS 0 -> id, release, after
	 * the PATH record was committed; other threads' look-up is an acquire.  So a
	 * PATH may lie in another thread's ring than the WAIT that names it, but it
	 * was committed before that WAIT: a drain that meets an unknown id finds it
	 * at the latest at the end of its next pass over all rings.
	 * (R) may clear all, then paths are sent again. */
	_Atomic uint64_t known[TY_KNOWN];
	_Atomic uint32_t known_count;  /* (T) relaxed add; (R) clears with the table */
	struct ty_module module[TY_MODULES];
	struct ty_orders orders;
};

/* Differs between builds whose tables or layouts differ. */
static inline uint32_t ty_fingerprint(void)
{
	uint32_t h = 2166136261u;
	static const char names[] =
#define TY_W(ret, name, ver, need, cls, body, params, args, obj, try) #name ";"
#define TY_SYS(id, name, cls) name ";"
#include "tarry/wrap.def"
#define TY_ORDER(name, what) #name ";"
#include "tarry/orders.def"
		;
	for (size_t i = 0; i < sizeof names; i++)
		h = (h ^ (uint8_t)names[i]) * 16777619u;
	h = (h ^ (uint32_t)sizeof(struct ty_arena)) * 16777619u;
	h = (h ^ (uint32_t)sizeof(struct ty_thread)) * 16777619u;
	return h;
}

static inline struct ty_thread *ty_arena_thread(struct ty_arena *a, uint32_t i)
{
	return (struct ty_thread *)((char *)a + a->threads_off) + i;
}
static inline struct ty_chunk *ty_arena_chunk(struct ty_arena *a, uint32_t i)
{
	return (struct ty_chunk *)((char *)a + a->chunk_off + (uint64_t)i * TY_CHUNK);
}

static inline uint64_t ty_mix(uint64_t h) /* finalizer of MurmurHash3 (public domain) */
{
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdULL;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ULL;
	return h ^ h >> 33;
}

/* A chunk for the caller, index + 1, or 0 when none is ready.  ready[t] may be
 * overwritten by the recorder only after ready_take passed t, and then our CAS
 * fails, so a stale index is never used.  A thread killed between the CAS and
 * linking leaks one chunk until the recorder ends. */
static inline uint32_t ty_ready_take(struct ty_arena *a)
{
	uint64_t t = atomic_load_explicit(&a->ready_take, memory_order_relaxed);
	for (;;) {
		if (t == atomic_load_explicit(&a->ready_put, memory_order_acquire))
			return 0;
		uint32_t c = atomic_load_explicit(&a->ready[t % TY_READY], memory_order_relaxed);
		if (atomic_compare_exchange_weak_explicit(&a->ready_take, &t, t + 1, memory_order_acq_rel,
							  memory_order_relaxed))
			return c;
	}
}

/* Chunks ready now, more or less: for giving up what is optional in time. */
static inline uint64_t ty_ready_count(struct ty_arena *a)
{
	uint64_t t = atomic_load_explicit(&a->ready_take, memory_order_relaxed);
	uint64_t p = atomic_load_explicit(&a->ready_put, memory_order_relaxed);
	return p > t ? p - t : 0;
}

/* Recorder only.  The chunk's header is zero.  False when the queue is full. */
static inline int ty_ready_put(struct ty_arena *a, uint32_t chunk)
{
	uint64_t p = atomic_load_explicit(&a->ready_put, memory_order_relaxed);
	if (p - atomic_load_explicit(&a->ready_take, memory_order_acquire) >= TY_READY)
		return 0;
	atomic_store_explicit(&a->ready[p % TY_READY], chunk + 1, memory_order_relaxed);
	atomic_store_explicit(&a->ready_put, p + 1, memory_order_release);
	return 1;
}

/* Where a producer stands in its ring: private to the thread, so that a bad
 * word in the arena cannot send its stores elsewhere. */
struct ty_cursor {
	uint32_t chunk; /* chunk + 1 being written, 0: none yet */
	uint32_t pos;   /* bytes written in it */
};

/* Room for `bytes` (multiple of 8, <= TY_CHUNK_DATA), or NULL: nothing ready. */
static inline void *ty_ring_reserve(struct ty_arena *a, struct ty_thread *t, struct ty_cursor *c, uint32_t bytes)
{
	if (c->chunk == 0 || c->pos + bytes > TY_CHUNK_DATA) {
		uint32_t n = ty_ready_take(a);
		if (n == 0 || n > (a->reserve - a->chunk_off) / TY_CHUNK)
			return 0;
		if (c->chunk == 0)
			atomic_store_explicit(&t->first, n, memory_order_release);
		else
			atomic_store_explicit(&ty_arena_chunk(a, c->chunk - 1)->next, n, memory_order_release);
		c->chunk = n;
		c->pos = 0;
	}
	return (char *)ty_arena_chunk(a, c->chunk - 1)->data + c->pos;
}

/* Is `at` the room that the cursor would commit? */
static inline int ty_ring_is_room(struct ty_arena *a, const struct ty_cursor *c, const void *at)
{
	return c->chunk && at == (const char *)ty_arena_chunk(a, c->chunk - 1)->data + c->pos;
}

/* Publishes what was written into `at`, the room just reserved.  Not when the
 * cursor stands elsewhere now: a signal handler forked between the two and this
 * is the child, whose ring is another one; the room is its parent's. */
static inline void ty_ring_commit(struct ty_arena *a, struct ty_cursor *c, const void *at, uint32_t bytes)
{
	if (!ty_ring_is_room(a, c, at))
		return;
	c->pos += bytes;
	atomic_store_explicit(&ty_arena_chunk(a, c->chunk - 1)->committed, c->pos, memory_order_release);
}

/* Consumer: what chunk c (index) holds now.  *next is 0 while the producer may
 * still append; once it is not, *committed is final (read after next). */
static inline void ty_ring_peek(struct ty_chunk *c, uint32_t *committed, uint32_t *next)
{
	*next = atomic_load_explicit(&c->next, memory_order_acquire);
	*committed = atomic_load_explicit(&c->committed, memory_order_acquire);
}

/* Key of the waited-for table.  Process-shared objects are mapped at different
 * addresses; only their offset in the page is common. */
static inline uint32_t ty_waited_key(uint64_t object, int shared)
{
	return (uint32_t)ty_mix(shared ? (object & 0xfff) | 1ull << 63 : object) % TY_WAITED;
}

_Static_assert(offsetof(struct ty_arena, refused) == 32 && offsetof(struct ty_arena, reserve) == 56,
	       "the first 64 bytes are the same in every version");
_Static_assert(sizeof(struct ty_chunk) == 64, "header of a chunk is one cache line");
_Static_assert(offsetof(struct ty_arena, orders_native) < 4096, "the library maps the first page apart");
_Static_assert(sizeof(struct ty_arena) + TY_THREADS * sizeof(struct ty_thread) <= 10u << 20,
	       "the control part fits 10 MiB");

#endif

/* SPDX-License-Identifier: MIT
 * What the library knows about its process and its threads, and how a hook
 * gets in and out.
 *
 * struct ty_self fills a page with MADV_WIPEONFORK: after fork or a raw clone
 * it is zero, so `arena` is NULL and the child registers itself before it
 * writes anything; a vfork child shares it with its stopped parent, whose ring
 * it may use.  No atfork handler, no pid compare.
 *
 * That page and a read-only view of the arena's first page lie at fixed places
 * in this library's own data: the uncontended path comes right after an atomic
 * instruction, where each load that depends on another one shows.
 */
#ifndef TY_STATE_H
#define TY_STATE_H

#include "preload/real.h"
#include "preload/rules.h"
#include "tarry/arena.h"

#pragma GCC visibility push(hidden)
#define TY_PAGE 4096
struct ty_self {
	struct ty_arena *arena;  /* NULL: pass through.  Relaxed; set once everything else is */
	_Atomic uint32_t serial; /* 1 + number of registrations in this line of forks.  Relaxed: set by who registers,
				  * compared with a thread's own copy */
	_Atomic uint32_t busy;   /* a child is being registered.  CAS relaxed: only its thread lives in the child */
} __attribute__((aligned(TY_PAGE)));
extern struct ty_self ty_self;
extern union ty_head {
	char page[TY_PAGE];
	struct {
		char before[offsetof(struct ty_arena, enabled)];
		_Atomic uint32_t enabled, orders_native; /* the arena's own words; see arena.h */
	};
} ty_head;

/* Constant after the constructor; copied by fork. */
struct ty_process_state {
	struct ty_arena *arena;  /* the mapping, also in a child that is not registered yet */
	uint64_t image;          /* one per exec */
	_Atomic uint64_t map;    /* names what is mapped; see struct ty_rec_module.  Relaxed: a walk
				  * looks at it before and after */
	uint64_t min_path_ns;
	uint64_t class_mask;
	uint32_t depth, self_check;
	uint32_t capture_bytes;  /* 0: off */
	uint32_t pid;            /* of the process that registered last */
	uint32_t serial;         /* survives fork: the next registration takes serial + 1 */
	uint64_t main_lo, main_hi; /* main thread's stack */
	char exe[512];
};
extern struct ty_process_state ty_proc;

/* One thread.  Initial-exec TLS, small: static TLS is scarce in preloads. */
struct ty_tls {
	/* What the usual call looks at: the slot, if a hook may record there now;
	 * else odd, the guard | 1.  One word, so that a signal handler finds either.
	 * The guard is the stack pointer of the hook that is running, 0: none, and
	 * there is no slot.  A guard at or below the present hook's own on the same
	 * stack is stale: that hook was left by longjmp, cancellation or a dead
	 * vfork child. */
	uintptr_t gate;
	struct ty_thread *t;     /* slot, NULL: none yet; see ty_slot_set */
	struct ty_cursor cursor;
	uint64_t lo, hi;         /* stack bounds; hi 0: unknown */
	uint32_t tid;
	uint32_t serial;         /* ty_self.serial when t was claimed */
	uint32_t sample;         /* self-check countdown */
	uint64_t fork_at;        /* when this thread last called fork; a child still has it */
	uint32_t no_slot;        /* hooks to let pass before looking for a slot again */
	uint32_t tuned;          /* rule + 1 whose threshold is tuned by the present wait; 0: none */
};
extern __thread struct ty_tls ty_tls;

/* Frame of a hook as the walk needs it. */
struct ty_frame_ref {
	uint64_t pc, sp, bp; /* return address, CFA, caller's frame pointer */
};
/* fp: the frame address of the hook, or of a function that the hook left by a
 * tail call, so that it stands in the hook's place.  Asking for it makes the
 * compiler set up a frame: the caller's frame pointer and the return address
 * are there on x86-64 and aarch64. */
static inline struct ty_frame_ref ty_frame_of(const void *fp)
{
	const uint64_t *f = fp;
	return (struct ty_frame_ref){ f[1], (uint64_t)(uintptr_t)(f + 2), f[0] };
}
#define TY_FP __builtin_frame_address(0)
#define TY_FRAME_REF ty_frame_of(TY_FP)

static inline uintptr_t ty_guard(void)
{
	uintptr_t gate = ty_tls.gate;
	return gate & 1 ? gate & ~(uintptr_t)1 : 0;
}
static inline void ty_guard_set(uintptr_t frame)
{
	ty_tls.gate = frame | 1;
	atomic_signal_fence(memory_order_seq_cst);
}
/* A handler that forks between reading t and opening the gate leaves its child
 * with the parent's slot: then once more. */
static inline void ty_guard_clear(void)
{
	struct ty_thread *t;
	do {
		atomic_signal_fence(memory_order_seq_cst);
		t = ty_tls.t;
		ty_tls.gate = t ? (uintptr_t)t : 1;
		atomic_signal_fence(memory_order_seq_cst);
	} while (TY_UNLIKELY(t != ty_tls.t));
}
/* Under a guard the gate stays shut until that is cleared. */
static inline void ty_slot_set(struct ty_thread *t)
{
	ty_tls.t = t;
	if (!ty_guard())
		ty_guard_clear();
}

/* The slot to record into, or NULL: call the real function and do nothing.
 * Not NULL also means that all real pointers are resolved. */
struct ty_thread *ty_enter_slow(uintptr_t frame);
/* The usual case, inlined: NULL sends the caller to ty_enter_slow. */
__attribute__((always_inline)) static inline struct ty_thread *ty_enter_fast(void)
{
	uintptr_t gate = ty_tls.gate;
	if (!gate) /* never; saves the caller a test */
		__builtin_unreachable();
	if (TY_LIKELY(ty_self.arena && !(gate & 1) &&
		      atomic_load_explicit(&ty_head.enabled, memory_order_relaxed)))
		return (struct ty_thread *)gate;
	return NULL;
}
__attribute__((always_inline)) static inline struct ty_thread *ty_enter(void)
{
	struct ty_thread *t = ty_enter_fast();
	return TY_LIKELY(t) ? t : ty_enter_slow((uintptr_t)TY_FP);
}

static inline void ty_count(struct ty_thread *t, enum ty_op op)
{
	atomic_store_explicit(&t->fast[op], atomic_load_explicit(&t->fast[op], memory_order_relaxed) + 1,
			      memory_order_relaxed);
}
/* Of what was just counted, but in another slot if a handler forked since. */
static inline void ty_uncount(struct ty_thread *t, enum ty_op op)
{
	uint64_t n = atomic_load_explicit(&t->fast[op], memory_order_relaxed);
	if (n)
		atomic_store_explicit(&t->fast[op], n - 1, memory_order_relaxed);
}
static inline void ty_lose(struct ty_thread *t, enum ty_loss loss)
{
	atomic_store_explicit(&t->loss[loss], atomic_load_explicit(&t->loss[loss], memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* CLOCK_MONOTONIC in ns; libc's own function, so the vDSO, whatever other
 * preload wraps the name. */
uint64_t ty_now(void);
/* Any clock of libc's own, likewise.  False: it says nothing. */
int ty_clock(clockid_t clock, struct timespec *t);

/* thread.c */
/* Does the function at `frame` run on top of the one at `outer`, of the same thread? */
int ty_nested(uintptr_t outer, uintptr_t frame);
struct ty_thread *ty_thread_claim(uint32_t pid, uint32_t tid); /* becomes the calling thread's slot */
void ty_thread_defaults(void);                                 /* constructor: default stack size */
/* The caller's thread id as libc writes it into a mutex that it locks; 0: it does not
 * say.  No system call, which a sandboxed host may not survive.  fork() refreshes
 * it, a raw clone does not. */
uint32_t ty_tid_from_libc(void);

/* init.c: announces this process in the calling thread's ring; parent: pid */
void ty_say_process(uint32_t flags, uint32_t parent);

#pragma GCC visibility pop

#endif

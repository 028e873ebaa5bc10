/* SPDX-License-Identifier: MIT
 * Threads of the traced process: the way into a hook, thread slots, forked
 * children, stack bounds.  Nothing here takes a lock that another thread could
 * hold, or makes a system call, once the process is registered, except in a
 * child of a raw clone, whose thread id libc does not know. */
#include "policies/queue.h"
#include "preload/path.h"

struct ty_self ty_self;
union ty_head ty_head __attribute__((aligned(TY_PAGE)));
struct ty_process_state ty_proc;
__thread struct ty_tls ty_tls = { .gate = 1 };

_Static_assert(sizeof(struct ty_tls) <= 128, "static TLS is scarce");

uint32_t ty_tid_from_libc(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	if (TY_REAL(pthread_mutex_lock)(&m))
		return 0;
	uint32_t tid = (uint32_t)m.__data.__owner;
	TY_REAL(pthread_mutex_unlock)(&m);
	return tid;
}

/* Free slot near the hint, claimed; NULL: all are taken. */
struct ty_thread *ty_thread_claim(uint32_t pid, uint32_t tid)
{
	struct ty_arena *a = ty_proc.arena;
	uint32_t at = atomic_load_explicit(&a->thread_hint, memory_order_relaxed);
	for (uint32_t i = 0; i < TY_THREADS; i++) {
		struct ty_thread *t = ty_arena_thread(a, (at + i) % TY_THREADS);
		uint64_t none = 0;
		if (atomic_load_explicit(&t->owner, memory_order_relaxed) != 0)
			continue;
		if (!atomic_compare_exchange_strong_explicit(&t->owner, &none, (uint64_t)pid << 32 | tid,
							     memory_order_acquire, memory_order_relaxed))
			continue;
		t->image = ty_proc.image;
		t->birth = ty_now();
		atomic_store_explicit(&t->wait_op, UINT32_MAX, memory_order_relaxed);
		atomic_store_explicit(&t->state, TY_THREAD_LIVE, memory_order_release);
		ty_slot_set(t);
		ty_tls.tid = tid;
		ty_tls.serial = atomic_load_explicit(&ty_self.serial, memory_order_relaxed);
		ty_tls.cursor = (struct ty_cursor){ 0, 0 };
		return t;
	}
	atomic_fetch_add_explicit(&a->no_slot, 1, memory_order_relaxed);
	return NULL;
}

/* A forked or cloned child becomes a process of its own.  Only the forking
 * thread lives in it; should another one be here first, it passes through. */
static void register_child(void)
{
	struct ty_self *self = &ty_self;
	uint32_t idle = 0;
	if (!atomic_compare_exchange_strong_explicit(&self->busy, &idle, 1, memory_order_relaxed,
						     memory_order_relaxed))
		return;
	ty_slot_set(NULL);
	ty_tls.cursor = (struct ty_cursor){ 0, 0 };
	if (!ty_proc.arena->conf.children) {
		ty_proc.arena = NULL; /* stays off, like its own children */
		return;
	}
	uint32_t parent = ty_proc.pid, tid = ty_tid_from_libc(), pid = tid;
	if (!ty_tls.tid || ty_tls.tid == tid) { /* raw clone: libc still has the parent's tid */
		pid = (uint32_t)TY_REAL(syscall)(SYS_getpid);
		tid = (uint32_t)TY_REAL(syscall)(SYS_gettid);
	}
	if (pid == 1) { /* forked into a new PID namespace: the recorder knows it by another number */
		ty_proc.arena = NULL;
		return;
	}
	ty_proc.pid = pid;
	ty_tls.no_slot = 0;
	ty_module_forked();
	atomic_store_explicit(&self->serial, ++ty_proc.serial, memory_order_relaxed);
	if (ty_thread_claim(pid, tid))
		ty_say_process(TY_P_FORK, parent);
	ty_tls.fork_at = 0;
	self->arena = ty_proc.arena;
}

int ty_nested(uintptr_t guard, uintptr_t frame)
{
	const struct ty_tls *s = &ty_tls;
	int here = s->hi && frame >= s->lo && frame < s->hi;
	int there = s->hi && guard >= s->lo && guard < s->hi;
	if (s->hi && here != there)
		return there; /* a handler on its own stack above a hook; the other way round is stale */
	return frame < guard;
}

TY_NOINLINE struct ty_thread *ty_enter_slow(uintptr_t frame)
{
	struct ty_tls *s = &ty_tls;
	uintptr_t guard = ty_guard();
	if (!ty_proc.arena)
		return NULL;
	if (!ty_self.arena) {
		/* A guard that was set before the fork says nothing: servers fork in a
		 * signal handler, on top of a wait, and their child never returns from it. */
		if (guard && atomic_load_explicit(&ty_self.busy, memory_order_relaxed) && ty_nested(guard, frame))
			return NULL;
		ty_guard_set(frame);
		register_child();
		ty_guard_clear();
		guard = 0;
		if (!ty_self.arena)
			return NULL;
	}
	struct ty_arena *a = ty_self.arena;
	if (!atomic_load_explicit(&a->enabled, memory_order_relaxed))
		return NULL;
	int mine = s->t && s->serial == atomic_load_explicit(&ty_self.serial, memory_order_relaxed);
	if (guard) {
		if (ty_nested(guard, frame)) {
			if (mine)
				ty_lose(s->t, TY_LOSS_NESTED);
			return NULL;
		}
		if (mine) /* its wait was left by longjmp or cancellation */
			atomic_store_explicit(&s->t->wait_op, UINT32_MAX, memory_order_relaxed);
		ty_guard_clear();
	}
	if (mine)
		return s->t;
	if (s->no_slot) { /* all slots were taken a moment ago, or this thread is ending */
		s->no_slot -= s->no_slot != UINT32_MAX;
		if (s->no_slot != UINT32_MAX)
			atomic_fetch_add_explicit(&a->no_slot, 1, memory_order_relaxed);
		return NULL;
	}
	ty_guard_set(frame);
	struct ty_thread *t = ty_thread_claim(ty_proc.pid, ty_tid_from_libc());
	if (!t)
		s->no_slot = 1000;
	ty_guard_clear();
	return t;
}

/* ---- threads made by pthread_create and thrd_create ---- */

/* From creator to new thread.  Private memory: code addresses do not belong
 * into a mapping that others can write. */
struct start {
	_Atomic uint32_t used; /* creator: CAS acquire; new thread: release after copying */
	void *(*routine)(void *);
	thrd_start_t c11;
	void *arg;
	size_t stack;
};
static struct start starts[256];
static size_t default_stack;

static struct start *start_take(void)
{
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
		uint32_t no = 0;
		if (atomic_compare_exchange_strong_explicit(&starts[i].used, &no, 1, memory_order_acquire,
							    memory_order_relaxed))
			return &starts[i];
	}
	return NULL;
}

static struct start begin_here(struct start *p)
{
	struct start s = { .routine = p->routine, .c11 = p->c11, .arg = p->arg, .stack = p->stack };
	atomic_store_explicit(&p->used, 0, memory_order_release);
	/* glibc puts the thread descriptor at the top of the stack block. */
	ty_tls.hi = (uint64_t)pthread_self();
	ty_tls.lo = ty_tls.hi - s.stack;
	return s;
}

static void end_here(void)
{
	struct ty_tls *s = &ty_tls;
	struct ty_thread *t = s->t;
	ty_slot_set(NULL);
	s->no_slot = UINT32_MAX; /* destructors and late handlers of this thread pass through */
	atomic_signal_fence(memory_order_seq_cst); /* the slot is somebody else's once it says so */
	if (t && s->serial == atomic_load_explicit(&ty_self.serial, memory_order_relaxed))
		atomic_store_explicit(&t->state, TY_THREAD_ENDED, memory_order_release);
}

static void *thread_begin(void *arg)
{
	struct start s = begin_here(arg);
	void *r = s.routine(s.arg);
	end_here();
	return r;
}

static int thread_begin_c11(void *arg)
{
	struct start s = begin_here(arg);
	int r = s.c11(s.arg);
	end_here();
	return r;
}

static void count_create(enum ty_op op)
{
	struct ty_thread *t = ty_enter();
	if (t)
		ty_count(t, op);
}

TY_EXPORT int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *p)
{
	count_create(TY_OP_pthread_create);
	struct start *s = ty_self.arena ? start_take() : NULL;
	if (!s)
		return TY_REAL(pthread_create)(t, a, f, p);
	s->routine = f;
	s->arg = p;
	s->stack = default_stack;
	if (a)
		pthread_attr_getstacksize(a, &s->stack);
	int r = TY_REAL(pthread_create)(t, a, thread_begin, s);
	if (r)
		atomic_store_explicit(&s->used, 0, memory_order_release);
	return r;
}

TY_EXPORT int thrd_create(thrd_t *t, thrd_start_t f, void *p)
{
	count_create(TY_OP_thrd_create);
	struct start *s = ty_self.arena ? start_take() : NULL;
	if (!s)
		return TY_REAL(thrd_create)(t, f, p);
	s->c11 = f;
	s->arg = p;
	s->stack = default_stack;
	int r = TY_REAL(thrd_create)(t, thread_begin_c11, s);
	if (r != thrd_success)
		atomic_store_explicit(&s->used, 0, memory_order_release);
	return r;
}

/* In a child: the ring is the parent's, also if a handler forked inside a push.
 * But an atfork handler's call may have registered the child already. */
static void forget_parent(void)
{
	ty_waiter_forked();
	if (ty_self.arena)
		return;
	ty_slot_set(NULL);
	ty_tls.cursor = (struct ty_cursor){ 0, 0 };
}

/* A child may run long before its first hook registers it, and its parent may
 * close and reuse descriptors meanwhile. */
#define FORK(name)                                                                                \
	TY_EXPORT pid_t name(void);                                                               \
	TY_EXPORT pid_t name(void)                                                                \
	{                                                                                         \
		struct ty_thread *t = ty_enter();                                                 \
		if (t)                                                                            \
			ty_count(t, TY_OP_##name);                                                \
		if (ty_self.arena) /* also from a handler on top of a hook */                     \
			ty_tls.fork_at = ty_now();                                                \
		pid_t pid = TY_REAL(name)();                                                      \
		if (pid != 0) {                                                                   \
			ty_tls.fork_at = 0;                                                       \
		} else {                                                                          \
			forget_parent();                                                          \
		}                                                                                 \
		return pid;                                                                       \
	}
FORK(fork)
FORK(__fork)
FORK(_Fork)

void ty_thread_defaults(void)
{
	pthread_attr_t a;
	default_stack = 8u << 20;
	if (pthread_getattr_default_np(&a) == 0) {
		pthread_attr_getstacksize(&a, &default_stack);
		pthread_attr_destroy(&a);
	}
}

/* SPDX-License-Identifier: MIT
 * The pool of waiters, and which of them are the calling thread's.  Runs in the
 * traced process.  A place in the pool is taken by the epoch of the process, so
 * that all places are free in a child.  Each thread begins to look where it had
 * its last one, so that it usually writes to lines of its own.
 *
 * A handler may jump out of a wait: its waiter is then found on top of the
 * thread's chain by the thread's next wait, at the latest; until then it may be
 * granted, and what it was granted costs others no more than the bound. */
#include "policies/order.h"
#include "policies/gate.h"

#define WAITERS 2048u /* power of two; more at once are left to libc */
#define PROBES 128u

static struct ty_waiter pool[WAITERS] __attribute__((aligned(64)));
__thread struct ty_order_tls ty_order_tls;

_Static_assert(sizeof(struct ty_waiter) == 128, "two cache lines");
_Static_assert(sizeof(struct ty_order_tls) <= 64, "static TLS is scarce");

/* used: taken by CAS, acquire, pairs with the release of whoever gave it back. */
static struct ty_waiter *take_place(void)
{
	struct ty_order_tls *s = &ty_order_tls;
	uint32_t epoch = ty_queue_epoch();
	uint32_t at = s->home ? s->home - 1 : (uint32_t)ty_mix((uintptr_t)s);
	for (uint32_t i = 0; i < PROBES; i++) {
		struct ty_waiter *w = &pool[(at + i) % WAITERS];
		uint32_t used = atomic_load_explicit(&w->used, memory_order_relaxed);
		if (used != epoch && atomic_compare_exchange_strong_explicit(&w->used, &used, epoch, memory_order_acquire,
									     memory_order_relaxed)) {
			s->home = (at + i) % WAITERS + 1;
			return w;
		}
	}
	return NULL;
}

static void give_back(struct ty_waiter *w)
{
	ty_order_tls.top = w->outer;
	atomic_store_explicit(&w->used, 0, memory_order_release);
}

/* A handler jumped out of its wait.  What it was given, or stood in the way of,
 * goes to another. */
static void abandon(struct ty_waiter *w)
{
	struct ty_locked l;
	ty_queue_lock(&l, (const void *)w->object);
	bool granted = w->state == TY_W_GRANTED;
	ty_queue_remove(&l, w);
	if (w->head)
		ty_gate_lead(&l, (const void *)w->object);
	else if (granted)
		ty_queue_pass(&l, (const void *)w->object, false);
	ty_queue_unlock(&l);
	if (granted)
		ty_waiter_take(w);
	give_back(w);
}

/* Was it left by a jump?  Asked only from the thread's own stack: what runs on
 * another one (a coroutine's, a handler's) may be anywhere above or below it. */
static bool left_behind(const struct ty_waiter *w, uintptr_t frame)
{
	return frame >= ty_tls.lo && frame < ty_tls.hi && !ty_nested(w->frame, frame);
}

struct ty_waiter *ty_waiter_new(const void *object, uint32_t rule, enum ty_op op, uintptr_t frame)
{
	struct ty_order_tls *s = &ty_order_tls;
	while (TY_UNLIKELY(s->top != NULL) && left_behind(s->top, frame))
		abandon(s->top);
	struct ty_waiter *w = take_place();
	if (!w)
		return NULL;
	w->outer = s->top;
	w->frame = frame;
	w->object = (uintptr_t)object;
	w->age = w->seq = w->given_age = 0;
	w->tid = ty_self.arena && ty_tls.serial == atomic_load_explicit(&ty_self.serial, memory_order_relaxed) ? ty_tls.tid : 0;
	w->behind = w->passed = 0;
	w->rule = (uint8_t)rule;
	w->op = (uint16_t)op;
	w->state = TY_W_NEW;
	w->gate = w->reader = w->head = w->moved = false;
	sem_init(&w->grant, 0, 0);
	atomic_signal_fence(memory_order_seq_cst);
	s->top = w;
	return w;
}

void ty_waiter_done(struct ty_waiter *w)
{
	/* others were left by a jump out of a handler that ran on top of this wait */
	while (TY_UNLIKELY(ty_order_tls.top && ty_order_tls.top != w))
		abandon(ty_order_tls.top);
	give_back(w);
}

bool ty_waiter_leave(struct ty_waiter *w)
{
	struct ty_locked l;
	ty_queue_lock(&l, (const void *)w->object);
	bool granted = w->state == TY_W_GRANTED;
	ty_queue_remove(&l, w);
	ty_queue_unlock(&l);
	if (granted)
		ty_waiter_take(w);
	return granted;
}

void ty_waiter_take(struct ty_waiter *w)
{
	int saved = errno, state;
	if (atomic_load_explicit(&w->used, memory_order_relaxed) != ty_queue_epoch())
		return; /* who was to post it is in the parent */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	while (ty_real.sem_wait(&w->grant) && errno == EINTR)
		;
	pthread_setcancelstate(state, NULL);
	errno = saved;
}

void ty_waiter_forked(void)
{
	int saved = errno;
	for (struct ty_waiter *w = ty_order_tls.top; w; w = w->outer) {
		if (w->state == TY_W_QUEUED)
			w->state = TY_W_NEW;
		if (w->state == TY_W_GRANTED) { /* one post in any case: who was about to do it is not here */
			ty_real.sem_trywait(&w->grant);
			ty_real.sem_post(&w->grant);
		}
		atomic_store_explicit(&w->used, ty_queue_epoch(), memory_order_relaxed);
	}
	errno = saved;
}

uint64_t ty_waiter_bound(void)
{
	return ty_order_conf.bound_ns << ty_order_tls.doubled;
}

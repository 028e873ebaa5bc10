/* SPDX-License-Identifier: MIT
 * The queue.  Runs in the traced process.  What must stay true: a waiter is in
 * a list exactly while it is QUEUED; a list is in the order of seq; whoever
 * makes one GRANTED posts it once, after the bucket's lock is free and before
 * signals come in, so that nobody who finds itself GRANTED waits for long. */
#include "policies/order.h"

#include <linux/futex.h>

#define BUCKETS 256u /* power of two */
#define SPINS 100

#ifdef __x86_64__
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE() __asm__ volatile("yield")
#endif

struct ty_bucket {
	/* 0 free, 1 locked, 2 locked and somebody may sleep.  Taken with acquire, let
	 * go with release: these pair. */
	_Atomic uint32_t lock;
	_Atomic uint32_t queued; /* changed under the lock, release; ty_queue_any acquires */
	_Atomic uint32_t heads; /* of these, heads.  Likewise; a hint outside */
	/* A gate's waiter that came while nobody was queued, is head and not in the list.
	 * Set by CAS from NULL, release; whoever locks the bucket takes it into the list,
	 * acquire, unless its thread takes it back by CAS before. */
	_Atomic(struct ty_waiter *) alone;
	struct ty_waiter *first, *last;
	uint64_t random[TY_RULES]; /* generators of the rules, 0: not begun.  One a bucket: no other lock guards them */
} __attribute__((aligned(64)));

/* Fills whole pages, so that nothing else is wiped. */
static struct wiped {
	struct ty_bucket bucket[BUCKETS];
	_Atomic uint32_t epoch; /* 0 in a fresh process.  Relaxed: only its own value counts */
} __attribute__((aligned(TY_PAGE))) wiped;
_Static_assert(sizeof wiped % TY_PAGE == 0, "whole pages");

/* Fork wipes it, too.  Relaxed: see queue.h. */
struct ty_gate_count ty_gate_count;

static _Atomic uint32_t epochs;   /* outlives fork, so that a child's are new.  Relaxed */
static _Atomic uint64_t arrivals; /* relaxed: taken under a bucket's lock, and compared within one bucket only */

bool ty_queue_start(void)
{
	return ty_queue_weight_start() && madvise(&ty_gate_count, sizeof ty_gate_count, MADV_WIPEONFORK) == 0 &&
	       madvise(&wiped, sizeof wiped, MADV_WIPEONFORK) == 0;
}

uint32_t ty_queue_epoch(void)
{
	uint32_t now = atomic_load_explicit(&wiped.epoch, memory_order_relaxed);
	if (TY_LIKELY(now))
		return now;
	uint32_t next;
	do
		next = atomic_fetch_add_explicit(&epochs, 1, memory_order_relaxed) + 1;
	while (!next);
	if (atomic_compare_exchange_strong_explicit(&wiped.epoch, &now, next, memory_order_relaxed, memory_order_relaxed))
		return next;
	return now;
}

/* Set once, before the process can do what it must not; copied by fork.  Relaxed. */
static _Atomic bool sandboxed;

void ty_queue_sandbox(void)
{
	atomic_store_explicit(&sandboxed, true, memory_order_relaxed);
}
bool ty_queue_sandboxed(void)
{
	return atomic_load_explicit(&sandboxed, memory_order_relaxed);
}

/* ---- locking ---- */

static struct ty_bucket *bucket_of(const void *object)
{
	return &wiped.bucket[ty_mix((uintptr_t)object) % BUCKETS];
}

bool ty_queue_any(const void *object)
{
	const struct ty_bucket *b = bucket_of(object);
	return atomic_load_explicit(&b->queued, memory_order_acquire) != 0 ||
	       atomic_load_explicit(&b->alone, memory_order_acquire) != NULL;
}

bool ty_queue_has_list(const void *object)
{
	return atomic_load_explicit(&bucket_of(object)->queued, memory_order_acquire) != 0;
}

bool ty_queue_heads(const void *object)
{
	return atomic_load_explicit(&bucket_of(object)->heads, memory_order_relaxed) != 0;
}

uint64_t ty_queue_mask(uint64_t mask)
{
	uint64_t old = 0;
	ty_real.syscall(SYS_rt_sigprocmask, (long)SIG_SETMASK, &mask, &old, (long)sizeof mask);
	return old;
}

static void sleep_on(struct ty_bucket *b)
{
	while (atomic_exchange_explicit(&b->lock, 2, memory_order_acquire) != 0)
		ty_real.syscall(SYS_futex, &b->lock, (long)FUTEX_WAIT_PRIVATE, 2L, NULL, NULL, 0L);
}

static void link_waiter(struct ty_bucket *b, struct ty_waiter *w);

void ty_queue_lock(struct ty_locked *l, const void *object)
{
	int saved = errno;
	struct ty_bucket *b = l->bucket = bucket_of(object);
	l->granted = NULL;
	l->granted_end = &l->granted;
	l->masked = !ty_queue_sandboxed();
	if (l->masked)
		l->mask = ty_queue_mask(~0ull);
	for (int i = 0;; i++) {
		uint32_t none = 0;
		if (atomic_compare_exchange_weak_explicit(&b->lock, &none, 1, memory_order_acquire, memory_order_relaxed))
			break;
		if (i == SPINS) {
			sleep_on(b);
			break;
		}
		PAUSE();
	}
	struct ty_waiter *alone = atomic_exchange_explicit(&b->alone, NULL, memory_order_acquire);
	if (alone) {
		alone->state = TY_W_QUEUED;
		link_waiter(b, alone);
	}
	errno = saved;
}

void ty_queue_unlock(struct ty_locked *l)
{
	int saved = errno;
	struct ty_bucket *b = l->bucket;
	if (atomic_exchange_explicit(&b->lock, 0, memory_order_release) == 2)
		ty_real.syscall(SYS_futex, &b->lock, (long)FUTEX_WAKE_PRIVATE, 1L, NULL, NULL, 0L);
	struct ty_waiter *next;
	for (struct ty_waiter *w = l->granted; w; w = next) {
		next = w->peer; /* posted, it is its thread's again */
		ty_real.sem_post(&w->grant);
	}
	if (l->masked)
		ty_queue_mask(l->mask);
	errno = saved;
}

/* ---- the list ---- */

void ty_queue_behind(struct ty_locked *l, struct ty_waiter *w, uint32_t tid)
{
	(void)l;
	if (w->state == TY_W_QUEUED) {
		ty_queue_weigh(w->behind, false);
		ty_queue_weigh(tid, true);
	}
	w->behind = tid;
}

static void take_seq(struct ty_waiter *w)
{
	if (!w->seq)
		w->seq = atomic_fetch_add_explicit(&arrivals, 1, memory_order_relaxed) + 1;
}

static void link_waiter(struct ty_bucket *b, struct ty_waiter *w)
{
	struct ty_waiter *at = b->last; /* goes behind this one; a newcomer at once */
	while (at && at->seq > w->seq)
		at = at->prev;
	w->prev = at;
	w->next = at ? at->next : b->first;
	*(at ? &at->next : &b->first) = w;
	*(w->next ? &w->next->prev : &b->last) = w;
	atomic_fetch_add_explicit(&b->queued, 1, memory_order_release);
	if (w->gate)
		atomic_fetch_add_explicit(&ty_gate_count.listed, 1, memory_order_relaxed);
	if (w->head)
		atomic_fetch_add_explicit(&b->heads, 1, memory_order_relaxed);
}

void ty_queue_add(struct ty_locked *l, struct ty_waiter *w)
{
	take_seq(w);
	link_waiter(l->bucket, w);
	if (w->state == TY_W_NEW)
		TY_ORDER_COUNT_UP(ty_order_stat((const void *)w->object, w->rule, w->op), waits);
	w->state = TY_W_QUEUED;
	ty_queue_weigh(w->behind, true);
}

static void unlink_waiter(struct ty_bucket *b, struct ty_waiter *w)
{
	*(w->prev ? &w->prev->next : &b->first) = w->next;
	*(w->next ? &w->next->prev : &b->last) = w->prev;
	ty_queue_weigh(w->behind, false);
	atomic_fetch_sub_explicit(&b->queued, 1, memory_order_release);
	if (w->gate)
		atomic_fetch_sub_explicit(&ty_gate_count.listed, 1, memory_order_relaxed);
	if (w->head)
		atomic_fetch_sub_explicit(&b->heads, 1, memory_order_relaxed);
}

void ty_queue_head(struct ty_locked *l, struct ty_waiter *w)
{
	w->head = true;
	atomic_fetch_add_explicit(&l->bucket->heads, 1, memory_order_relaxed);
}

void ty_queue_remove(struct ty_locked *l, struct ty_waiter *w)
{
	if (w->state != TY_W_QUEUED)
		return;
	if (atomic_load_explicit(&w->used, memory_order_relaxed) == ty_queue_epoch())
		unlink_waiter(l->bucket, w);
	w->state = TY_W_NEW; /* in a child that nobody told of its fork it was in no list */
}

/* ---- alone ---- */

bool ty_queue_alone(struct ty_waiter *w)
{
	struct ty_bucket *b = bucket_of((const void *)w->object);
	struct ty_waiter *none = NULL;
	if (ty_queue_any((const void *)w->object))
		return false;
	take_seq(w);
	w->state = TY_W_ALONE; /* before: a handler may jump out of here at any instruction */
	w->head = true;
	ty_queue_weigh(w->behind, true); /* before: then whoever has the bucket locked may change behind whom it is */
	if (!atomic_compare_exchange_strong_explicit(&b->alone, &none, w, memory_order_release, memory_order_relaxed)) {
		ty_queue_weigh(w->behind, false);
		w->state = TY_W_NEW;
		w->head = false;
		return false;
	}
	TY_ORDER_COUNT_UP(ty_order_stat((const void *)w->object, w->rule, w->op), waits);
	return true;
}

bool ty_queue_alone_still(struct ty_waiter *w)
{
	struct ty_waiter *me = w;
	if (!atomic_compare_exchange_strong_explicit(&bucket_of((const void *)w->object)->alone, &me, NULL,
						     memory_order_relaxed, memory_order_relaxed))
		return false;
	w->state = TY_W_NEW;
	ty_queue_weigh(w->behind, false);
	return true;
}

struct ty_waiter *ty_queue_next(const struct ty_locked *l, const void *object, const struct ty_waiter *after)
{
	struct ty_waiter *w = after ? after->next : l->bucket->first;
	while (w && (w->object != (uintptr_t)object || !w->gate))
		w = w->next;
	return w;
}

struct ty_waiter *ty_queue_of(struct ty_locked *l, const void *object, bool gate, uint32_t *n)
{
	struct ty_waiter *first = NULL, **end = &first;
	*n = 0;
	for (struct ty_waiter *w = l->bucket->first; w; w = w->next) {
		if (w->object != (uintptr_t)object || w->gate != gate || w->head)
			continue;
		*end = w;
		end = &w->peer;
		++*n;
	}
	*end = NULL;
	return first;
}

/* ---- picking ---- */

#define ty_pick_native NULL /* libc's own: nothing is queued for it */
ty_pick_fn *const ty_picks[TY_ORDER_COUNT] = {
#define TY_ORDER(name, what) [TY_ORDER_##name] = ty_pick_##name,
#include "tarry/orders.def"
};
#undef ty_pick_native

/* Passing over him once more would be once too often. */
static struct ty_waiter *passed_over(struct ty_waiter *first, uint32_t n)
{
	for (struct ty_waiter *w = first; w; w = w->peer)
		if (w->passed >= 2 * n)
			return w;
	return NULL;
}

static struct ty_waiter *by_order(struct ty_bucket *b, struct ty_waiter *first)
{
	const struct ty_order_rule *rule = &ty_order_conf.rule[first->rule % TY_RULES];
	uint64_t *random = &b->random[first->rule % TY_RULES];
	if (!*random) /* the same for all buckets: addresses change from run to run */
		*random = ty_mix(rule->seed + 0x9e3779b97f4a7c15ULL) | 1;
	ty_pick_fn *pick = ty_picks[rule->order];
	return pick ? pick(first, &(struct ty_pick){ .random = random }) : first;
}

static void count_choice(const struct ty_waiter *first, const struct ty_waiter *picked, uint32_t n, bool forced)
{
	struct ty_order_stat *s = ty_order_stat((const void *)first->object, first->rule, first->op);
	if (!s)
		return;
	atomic_fetch_add_explicit(&s->choices, 1, memory_order_relaxed);
	if (picked != first)
		atomic_fetch_add_explicit(&s->reordered, 1, memory_order_relaxed);
	if (forced)
		atomic_fetch_add_explicit(&s->forced, 1, memory_order_relaxed);
	if (atomic_load_explicit(&s->most, memory_order_relaxed) < n) /* two at once may lose the greater one */
		atomic_store_explicit(&s->most, n, memory_order_relaxed);
}

struct ty_waiter *ty_queue_pick(struct ty_locked *l, struct ty_waiter *first, uint32_t n, bool fair)
{
	if (n < 2)
		return first;
	struct ty_waiter *forced = fair ? passed_over(first, n) : NULL;
	struct ty_waiter *w = forced ? forced : by_order(l->bucket, first);
	count_choice(first, w, n, forced != NULL);
	return w;
}

void ty_queue_grant(struct ty_locked *l, struct ty_waiter *w)
{
	struct ty_bucket *b = l->bucket;
	for (struct ty_waiter *e = w->prev; e; e = e->prev)
		if (e->object == w->object && e->gate == w->gate)
			e->passed++;
	unlink_waiter(b, w);
	w->state = TY_W_GRANTED;
	w->peer = NULL;
	*l->granted_end = w;
	l->granted_end = &w->peer;
	TY_ORDER_COUNT_UP(ty_order_stat((const void *)w->object, w->rule, w->op), grants);
}

void ty_queue_pass(struct ty_locked *l, const void *object, bool fair)
{
	uint32_t n;
	struct ty_waiter *first = ty_queue_of(l, object, false, &n);
	if (first)
		ty_queue_grant(l, ty_queue_pick(l, first, n, fair));
}

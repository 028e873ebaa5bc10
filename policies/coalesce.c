/* SPDX-License-Identifier: MIT
 *
 * Callers that flush one file at a time share flushes.  Who comes while none is
 * in flight flushes by itself: it leads.  Who comes while one is in flight
 * waits, and shares the next with all who came meanwhile; one of them leads it.
 *
 * Durable: the call of a caller returns 0 only if a real flush that began after
 * the call did returned 0.  A leader takes its group out of `callers` and only
 * then begins to flush; so who is in the group was there before.  Who came later
 * is not in it, and waits for the leader after.  An error of the flush is
 * everybody's who shared it.
 *
 * One descriptor number, one kind of flush: one queue.  Not one file, since the
 * kernel reports a failed write-back once to each open description; a caller
 * with another one would miss an error that the leader's had reported before.
 *
 * Nobody can vanish from the queue.  From its arrival to its end a caller has
 * all signals blocked and cancellation disabled, as it would be uninterruptible
 * in the kernel's own flush; so neither a handler's longjmp nor a cancel takes it
 * off its stack.  Only a vfork child may die at any time: it flushes by itself.
 * A forked child finds the pages of the queues wiped.
 *
 * Runs in the traced process.  Takes no lock; a caller lies on its thread's stack. */
#include "policies/queue.h"
#include "policies/sync.h"

#include <linux/futex.h>

#define NOBODY ((uintptr_t)0)
#define ONE_LEADS ((uintptr_t)1) /* and nobody waits; also the end of a list */

enum state { WAITS, LEADS, DONE };

struct caller {
	uintptr_t next;         /* who came before it, or ONE_LEADS */
	_Atomic uint32_t state; /* enum state; release by who changes it, acquire by the caller; futex */
	int result, error;      /* before DONE */
};

/* NOBODY, ONE_LEADS, or the caller who came last while one leads.  Arrival is a
 * release CAS, taking a group an acquire exchange, leaving a release CAS that
 * pairs with the next leader's acquire. */
static union {
	char pages[TY_FLUSHES * TY_SYNC_FDS * sizeof(uintptr_t)];
	_Atomic uintptr_t callers[TY_FLUSHES][TY_SYNC_FDS];
} queues __attribute__((aligned(TY_PAGE)));

_Static_assert(sizeof queues % TY_PAGE == 0, "whole pages are wiped");

/* Leads: true.  Else waits in the queue. */
static bool arrive(_Atomic uintptr_t *q, struct caller *c)
{
	uintptr_t last = atomic_load_explicit(q, memory_order_relaxed), mine;
	do {
		c->next = last;
		mine = last == NOBODY ? ONE_LEADS : (uintptr_t)c;
	} while (!atomic_compare_exchange_weak_explicit(q, &last, mine, memory_order_acq_rel, memory_order_relaxed));
	return last == NOBODY;
}

static uintptr_t take_group(_Atomic uintptr_t *q)
{
	return atomic_exchange_explicit(q, ONE_LEADS, memory_order_acq_rel);
}

/* Nothing of c is looked at afterwards: its stack may be gone.  Waking an address
 * at which by then somebody else sleeps is one of the wakes that everybody who
 * sleeps on a futex has to expect. */
static void tell(struct caller *c, enum state s)
{
	_Atomic uint32_t *state = &c->state;
	atomic_store_explicit(state, s, memory_order_release);
	ty_real.syscall(SYS_futex, state, (long)FUTEX_WAKE_PRIVATE, 1L, NULL, NULL, 0L);
}

static enum state wait_for_turn(struct caller *c)
{
	uint32_t s;
	while ((s = atomic_load_explicit(&c->state, memory_order_acquire)) == WAITS)
		ty_real.syscall(SYS_futex, &c->state, (long)FUTEX_WAIT_PRIVATE, (long)WAITS, NULL, NULL, 0L);
	return s;
}

/* The last who came leads the others, in the list behind it; or nobody does. */
static void hand_over(_Atomic uintptr_t *q)
{
	uintptr_t alone = ONE_LEADS;
	if (!atomic_compare_exchange_strong_explicit(q, &alone, NOBODY, memory_order_acq_rel, memory_order_relaxed))
		tell((struct caller *)take_group(q), LEADS);
}

static void finish(uintptr_t group, int result, int error)
{
	while (group != ONE_LEADS) {
		struct caller *c = (struct caller *)group;
		group = c->next;
		c->result = result;
		c->error = error;
		ty_sync_count(&ty_orders->sync_shared);
		tell(c, DONE);
	}
}

/* group: who came before this caller was made the leader. */
static void lead(_Atomic uintptr_t *q, struct caller *c, uintptr_t group, enum ty_flush kind, int fd)
{
	uintptr_t later = take_group(q);
	c->result = ty_sync_flush(kind, fd);
	c->error = errno;
	ty_sync_count(&ty_orders->sync_done);
	hand_over(q); /* first: the next flush need not wait for all these wakes */
	finish(later, c->result, c->error);
	finish(group, c->result, c->error);
}

static void flush_together(enum ty_flush kind, int fd, struct caller *c)
{
	_Atomic uintptr_t *q = &queues.callers[kind][fd];
	if (arrive(q, c))
		lead(q, c, ONE_LEADS, kind, fd);
	else if (wait_for_turn(c) == LEADS)
		lead(q, c, c->next, kind, fd);
}

static int coalesce(enum ty_flush kind, int fd)
{
	if (!ty_sync_acts(fd))
		return ty_sync_flush(kind, fd);
	int before = errno;
	struct caller c = { .state = WAITS };
	pthread_testcancel(); /* as the real one does before and after it blocks */
	struct ty_sync_held held = ty_sync_hold();
	ty_sync_count(&ty_orders->sync_calls);
	flush_together(kind, fd, &c);
	ty_sync_let_go(held);
	pthread_testcancel();
	errno = c.result ? c.error : before;
	return c.result;
}

static int coalesced_fsync(int fd)
{
	return coalesce(TY_FSYNC, fd);
}

static int coalesced_fdatasync(int fd)
{
	return coalesce(TY_FDATASYNC, fd);
}

/* Where a child would not begin with empty queues nothing is shared. */
void ty_coalesce_start(void)
{
	if (madvise(&queues, sizeof queues, MADV_WIPEONFORK))
		return;
	TY_SYNC_TAKE(fsync, coalesced_fsync);
	TY_SYNC_TAKE(fdatasync, coalesced_fdatasync);
}

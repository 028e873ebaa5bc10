/* SPDX-License-Identifier: MIT
 * How many wait behind each thread, over all objects.  Runs in the traced process.
 *
 * A word is one thread and its count; of those near its hash a thread has the first
 * that was free, and perhaps a second one if that was while the first had just been
 * given back, so whoever reads adds them up.  With more threads than places waits are
 * left out; then the order is not quite what it says, and nothing else is.
 *
 * Every word stands for itself: relaxed, partner is the same word elsewhere. */
#include "policies/queue.h"

#define PLACES 4096u /* power of two */
#define NEAR 16u

static _Atomic uint64_t weights[PLACES] __attribute__((aligned(TY_PAGE))); /* tid << 32 | count; 0: free */
_Static_assert(sizeof weights % TY_PAGE == 0, "fork wipes whole pages");

static _Atomic uint64_t *near(uint32_t tid, uint32_t i)
{
	return &weights[(ty_mix(tid) + i) % PLACES];
}

static bool counts(uint64_t word, uint32_t tid)
{
	return word >> 32 == tid && (uint32_t)word;
}

void ty_queue_weigh(uint32_t tid, bool more)
{
	if (!tid)
		return;
	for (uint32_t i = 0; i < NEAR; i++) {
		_Atomic uint64_t *at = near(tid, i);
		uint64_t word = atomic_load_explicit(at, memory_order_relaxed);
		while (counts(word, tid) || (more && !word)) {
			uint64_t next = more ? ((uint64_t)tid << 32 | (uint32_t)word) + 1 : (uint32_t)word == 1 ? 0 : word - 1;
			if (atomic_compare_exchange_weak_explicit(at, &word, next, memory_order_relaxed, memory_order_relaxed))
				return;
		}
	}
}

uint32_t ty_queue_weight(uint32_t tid)
{
	uint32_t sum = 0;
	for (uint32_t i = 0; tid && i < NEAR; i++) {
		uint64_t word = atomic_load_explicit(near(tid, i), memory_order_relaxed);
		sum += counts(word, tid) ? (uint32_t)word : 0;
	}
	return sum;
}

bool ty_queue_weight_start(void)
{
	return madvise(weights, sizeof weights, MADV_WIPEONFORK) == 0;
}

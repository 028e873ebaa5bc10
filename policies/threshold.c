/* SPDX-License-Identifier: MIT
 *
 * Thresholds, see threshold.h.  Runs in the traced process.  All counters are
 * statistics: relaxed, partner is the same word in another thread, and a lost
 * update costs a sample or moves a window by a wait, never an order's meaning. */
#include "policies/threshold.h"

#define LOAD(x) atomic_load_explicit(x, memory_order_relaxed)
#define STORE(x, v) atomic_store_explicit(x, v, memory_order_relaxed)

/* ---- one object ---- */

static void look(struct ty_order_stat *s, uint64_t grants, uint64_t choices, uint32_t theta)
{
	uint64_t n = grants - LOAD(&s->grants_at), found = choices - LOAD(&s->choices_at);
	uint32_t share = found < n ? (uint32_t)(found * 1000 / n) : 1000;
	STORE(&s->share, share + 1);
	STORE(&s->left, share < theta ? TY_THETA_RUN : 0);
	STORE(&s->grants_at, grants);
	STORE(&s->choices_at, choices);
}

bool ty_threshold_native(struct ty_order_stat *s, uint32_t theta)
{
	uint64_t grants = LOAD(&s->grants), choices = LOAD(&s->choices);
	STORE(&s->theta, theta);
	if (grants - LOAD(&s->grants_at) >= TY_THETA_WINDOW)
		look(s, grants, choices, theta);
	uint32_t share = LOAD(&s->share), left = LOAD(&s->left);
	if (!share || share - 1 >= theta || !left)
		return false;
	if (left == 1) { /* what was granted meanwhile says nothing: hardly anybody was queued */
		STORE(&s->grants_at, grants);
		STORE(&s->choices_at, choices);
	}
	STORE(&s->left, left - 1);
	return true;
}

/* ---- auto ---- */

static const uint16_t candidate[] = { 0, 100, 300, 600, TY_THETA_ALL };
#define CANDIDATES (sizeof candidate / sizeof *candidate)

/* Of one rule.  Only the thread whose wait ends the epoch writes score, epochs
 * and `now`; it lets the next epoch begin by clearing count (release, pairs with
 * the acquire of the add that ends that one). */
static struct tuning {
	_Atomic uint32_t now;         /* candidate that is tried */
	_Atomic uint32_t count;       /* waits of this epoch */
	_Atomic uint64_t sum, square; /* of their lengths in units of 64 ns */
	uint64_t score[CANDIDATES];   /* variance of late, plus 1; 0: never tried */
	uint32_t epochs;
} tuning[TY_RULES];

uint32_t ty_threshold_theta(uint32_t rule, uint32_t configured)
{
	if (configured != TY_THETA_AUTO || rule >= TY_RULES)
		return configured;
	uint32_t now = LOAD(&tuning[rule].now);
	return candidate[now < CANDIDATES ? now : 0];
}

static uint32_t next(const struct tuning *t)
{
	uint32_t best = 0;
	for (uint32_t i = 0; i < CANDIDATES; i++) {
		if (!t->score[i])
			return i;
		if (t->score[i] < t->score[best])
			best = i;
	}
	if (t->epochs % TY_THETA_EXPLORE == 0)
		return t->epochs / TY_THETA_EXPLORE % CANDIDATES;
	return best;
}

static void end_epoch(struct tuning *t)
{
	uint64_t sum = atomic_exchange_explicit(&t->sum, 0, memory_order_relaxed);
	uint64_t square = atomic_exchange_explicit(&t->square, 0, memory_order_relaxed);
	uint64_t mean = sum / TY_THETA_EPOCH, var = square / TY_THETA_EPOCH;
	uint64_t *score = &t->score[LOAD(&t->now)];
	var = var > mean * mean ? var - mean * mean : 0;
	*score = *score ? *score - *score / 4 + var / 4 + 1 : var + 1;
	t->epochs++;
	STORE(&t->now, next(t));
	atomic_store_explicit(&t->count, 0, memory_order_release);
}

void ty_threshold_waited(uint32_t rule, uint64_t ns)
{
	if (rule >= TY_RULES)
		return;
	struct tuning *t = &tuning[rule];
	uint64_t units = ns >> 6 < 1u << 27 ? ns >> 6 : 1u << 27; /* 8.6 s: the sum of squares fits */
	uint32_t n = atomic_fetch_add_explicit(&t->count, 1, memory_order_acquire);
	if (n >= TY_THETA_EPOCH) /* between two epochs */
		return;
	atomic_fetch_add_explicit(&t->sum, units, memory_order_relaxed);
	atomic_fetch_add_explicit(&t->square, units * units, memory_order_relaxed);
	if (n == TY_THETA_EPOCH - 1)
		end_epoch(t);
}

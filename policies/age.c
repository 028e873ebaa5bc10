/* SPDX-License-Identifier: MIT
 * When the request that a thread works on came into the system.  Runs in the
 * traced process.
 *
 * By descriptor: a request is born with the first receive after an answer, and
 * whoever receives on that connection works on it.  It stays the thread's until
 * the next receive, for an answer may be sent in pieces; but once answered it
 * gives way to a hand-over.
 * By marker: born with tarry_request_begin, found again by its id in resume.  A
 * thread with an open marker looks at nothing else.
 * By idle site: born when the thread leaves a wait where requests end.
 *
 * An age only chooses among waiters.  Descriptors are relaxed: the program's own hand-over
 * of a descriptor or an id from thread to thread orders the words as well, and a
 * signal handler that receives between two stores leaves at worst an age that is
 * off until the next receive.  Copied by fork, as descriptors are. */
#include "policies/age.h"

#define FDS 65536u    /* larger numbers have no age */
#define ANSWERED 1u   /* lowest bit of a birth: somebody has sent since */
#define MARKERS 4096u /* open at a time; power of two */
#define PROBES 8u

static _Atomic uint64_t births[FDS]; /* ns; 0: no request yet */

/* Of the markers that are open.  key: CAS by begin, 0 by end, relaxed.  birth:
 * release by begin, which pairs with the acquire of birth_of: whoever sees the birth
 * of an id that took another's place finds that id's key behind it, so a birth
 * counts only if the key is the same before and after. */
static struct marker {
	_Atomic uint64_t key, birth;
} markers[MARKERS];

/* Whose request it is: kind in the lowest two bits, above them the descriptor
 * or the object of the hand-over. */
enum { NOBODY, MARKER, DESCRIPTOR, HANDED, KIND = 3 };
static __thread struct {
	uint64_t birth;
	uint64_t from;
} mine;

/* Constant after the constructor. */
static bool on;
static uint32_t kind_of_age;

static void set(uint64_t birth, uint64_t from)
{
	mine.birth = birth;
	mine.from = from;
}

static uint64_t birth_now(void)
{
	return ty_now() & ~(uint64_t)ANSWERED;
}

uint64_t ty_age(void)
{
	return mine.birth;
}

/* ---- descriptors ---- */

static bool open_request(int fd, uint64_t birth)
{
	return atomic_load_explicit(&births[fd], memory_order_relaxed) == birth;
}

void ty_age_received(int fd, bool accepted)
{
	if ((unsigned)fd >= FDS)
		return;
	uint64_t b = atomic_load_explicit(&births[fd], memory_order_relaxed);
	if (b == 0 || b & ANSWERED) {
		b = birth_now();
		atomic_store_explicit(&births[fd], b, memory_order_relaxed);
	}
	uint64_t kind = mine.from & KIND;
	if (kind == MARKER)
		return;
	/* what a peer answers to us while we work on a request is part of that */
	if (!accepted && (kind == HANDED || (kind == DESCRIPTOR && open_request((int)(mine.from >> 2), mine.birth))))
		return;
	set(b, (uint64_t)fd << 2 | DESCRIPTOR);
}

void ty_age_sent(int fd)
{
	if ((unsigned)fd >= FDS)
		return;
	uint64_t b = atomic_load_explicit(&births[fd], memory_order_relaxed);
	if (b != 0 && !(b & ANSWERED))
		atomic_store_explicit(&births[fd], b | ANSWERED, memory_order_relaxed);
}

void ty_age_opened(int fd, int copy_of)
{
	if ((unsigned)fd >= FDS || fd == copy_of)
		return;
	uint64_t b = 0;
	if (copy_of >= 0 && (unsigned)copy_of < FDS)
		b = atomic_load_explicit(&births[copy_of], memory_order_relaxed);
	atomic_store_explicit(&births[fd], b, memory_order_relaxed);
}

/* ---- hand-over, idle sites ---- */

static uint64_t handed_at(const void *object)
{
	return ((uint64_t)(uintptr_t)object & ~(uint64_t)KIND) | HANDED;
}

uint64_t ty_age_at(const void *object)
{
	if (mine.from == handed_at(object))
		set(0, NOBODY);
	return mine.birth;
}

void ty_age_given(const void *object, uint64_t age)
{
	if (!on || age == 0 || kind_of_age == TY_AGE_IDLE)
		return;
	uint64_t here = handed_at(object);
	switch (mine.from & KIND) {
	case MARKER:
		return;
	case DESCRIPTOR:
		if (open_request((int)(mine.from >> 2), mine.birth))
			return;
		break;
	case HANDED:
		if (mine.from != here)
			return;
		break;
	}
	set(age, here);
}

void ty_age_idle(void)
{
	if (on)
		set(0, NOBODY);
}

void ty_age_busy(void)
{
	if (on && kind_of_age == TY_AGE_IDLE)
		set(birth_now(), NOBODY);
}

/* ---- markers ---- */

static uint64_t key_of(uint64_t id)
{
	uint64_t key = ty_mix(id + 0x9e3779b97f4a7c15ULL); /* 0, the usual first id, is an id */
	return key ? key : 1;
}

static struct marker *find(uint64_t key)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		struct marker *m = &markers[(key + i) & (MARKERS - 1)];
		if (atomic_load_explicit(&m->key, memory_order_relaxed) == key)
			return m;
	}
	return NULL;
}

/* 0: not open.  An id that gave way to others is not open either. */
static uint64_t birth_of(uint64_t key)
{
	const struct marker *m = find(key);
	if (!m)
		return 0;
	uint64_t b = atomic_load_explicit(&m->birth, memory_order_acquire);
	return atomic_load_explicit(&m->key, memory_order_relaxed) == key ? b : 0;
}

/* A free place near its own, or that of the request that has been open longest:
 * its thread has gone without an end, or will do without. */
static void open_marker(uint64_t key, uint64_t birth)
{
	struct marker *to = find(key);
	for (uint32_t i = 0; !to && i < PROBES; i++) {
		struct marker *m = &markers[(key + i) & (MARKERS - 1)];
		uint64_t none = 0;
		if (atomic_compare_exchange_strong_explicit(&m->key, &none, key, memory_order_relaxed,
							    memory_order_relaxed))
			to = m;
	}
	if (!to) {
		to = &markers[key & (MARKERS - 1)];
		for (uint32_t i = 1; i < PROBES; i++) {
			struct marker *m = &markers[(key + i) & (MARKERS - 1)];
			if (atomic_load_explicit(&m->birth, memory_order_relaxed) <
			    atomic_load_explicit(&to->birth, memory_order_relaxed))
				to = m;
		}
		atomic_store_explicit(&to->key, key, memory_order_relaxed);
	}
	atomic_store_explicit(&to->birth, birth, memory_order_release);
}

static void drop(uint64_t birth)
{
	if (birth && (mine.from & KIND) == MARKER && mine.birth == birth)
		set(0, NOBODY);
}

void ty_age_mark(int what, uint64_t id)
{
	if (!on || kind_of_age == TY_AGE_IDLE)
		return;
	uint64_t key = key_of(id), birth;
	struct marker *m;
	switch (what) {
	case TY_MARK_BEGIN:
		birth = birth_now();
		open_marker(key, birth);
		set(birth, MARKER);
		break;
	case TY_MARK_RESUME:
		if ((birth = birth_of(key)))
			set(birth, MARKER);
		break;
	case TY_MARK_PAUSE:
		drop(birth_of(key));
		break;
	case TY_MARK_END:
		drop(birth_of(key));
		if ((m = find(key)))
			atomic_store_explicit(&m->key, 0, memory_order_relaxed);
		break;
	}
}

void ty_age_start(const struct ty_order_conf *conf)
{
	for (uint32_t i = 0; i < conf->rules && i < TY_RULES; i++) {
		uint32_t order = conf->rule[i].order;
		on |= order != TY_ORDER_native && order != TY_ORDER_fcfs && order != TY_ORDER_random;
	}
	kind_of_age = conf->age;
	if (on && kind_of_age == TY_AGE_REQUEST)
		ty_age_calls_start();
}

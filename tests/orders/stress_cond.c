/* SPDX-License-Identifier: MIT
 *
 * Condition variables under stress.  True at the end of a phase: all permits are
 * back and no ticket is left, what went into the queue came out of it once, no
 * gate is half full.
 */
#include "stress.h"
#include <threads.h>

/* ---- permits: fewer than threads; who gives one back wakes one.  A pool for each kind of mutex ---- */
#define PERMITS 2

static struct pool {
	pthread_mutex_t lock;
	pthread_cond_t back;
	unsigned free, owner[PERMITS]; /* 0: free */
} pools[KINDS];

static unsigned take_permit(struct pool *p, unsigned me)
{
	unsigned i = 0;
	CHECK(p->free > 0);
	while (p->owner[i])
		CHECK(++i < PERMITS);
	p->owner[i] = me;
	p->free--;
	return i;
}

static void give_permit(struct pool *p, unsigned me, unsigned i)
{
	CHECK(p->owner[i] == me);
	p->owner[i] = 0;
	CHECK(++p->free <= PERMITS);
}

static void permit(struct worker *w)
{
	struct pool *p = &pools[random_next(&w->random) % KINDS];
	IS_OK(pthread_mutex_lock(&p->lock));
	while (!p->free)
		IS_OK(pthread_cond_wait(&p->back, &p->lock));
	unsigned i = take_permit(p, w->id);
	IS_OK(pthread_mutex_unlock(&p->lock));
	dawdle(w);
	IS_OK(pthread_mutex_lock(&p->lock));
	give_permit(p, w->id, i);
	bool inside = one_in(w, 2);
	if (inside)
		IS_OK(pthread_cond_signal(&p->back));
	IS_OK(pthread_mutex_unlock(&p->lock));
	if (!inside)
		IS_OK(pthread_cond_signal(&p->back));
}

/* Its deadline may come first; then it must not have taken a wake-up along. */
static void permit_timed(struct worker *w)
{
	struct pool *p = &pools[random_next(&w->random) % KINDS];
	clockid_t clock = one_in(w, 2) ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	struct timespec until = soon(w, clock);
	int e = 0;
	IS_OK(pthread_mutex_lock(&p->lock));
	while (!p->free && e == 0) /* of the pool's condition variable the clock is REALTIME */
		e = clock == CLOCK_REALTIME && one_in(w, 2) ? pthread_cond_timedwait(&p->back, &p->lock, &until) :
							     pthread_cond_clockwait(&p->back, &p->lock, clock, &until);
	CHECK(e == 0 || (e == ETIMEDOUT && has_come(clock, &until)));
	if (p->free) {
		unsigned i = take_permit(p, w->id);
		IS_OK(pthread_mutex_unlock(&p->lock));
		dawdle(w);
		IS_OK(pthread_mutex_lock(&p->lock));
		give_permit(p, w->id, i);
		IS_OK(pthread_cond_signal(&p->back));
	}
	IS_OK(pthread_mutex_unlock(&p->lock));
}

static void unlock_pool(void *p)
{
	struct pool *q = p;
	IS_OK(pthread_mutex_unlock(&q->lock)); /* it checks that it is ours */
}

void *cancelled_permit(void *unused)
{
	struct pool *p = &pools[CHECKING];
	(void)unused;
	IS_OK(pthread_mutex_lock(&p->lock));
	pthread_cleanup_push(unlock_pool, p);
	while (!p->free)
		IS_OK(pthread_cond_wait(&p->back, &p->lock));
	pthread_cleanup_pop(0);
	unsigned i = take_permit(p, WORKERS + 1); /* from here on no cancellation point */
	IS_OK(pthread_mutex_unlock(&p->lock));
	IS_OK(pthread_mutex_lock(&p->lock));
	give_permit(p, WORKERS + 1, i);
	IS_OK(pthread_cond_signal(&p->back));
	IS_OK(pthread_mutex_unlock(&p->lock));
	return NULL;
}

/* ---- permits that are never free while somebody waits: each wake-up is for exactly one ticket, so none may be lost ---- */
#define BOOTHS 3

static struct booth {
	pthread_mutex_t lock;
	pthread_cond_t called;
	unsigned free, waiting, tickets;
} booths[BOOTHS];

static bool take_ticket(struct booth *b, const struct timespec *until)
{
	int e = 0;
	if (b->free && !b->waiting) {
		b->free--;
		return true;
	}
	b->waiting++;
	while (!b->tickets && e == 0)
		e = until ? pthread_cond_clockwait(&b->called, &b->lock, CLOCK_MONOTONIC, until) :
			    pthread_cond_wait(&b->called, &b->lock);
	CHECK(e == 0 || (until && e == ETIMEDOUT && has_come(CLOCK_MONOTONIC, until)));
	b->waiting--;
	if (!b->tickets)
		return false;
	b->tickets--;
	return true;
}

static void give_ticket(struct booth *b)
{
	CHECK(b->free + b->tickets < PERMITS);
	if (b->waiting > b->tickets) {
		b->tickets++;
		IS_OK(pthread_cond_signal(&b->called));
	} else {
		b->free++;
	}
}

static void ticket_until(struct worker *w, const struct timespec *until)
{
	struct booth *b = &booths[random_next(&w->random) % BOOTHS];
	IS_OK(pthread_mutex_lock(&b->lock));
	bool got = take_ticket(b, until);
	IS_OK(pthread_mutex_unlock(&b->lock));
	if (!got)
		return;
	dawdle(w);
	IS_OK(pthread_mutex_lock(&b->lock));
	give_ticket(b);
	IS_OK(pthread_mutex_unlock(&b->lock));
}

static void ticket(struct worker *w) { ticket_until(w, NULL); }

static void ticket_timed(struct worker *w)
{
	struct timespec until = soon(w, CLOCK_MONOTONIC);
	ticket_until(w, &until);
}

/* ---- a queue of few places; its marks are different numbers ---- */
#define PLACES 5

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	uint64_t mark[PLACES], next, in_sum, out_sum, in, out;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .emptied = PTHREAD_COND_INITIALIZER};

static void put(struct worker *w)
{
	IS_OK(pthread_mutex_lock(&queue.lock));
	while (queue.in - queue.out == PLACES)
		IS_OK(pthread_cond_wait(&queue.emptied, &queue.lock));
	uint64_t mark = ++queue.next * 0x9e3779b97f4a7c15ULL;
	queue.mark[queue.in++ % PLACES] = mark;
	queue.in_sum ^= mark;
	if (one_in(w, 8))
		IS_OK(pthread_cond_broadcast(&queue.filled));
	else
		IS_OK(pthread_cond_signal(&queue.filled));
	IS_OK(pthread_mutex_unlock(&queue.lock));
}

static bool take(const struct timespec *until)
{
	int e = 0;
	IS_OK(pthread_mutex_lock(&queue.lock));
	while (queue.in == queue.out && e == 0)
		e = until ? pthread_cond_timedwait(&queue.filled, &queue.lock, until) :
			    pthread_cond_wait(&queue.filled, &queue.lock);
	CHECK(e == 0 || (e == ETIMEDOUT && until && has_come(CLOCK_REALTIME, until)));
	bool got = queue.in != queue.out;
	if (got) {
		queue.out_sum ^= queue.mark[queue.out++ % PLACES];
		IS_OK(pthread_cond_signal(&queue.emptied));
	}
	IS_OK(pthread_mutex_unlock(&queue.lock));
	return got;
}

/* For every mark there is a thread that will take one, so nobody waits for ever. */
static void queue_put_take(struct worker *w)
{
	put(w);
	dawdle(w);
	take(NULL);
}

static void queue_take_put(struct worker *w)
{
	struct timespec until = soon(w, CLOCK_REALTIME);
	if (take(&until)) {
		dawdle(w);
		put(w);
	}
}

/* ---- gates: four threads go through together ---- */
#define GATES 3
#define TOGETHER 4

static struct gate {
	pthread_mutex_t lock;
	pthread_cond_t open;
	unsigned waiting;
	uint64_t times, through;
	bool closing;
} gates[GATES];

static void gate(struct worker *w)
{
	struct gate *g = &gates[random_next(&w->random) % GATES];
	IS_OK(pthread_mutex_lock(&g->lock));
	uint64_t times = g->times;
	if (++g->waiting == TOGETHER) {
		g->waiting = 0;
		g->times++;
		IS_OK(pthread_cond_broadcast(&g->open));
	}
	while (g->times == times && !g->closing)
		IS_OK(pthread_cond_wait(&g->open, &g->lock));
	if (g->times == times)
		g->waiting--;
	else
		g->through++;
	IS_OK(pthread_mutex_unlock(&g->lock));
}

/* ---- deadlines on a condition variable that nobody signals, and wrong ones ---- */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t monotonic, realtime;
} never = {.lock = PTHREAD_MUTEX_INITIALIZER, .realtime = PTHREAD_COND_INITIALIZER};

static void deadline(struct worker *w)
{
	bool monotonic = one_in(w, 2);
	clockid_t clock = monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME;
	pthread_cond_t *c = monotonic ? &never.monotonic : &never.realtime;
	struct timespec until = one_in(w, 4) ? (struct timespec){1, 0} : soon(w, clock);
	struct timespec wrong = {until.tv_sec, 1000000000};
	int e = 0;
	IS_OK(pthread_mutex_lock(&never.lock));
	CHECK(pthread_cond_timedwait(c, &never.lock, &wrong) == EINVAL);
	CHECK(pthread_cond_clockwait(c, &never.lock, CLOCK_PROCESS_CPUTIME_ID, &until) == EINVAL);
	while (e == 0)
		e = pthread_cond_timedwait(c, &never.lock, &until);
	CHECK(e == ETIMEDOUT && has_come(clock, &until));
	IS_OK(pthread_mutex_unlock(&never.lock));
}

/* ---- permits once more, with C11's names ---- */
static struct {
	mtx_t lock;
	cnd_t back;
	unsigned free;
} c11 = {.free = PERMITS};

static void permit_c11(struct worker *w)
{
	CHECK(mtx_lock(&c11.lock) == thrd_success);
	bool timed = one_in(w, 2);
	struct timespec until = soon(w, CLOCK_REALTIME);
	int rc = thrd_success;
	while (!c11.free && rc == thrd_success)
		rc = timed ? cnd_timedwait(&c11.back, &c11.lock, &until) : cnd_wait(&c11.back, &c11.lock);
	CHECK(rc == thrd_success || (timed && rc == thrd_timedout && has_come(CLOCK_REALTIME, &until)));
	if (c11.free) {
		c11.free--;
		CHECK(mtx_unlock(&c11.lock) == thrd_success);
		dawdle(w);
		CHECK(mtx_lock(&c11.lock) == thrd_success);
		CHECK(++c11.free <= PERMITS);
		CHECK((one_in(w, 8) ? cnd_broadcast : cnd_signal)(&c11.back) == thrd_success);
	}
	CHECK(mtx_unlock(&c11.lock) == thrd_success);
}

/* ---- phases ---- */
void cond_open(void)
{
	pthread_condattr_t a;
	pthread_condattr_init(&a);
	for (enum kind k = 0; k < KINDS; k++) {
		IS_OK(pthread_condattr_setpshared(&a, k == SHARED ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE));
		IS_OK(pthread_cond_init(&pools[k].back, &a));
		init_mutex(&pools[k].lock, k);
		pools[k].free = PERMITS;
	}
	for (unsigned i = 0; i < BOOTHS; i++) {
		pthread_mutex_init(&booths[i].lock, NULL);
		pthread_cond_init(&booths[i].called, NULL);
		booths[i].free = PERMITS;
	}
	for (unsigned i = 0; i < GATES; i++) {
		pthread_mutex_init(&gates[i].lock, NULL);
		pthread_cond_init(&gates[i].open, NULL);
	}
	IS_OK(pthread_condattr_setpshared(&a, PTHREAD_PROCESS_PRIVATE));
	IS_OK(pthread_condattr_setclock(&a, CLOCK_MONOTONIC));
	IS_OK(pthread_cond_init(&never.monotonic, &a));
	CHECK(mtx_init(&c11.lock, mtx_plain) == thrd_success);
	CHECK(cnd_init(&c11.back) == thrd_success);
}

void cond_phase(void)
{
	for (unsigned i = 0; i < GATES; i++)
		gates[i].closing = false;
}

void cond_close(void)
{
	for (unsigned i = 0; i < GATES; i++) {
		IS_OK(pthread_mutex_lock(&gates[i].lock));
		gates[i].closing = true;
		IS_OK(pthread_mutex_unlock(&gates[i].lock));
		IS_OK(pthread_cond_broadcast(&gates[i].open));
	}
}

void cond_check(void)
{
	for (enum kind k = 0; k < KINDS; k++)
		CHECK(pools[k].free == PERMITS);
	for (unsigned i = 0; i < BOOTHS; i++)
		CHECK(booths[i].free == PERMITS && !booths[i].waiting && !booths[i].tickets);
	CHECK(c11.free == PERMITS);
	CHECK(queue.in == queue.out && queue.in_sum == queue.out_sum);
	for (unsigned i = 0; i < GATES; i++)
		CHECK(gates[i].waiting == 0 && gates[i].through == TOGETHER * gates[i].times);
}

const struct operation cond_operations[] = {
	{"permit", permit, 12},
	{"permit_timed", permit_timed, 6},
	{"permit_c11", permit_c11, 6},
	{"ticket", ticket, 12},
	{"ticket_timed", ticket_timed, 4},
	{"queue_put_take", queue_put_take, 8},
	{"queue_take_put", queue_take_put, 4},
	{"gate", gate, 6},
	{"deadline", deadline, 2},
	{NULL, NULL, 0}};

/* SPDX-License-Identifier: MIT
 *
 * Everything an order can wait for.  Each kind of wait stands in a function of
 * its own, which is not inlined, so that it shows in call paths, and each calls
 * another primitive of the system:
 *   price_lookup  a mutex, now and then held for long by price_update
 *   lock_row      row locks: a flag per row, a condition variable for many rows
 *   stock_wait    a futex through syscall(): waits until the warehouse delivers
 *   payment_slot  a semaphore: the bank allows so many calls at a time
 *   payment_call  the bank's answer (a sleep)
 *   wal_append    the log's mutex and write()
 *   wal_flush     fdatasync() with group commit: one flushes for all
 * Runs in the service's process; must stay true: no wait outside WAITED().
 */
#include "orders.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define ROW_CONDS 4
#define STOCK_FULL 60

static struct {
	pthread_mutex_t lock;
	unsigned price[ITEMS];
} prices = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t freed[ROW_CONDS]; /* rows share these: a wake-up may be for another row */
	bool taken[ROWS];
} rows = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
	_Atomic int left[ITEMS];
	_Atomic uint32_t deliveries[ITEMS]; /* the futex words */
	_Atomic bool closing;
	uint64_t random;
	pthread_t warehouse;
} stock;

static struct {
	int fd;
	pthread_mutex_t lock; /* appends, one at a time */
	uint64_t end;
	pthread_mutex_t flush_lock;
	pthread_cond_t flushed;
	uint64_t stable; /* bytes known to be on disk */
	bool flushing;
} wal = {.lock = PTHREAD_MUTEX_INITIALIZER,
	 .flush_lock = PTHREAD_MUTEX_INITIALIZER, .flushed = PTHREAD_COND_INITIALIZER};

static sem_t bank;

static void doze(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

uint64_t rnd_seed(uint64_t seed, uint64_t stream)
{
	uint64_t s = seed * 0x9e3779b97f4a7c15ULL ^ (stream + 1) * 0xbf58476d1ce4e5b9ULL;
	for (int i = 0; i < 8; i++)
		s = s ? rnd(&s) : 1;
	return s ? s : 1;
}

uint64_t rnd_exp_ns(uint64_t *s, double mean_ns, double max_ns)
{
	double v = -log(rnd_unit(s)) * mean_ns;
	return (uint64_t)(v < max_ns ? v : max_ns);
}

NOINLINE unsigned price_lookup(unsigned item)
{
	WAITED(W_price_lookup, pthread_mutex_lock(&prices.lock));
	unsigned p = prices.price[item];
	pthread_mutex_unlock(&prices.lock);
	return p;
}

/* The slow holder: asks somebody else for the price with the lock held. */
NOINLINE void price_update(unsigned item, uint64_t *random)
{
	uint64_t ns = 2000000 + rnd_exp_ns(random, 3e6, 12e6);
	struct timespec t = {0, (long)ns};
	WAITED(W_price_update, pthread_mutex_lock(&prices.lock));
	while (WAITED(W_price_update, nanosleep(&t, &t)) != 0 && errno == EINTR)
		;
	prices.price[item] = 100 + (unsigned)(rnd(random) % 900);
	pthread_mutex_unlock(&prices.lock);
}

NOINLINE void lock_row(unsigned row)
{
	WAITED(W_lock_row, pthread_mutex_lock(&rows.lock));
	while (rows.taken[row])
		WAITED(W_lock_row, pthread_cond_wait(&rows.freed[row % ROW_CONDS], &rows.lock));
	rows.taken[row] = true;
	pthread_mutex_unlock(&rows.lock);
}

NOINLINE void unlock_row(unsigned row)
{
	WAITED(W_unlock_row, pthread_mutex_lock(&rows.lock));
	rows.taken[row] = false;
	pthread_cond_broadcast(&rows.freed[row % ROW_CONDS]);
	pthread_mutex_unlock(&rows.lock);
}

static bool stock_take(unsigned item, int quantity)
{
	int left = atomic_load(&stock.left[item]);
	while (left >= quantity)
		if (atomic_compare_exchange_weak(&stock.left[item], &left, left - quantity))
			return true;
	return false;
}

NOINLINE void stock_wait(unsigned item, unsigned quantity)
{
	for (;;) {
		uint32_t seen = atomic_load(&stock.deliveries[item]);
		if (stock_take(item, (int)quantity))
			return;
		WAITED(W_stock_wait, syscall(SYS_futex, &stock.deliveries[item], FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0));
	}
}

/* Fills shelves that have run low, at random times. */
static void *warehouse(void *arg)
{
	(void)arg;
	while (!atomic_load(&stock.closing)) {
		doze(2000000 + rnd_exp_ns(&stock.random, 6e6, 30e6));
		for (unsigned i = 0; i < ITEMS; i++) {
			if (atomic_load(&stock.left[i]) >= STOCK_FULL / 20)
				continue;
			atomic_fetch_add(&stock.left[i], STOCK_FULL);
			atomic_fetch_add(&stock.deliveries[i], 1);
			syscall(SYS_futex, &stock.deliveries[i], FUTEX_WAKE_PRIVATE, CONNECTIONS_MAX, NULL, NULL, 0);
		}
	}
	return NULL;
}

NOINLINE void payment_slot(void)
{
	while (WAITED(W_payment_slot, sem_wait(&bank)) != 0 && errno == EINTR)
		;
}

NOINLINE void payment_call(uint64_t *random)
{
	struct timespec t = {0, (long)rnd_exp_ns(random, 7e5, 8e6)};
	while (WAITED(W_payment_call, nanosleep(&t, &t)) != 0 && errno == EINTR)
		;
}

void payment_done(void)
{
	sem_post(&bank);
}

NOINLINE uint64_t wal_append(const struct order *o, unsigned price)
{
	char record[64];
	int n = snprintf(record, sizeof record, "order row %u item %u quantity %u price %u\n", o->row, o->item,
			 o->quantity, price);
	WAITED(W_wal_append, pthread_mutex_lock(&wal.lock));
	if (WAITED(W_wal_append, write(wal.fd, record, (size_t)n)) != n) {
		perror("orders: write-ahead log");
		exit(1);
	}
	uint64_t end = wal.end += (uint64_t)n;
	pthread_mutex_unlock(&wal.lock);
	return end;
}

NOINLINE void wal_flush(uint64_t position)
{
	WAITED(W_wal_flush, pthread_mutex_lock(&wal.flush_lock));
	while (wal.stable < position) {
		if (wal.flushing) {
			WAITED(W_wal_flush, pthread_cond_wait(&wal.flushed, &wal.flush_lock));
			continue;
		}
		wal.flushing = true; /* this thread flushes for all that have appended by now */
		pthread_mutex_unlock(&wal.flush_lock);
		WAITED(W_wal_flush, pthread_mutex_lock(&wal.lock));
		uint64_t end = wal.end;
		pthread_mutex_unlock(&wal.lock);
		if (WAITED(W_wal_flush, fdatasync(wal.fd)) != 0) {
			perror("orders: write-ahead log");
			exit(1);
		}
		WAITED(W_wal_flush, pthread_mutex_lock(&wal.flush_lock));
		wal.stable = end;
		wal.flushing = false;
		pthread_cond_broadcast(&wal.flushed);
	}
	pthread_mutex_unlock(&wal.flush_lock);
}

int shop_open(const char *dir, uint64_t seed, unsigned slots)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/orders-wal.XXXXXX", dir);
	wal.fd = mkostemp(path, O_CLOEXEC | O_APPEND);
	if (wal.fd < 0)
		return -1;
	unlink(path);
	for (unsigned i = 0; i < ROW_CONDS; i++)
		pthread_cond_init(&rows.freed[i], NULL);
	for (unsigned i = 0; i < ITEMS; i++) {
		prices.price[i] = 100 + 7 * i;
		stock.left[i] = STOCK_FULL;
	}
	sem_init(&bank, 0, slots);
	stock.random = rnd_seed(seed, 1u << 20);
	errno = pthread_create(&stock.warehouse, NULL, warehouse, NULL);
	return errno ? -1 : 0;
}

void shop_close(void)
{
	atomic_store(&stock.closing, true);
	pthread_join(stock.warehouse, NULL);
	sem_destroy(&bank);
	close(wal.fd);
}

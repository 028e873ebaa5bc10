/* SPDX-License-Identifier: MIT
 *
 * Transactions on a table of counters, in two phases: all locks are taken before
 * the first is given back, and all are held until the commit.  They are taken in
 * the order of the objects' numbers, so that nobody can wait in a circle.
 *
 * Reading an object and committing take as long as a device would take, which is
 * slept: the processors are free for the others meanwhile.
 *
 * A counter is read when its lock is taken and written at the commit.  Two
 * holders of one lock would therefore lose an addition, and the clients count.
 */
#include "lockmanager.h"
#include <errno.h>
#include <stdlib.h>

static struct {
	struct table_plan plan;
	uint64_t counter[OBJECTS_MAX]; /* each under its lock */
} table;

void table_open(const struct table_plan *plan)
{
	table.plan = *plan;
	locks_open(plan->objects);
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

static __attribute__((noinline)) void device(double mean_ns, uint64_t *random)
{
	if (mean_ns <= 0)
		return;
	struct timespec t = timespec_of((uint64_t)random_exponential(random, mean_ns));
	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

static int by_number(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
	return (x > y) - (x < y);
}

static bool lock_patiently(unsigned object)
{
	if (!table.plan.patience_ns)
		return lock_object(object, NULL);
	struct timespec until = timespec_of(now_ns() + table.plan.patience_ns);
	return lock_object(object, &until);
}

bool table_add(unsigned *object, unsigned n, uint64_t *random)
{
	uint64_t read[LOCKS_MAX];
	unsigned held = 0;
	qsort(object, n, sizeof *object, by_number);
	while (held < n && lock_patiently(object[held])) {
		read[held] = table.counter[object[held]];
		held++;
		device(table.plan.access_ns, random);
	}
	if (held == n) {
		device(table.plan.commit_ns, random);
		for (unsigned i = 0; i < n; i++)
			table.counter[object[i]] = read[i] + 1;
	}
	for (unsigned i = 0; i < held; i++)
		unlock_object(object[i]);
	return held == n;
}

uint64_t table_count(unsigned object)
{
	lock_object(object, NULL);
	uint64_t n = table.counter[object];
	unlock_object(object);
	return n;
}

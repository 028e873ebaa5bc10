/* SPDX-License-Identifier: MIT
 *
 * The lock manager, as many programs have it: for each object a flag and a
 * condition variable on which all wait who want it; whoever lets it go wakes
 * one.  A mutex covers the flags of several objects.  A thread that comes by
 * between the wake-up and the woken thread's turn takes the object first, and
 * the woken one waits again.
 *
 * True at all times: an object has one holder at most.
 */
#include "lockmanager.h"
#include <pthread.h>
#include <stdlib.h>

#define BUCKETS 16

static struct {
	pthread_mutex_t lock[BUCKETS];
	struct {
		pthread_cond_t freed;
		bool taken;
	} *object;
} locks;

void locks_open(unsigned objects)
{
	locks.object = calloc(objects, sizeof *locks.object);
	if (!locks.object)
		abort();
	for (unsigned i = 0; i < objects; i++)
		pthread_cond_init(&locks.object[i].freed, NULL);
	for (unsigned i = 0; i < BUCKETS; i++)
		pthread_mutex_init(&locks.lock[i], NULL);
}

bool lock_object(unsigned object, const struct timespec *until)
{
	pthread_mutex_t *lock = &locks.lock[object % BUCKETS];
	pthread_cond_t *freed = &locks.object[object].freed;
	int error = 0;
	pthread_mutex_lock(lock);
	while (locks.object[object].taken && error == 0)
		error = until ? pthread_cond_clockwait(freed, lock, CLOCK_MONOTONIC, until) : pthread_cond_wait(freed, lock);
	bool got = !locks.object[object].taken;
	if (got)
		locks.object[object].taken = true;
	pthread_mutex_unlock(lock);
	return got;
}

void unlock_object(unsigned object)
{
	pthread_mutex_t *lock = &locks.lock[object % BUCKETS];
	pthread_mutex_lock(lock);
	locks.object[object].taken = false;
	pthread_cond_signal(&locks.object[object].freed);
	pthread_mutex_unlock(lock);
}

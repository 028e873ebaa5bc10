/* SPDX-License-Identifier: MIT
 * The cheapest preload there can be: forwards lock and unlock and does nothing
 * else.  What tarry's uncontended path is compared with. */
#include <dlfcn.h>
#include <pthread.h>

static int (*real_lock)(pthread_mutex_t *), (*real_unlock)(pthread_mutex_t *);

__attribute__((constructor)) static void start(void)
{
	real_lock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
	real_unlock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
}

int pthread_mutex_lock(pthread_mutex_t *m) { return real_lock ? real_lock(m) : 0; }
int pthread_mutex_unlock(pthread_mutex_t *m) { return real_unlock ? real_unlock(m) : 0; }

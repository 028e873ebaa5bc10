/* SPDX-License-Identifier: MIT
 * Every unlock comes past the library: the function is libc's own.  Each thread
 * queues again and again, so somebody is always there whom nobody wakes. */
#include "gate.h"

#include <dlfcn.h>

enum { GUESTS = 6, ROUNDS = 100 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int (*unlock)(pthread_mutex_t *m);
static int inside;

static void rounds(struct guest *g)
{
	here(g);
	for (int i = 0; i < ROUNDS; i++) {
		IS(pthread_mutex_lock(&m), 0);
		inside++;
		sched_yield();
		IS(unlock(&m), 0);
	}
}

int main(void)
{
	static struct guest guest[GUESTS];
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	CHECK(libc);
	*(void **)&unlock = dlsym(libc, "pthread_mutex_unlock");
	CHECK(unlock);
	IS(pthread_mutex_lock(&m), 0);
	for (int i = 0; i < GUESTS; i++)
		invite(&guest[i], rounds, NULL, i);
	IS(unlock(&m), 0);
	for (int i = 0; i < GUESTS; i++)
		farewell(&guest[i]);
	IS(inside, GUESTS * ROUNDS);
	puts("ok");
	return 0;
}

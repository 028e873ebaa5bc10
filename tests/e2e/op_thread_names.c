/* SPDX-License-Identifier: MIT
 * Threads carry their names, also those that they gave themselves. */
#include "e2e.h"

static int fd;
static pthread_barrier_t all;

static void *body(void *name)
{
	CHECK(pthread_setname_np(pthread_self(), name) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(fsync(fd) == 0);
	pthread_barrier_wait(&all); /* nobody ends before its name could be read */
	pthread_barrier_wait(&all);
	return NULL;
}

int main(void)
{
	static char *const names[] = {"acceptor", "purge", "log-writer", "worker-7", "flusher"};
	pthread_t t[5];
	struct timespec nap = {0, 300000000}; /* names are read now and then, not at once */
	fd = scratch_file();
	CHECK(pthread_barrier_init(&all, NULL, 6) == 0);
	for (int i = 0; i < 5; i++)
		CHECK(pthread_create(&t[i], NULL, body, names[i]) == 0);
	pthread_barrier_wait(&all);
	nanosleep(&nap, NULL);
	pthread_barrier_wait(&all);
	for (int i = 0; i < 5; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	for (int i = 0; i < 5; i++)
		printf("expect store thread %s\n", names[i]);
	expect("fsync", "waits", 15);
	expect("store", "threads", 6);
	return 0;
}

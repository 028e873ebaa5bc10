/* SPDX-License-Identifier: MIT
 * usage: many threads N | processes N.  Each waits seven times, all at once. */
#include "e2e.h"
#include <sys/wait.h>

static int fd;
static pthread_barrier_t all;

static NOINLINE void seven(void)
{
	for (int i = 0; i < 7; i++)
		CHECK(fdatasync(fd) == 0);
}
static void *body(void *p)
{
	pthread_barrier_wait(&all); /* all are alive at the same time */
	seven();
	return p;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 0;
	CHECK(n > 0);
	fd = open("/dev/shm", O_TMPFILE | O_RDWR, 0600); /* in memory: the number matters here, not the disk */
	if (fd < 0)
		fd = scratch_file();
	if (argv[1][0] == 't') {
		pthread_t *t = calloc((size_t)n, sizeof *t);
		pthread_attr_t a;
		pthread_attr_init(&a);
		pthread_attr_setstacksize(&a, 65536);
		pthread_barrier_init(&all, NULL, (unsigned)n + 1);
		for (int i = 0; i < n; i++)
			CHECK(pthread_create(&t[i], &a, body, NULL) == 0);
		raw(SYS_nanosleep, (long)&(struct timespec){0, 100000000}, 0, 0); /* the recorder learns of all of them */
		pthread_barrier_wait(&all);
		for (int i = 0; i < n; i++)
			CHECK(pthread_join(t[i], NULL) == 0);
		expect("fdatasync", "waits", 7 * n);
		expect("fdatasync", "path seven", 7 * n);
		expect("pthread_barrier_wait", "waits", n + 1);
		expect("store", "threads", n + 1);
	} else {
		for (int i = 0; i < n; i++) {
			pid_t pid = fork();
			CHECK(pid >= 0);
			if (pid == 0) {
				seven();
				_exit(0);
			}
		}
		for (int i = 0; i < n; i++) {
			int status;
			CHECK(wait(&status) > 0 && status == 0);
		}
		expect("fdatasync", "waits", 7 * n);
		expect("fdatasync", "path seven", 7 * n);
		expect("store", "processes", n + 1);
	}
	return 0;
}

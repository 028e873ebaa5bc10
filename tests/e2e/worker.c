/* SPDX-License-Identifier: MIT
 * usage: worker [ROUNDS].  Some waits of several kinds in several threads and
 * in a child; prints the same every time and exits with 3. */
#include "e2e.h"
#include <sys/wait.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static long turns, rounds = 200;
static int fd;

static void *body(void *p)
{
	long me = (long)p;
	for (long i = 0; i < rounds; i++) {
		pthread_mutex_lock(&m);
		while (turns % 4 != me)
			pthread_cond_wait(&c, &m);
		turns++;
		pthread_cond_broadcast(&c);
		pthread_mutex_unlock(&m);
	}
	return p;
}

int main(int argc, char **argv)
{
	pthread_t t[4];
	int status;
	if (argc > 1)
		rounds = atol(argv[1]);
	fd = scratch_file();
	for (long i = 0; i < 4; i++)
		CHECK(pthread_create(&t[i], NULL, body, (void *)i) == 0);
	for (int i = 0; i < 23; i++)
		CHECK(fsync(fd) == 0);
	for (long i = 0; i < 4; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(turns == 4 * rounds);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 7; i++)
			CHECK(fdatasync(fd) == 0);
		_exit(5);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5);
	CHECK(waitpid(-1, &status, 0) == -1 && errno == ECHILD); /* no child but ours */
	printf("%ld turns\nexpect fsync waits 23\nexpect fdatasync waits 7\nexpect pthread_join waits 4\n", turns);
	fflush(stdout);
	return 3;
}

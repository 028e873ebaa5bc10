/* SPDX-License-Identifier: MIT
   A host that may not open, grow or lock anything any more: nothing of ours may
   need it, and no signal such as SIGXFSZ may come. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s errno %d\n", __LINE__, #c, errno); exit(1); } } while (0)
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void *work(void *p)
{
	for (int i = 0; i < 20000; i++) {
		pthread_mutex_lock(&m);
		sum++;
		pthread_mutex_unlock(&m);
	}
	usleep(1000);
	return p;
}
static void limit(int what, rlim_t n)
{
	struct rlimit r;
	getrlimit(what, &r);
	r.rlim_cur = n < r.rlim_max ? n : r.rlim_max;
	CHECK(setrlimit(what, &r) == 0);
}

int main(void)
{
	pthread_t t[8];
	int fd = open("/dev/null", O_WRONLY), status;
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_NOFILE, (rlim_t)fd + 1);
	limit(RLIMIT_MEMLOCK, 0);
	limit(RLIMIT_CORE, 0);
	for (int i = 0; i < 8; i++)
		CHECK(pthread_create(&t[i], NULL, work, NULL) == 0);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	CHECK(sum == 160000);
	CHECK(open("/dev/null", O_RDONLY) == -1 && errno == EMFILE);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		for (int i = 0; i < 100; i++)
			usleep(10);
		_exit(7);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	limit(RLIMIT_FSIZE, RLIM_INFINITY); /* for the next line */
	puts("ok");
	return 0;
}

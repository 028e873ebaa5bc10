/* SPDX-License-Identifier: MIT
   A host that goes into an empty root and gives up its user before its threads
   start (as root; otherwise it only forks). */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s errno %d\n", __LINE__, #c, errno); exit(1); } } while (0)
#include <grp.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <dirent.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *p)
{
	for (int i = 0; i < 300; i++) {
		pthread_mutex_lock(&m);
		usleep(10);
		pthread_mutex_unlock(&m);
	}
	return p;
}

int main(void)
{
	char jail[] = "/tmp/hz29.XXXXXX";
	int status;
	CHECK(mkdtemp(jail) && chmod(jail, 0777) == 0);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		if (getuid() == 0) {
			CHECK(chroot(jail) == 0 && chdir("/") == 0);
			CHECK(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
		}
		pthread_t t[4];
		for (int i = 0; i < 4; i++)
			CHECK(pthread_create(&t[i], NULL, work, NULL) == 0);
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
		pid_t grand = fork();
		if (grand == 0) {
			for (int i = 0; i < 20; i++)
				usleep(10);
			_exit(0);
		}
		CHECK(grand > 0 && waitpid(grand, &status, 0) == grand && status == 0);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(rmdir(jail) == 0); /* nothing was left in there */
	puts("ok");
	return 0;
}

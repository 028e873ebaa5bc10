/* SPDX-License-Identifier: MIT
   The host closes everything it did not open itself and gets the numbers again:
   nothing of ours may be read from or written to its files. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s errno %d\n", __LINE__, #c, errno); exit(1); } } while (0)
#include <fcntl.h>
#include <pthread.h>

static void *waits(void *p)
{
	for (int i = 0; i < 200; i++)
		usleep(200);
	return p;
}

int main(void)
{
	pthread_t t[4];
	char path[] = "/tmp/hz08.XXXXXX", buf[64];
	CHECK(pthread_create(&t[0], NULL, waits, NULL) == 0);
	usleep(5000);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	for (int i = 1; i < 4; i++)
		CHECK(pthread_create(&t[i], NULL, waits, NULL) == 0);
	int fd = mkstemp(path);
	CHECK(fd == 3);
	unlink(path);
	for (int i = 4; i < 60; i++)
		CHECK(dup2(fd, i) == i);
	CHECK(pwrite(fd, "host data", 9, 0) == 9);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (int i = 3; i < 60; i++) {
		memset(buf, 0, sizeof buf);
		CHECK(pread(i, buf, sizeof buf, 0) == 9 && memcmp(buf, "host data", 9) == 0);
	}
	CHECK(lseek(fd, 0, SEEK_END) == 9);
	puts("ok");
	return 0;
}

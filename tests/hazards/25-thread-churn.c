/* SPDX-License-Identifier: MIT
   Many short threads, one after the other: no memory, mapping or descriptor may
   be left for each. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s errno %d\n", __LINE__, #c, errno); exit(1); } } while (0)
#include <dirent.h>
#include <pthread.h>

static void *nap(void *p)
{
	usleep(1);
	return p;
}
static void churn(int n)
{
	for (int i = 0; i < n; i++) {
		pthread_t t[4];
		for (int k = 0; k < 4; k++)
			CHECK(pthread_create(&t[k], NULL, nap, NULL) == 0);
		for (int k = 0; k < 4; k++)
			CHECK(pthread_join(t[k], NULL) == 0);
	}
}
static int lines(const char *path)
{
	FILE *f = fopen(path, "r");
	int n = 0, c;
	CHECK(f);
	while ((c = getc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}
static int fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;
	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

int main(void)
{
	churn(100);
	int maps = lines("/proc/self/maps"), open_fds = fds();
	churn(1500);
	CHECK(lines("/proc/self/maps") <= maps + 8);
	CHECK(fds() == open_fds);
	puts("ok");
	return 0;
}

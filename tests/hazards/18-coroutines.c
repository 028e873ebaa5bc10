/* SPDX-License-Identifier: MIT
   Stacks that no thread owns: small, switched inside waits' neighbourhood, and
   moved from one thread to another. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s errno %d\n", __LINE__, #c, errno); exit(1); } } while (0)
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#define N 16
static ucontext_t co[N];
static _Thread_local ucontext_t back;
static ucontext_t *volatile home[N];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int steps[N];

static void body(int i)
{
	for (int k = 0; k < 20; k++) {
		pthread_mutex_lock(&m);
		steps[i]++;
		pthread_mutex_unlock(&m);
		usleep(50);
		swapcontext(&co[i], home[i]);
	}
	for (;;)
		swapcontext(&co[i], home[i]);
}
static void *run(void *p)
{
	int first = (int)(long)p;
	for (int k = 0; k < 10; k++)
		for (int i = first; i < N; i += 2) {
			home[i] = &back;
			swapcontext(&back, &co[i]);
		}
	return NULL;
}

int main(void)
{
	for (int i = 0; i < N; i++) {
		char *s = mmap(NULL, 20480, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(s != MAP_FAILED && mprotect(s, 4096, PROT_NONE) == 0);
		getcontext(&co[i]);
		co[i].uc_stack.ss_sp = s + 4096;
		co[i].uc_stack.ss_size = 16384;
		makecontext(&co[i], (void (*)(void))body, 1, i);
	}
	for (int round = 0; round < 2; round++) { /* the second time each runs on the other thread */
		pthread_t t[2];
		for (long k = 0; k < 2; k++)
			CHECK(pthread_create(&t[k], NULL, run, (void *)((k + round) % 2)) == 0);
		for (int k = 0; k < 2; k++)
			pthread_join(t[k], NULL);
	}
	for (int i = 0; i < N; i++)
		CHECK(steps[i] == 20);
	puts("ok");
	return 0;
}

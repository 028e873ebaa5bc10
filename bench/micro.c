/* SPDX-License-Identifier: MIT
 * Micro-benchmarks of one call, run natively and under a preload; prints one
 * figure, ns per operation, the minimum over rounds (the least disturbed one).
 *
 *   micro pair         uncontended pthread_mutex_lock + unlock, two threads alive
 *   micro wait DEPTH   one wait that ends at once (a futex call that finds another
 *                      value), DEPTH frames below main: beyond the call itself
 *                      this is what a recorded wait costs, hot
 *   micro io           write of 0 bytes to /dev/null
 *   micro rate N       N waits per second and thread from two threads, paced
 *                      together; prints the rate reached
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int word, null_fd;

static void pair(long n)
{
	for (long i = 0; i < n; i++) {
		pthread_mutex_lock(&m);
		pthread_mutex_unlock(&m);
	}
}
static void futex(long n)
{
	for (long i = 0; i < n; i++)
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
}
static void io(long n)
{
	for (long i = 0; i < n; i++)
		if (write(null_fd, "", 0) < 0)
			abort();
}

/* Frames that the compiler cannot fold away. */
static __attribute__((noinline)) long deep(int depth, void (*fn)(long), long n)
{
	if (depth > 0) {
		long r = deep(depth - 1, fn, n);
		__asm__ volatile("" ::: "memory");
		return r + 1;
	}
	fn(n);
	return 0;
}

static double best(void (*fn)(long), int depth, long n, int rounds)
{
	double least = 1e18;
	for (int r = 0; r < rounds; r++) {
		uint64_t t = now();
		deep(depth, fn, n);
		double ns = (double)(now() - t) / (double)n;
		least = ns < least ? ns : least;
	}
	return least;
}

static void *sleeper(void *arg)
{
	pause();
	return arg;
}

/* ---- rate ---- */
static long wanted;
static pthread_barrier_t gate;
static void *producer(void *arg)
{
	pthread_barrier_wait(&gate);
	uint64_t start = now();
	for (long i = 0; i < wanted * 3; i += 100) { /* three seconds */
		futex(100);
		while ((now() - start) * (double)wanted < (double)i * 1e9)
			;
	}
	*(double *)arg = (double)wanted * 3 / ((double)(now() - start) / 1e9);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t t;
	null_fd = open("/dev/null", O_WRONLY);
	if (strcmp(what, "rate") == 0) {
		double r[2];
		pthread_t p[2];
		wanted = argc > 2 ? atol(argv[2]) : 500000;
		pthread_barrier_init(&gate, NULL, 2);
		for (int i = 0; i < 2; i++)
			pthread_create(&p[i], NULL, producer, &r[i]);
		for (int i = 0; i < 2; i++)
			pthread_join(p[i], NULL);
		printf("%.0f\n", r[0] + r[1]);
		return 0;
	}
	pthread_create(&t, NULL, sleeper, NULL); /* a process with one thread takes other paths in libc */
	if (strcmp(what, "pair") == 0)
		printf("%.2f\n", best(pair, 0, 200000, 50));
	else if (strcmp(what, "wait") == 0)
		printf("%.2f\n", best(futex, argc > 2 ? atoi(argv[2]) : 6, 2000, 200));
	else if (strcmp(what, "io") == 0)
		printf("%.2f\n", best(io, 6, 2000, 200));
	else
		return 2;
	return 0;
}

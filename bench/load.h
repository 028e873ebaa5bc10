/* SPDX-License-Identifier: MIT
 * What the load programs have in common: threads that work until SIGTERM, and a
 * file that counts their requests (bench/slices.c reads it). */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS 8

static _Atomic uint64_t *load_counter; /* relaxed: only a number */
static volatile sig_atomic_t load_over;

static void load_stop(int sig)
{
	(void)sig;
	load_over = 1;
}

static uint64_t load_random(uint64_t *state) /* xorshift64 */
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

static void load_check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "load: %s\n", what);
	exit(1);
}

/* Runs work(seed) in THREADS threads, which return when load_over is set. */
static void load_run(const char *counter, void *(*work)(void *))
{
	pthread_t t[THREADS];
	int fd = open(counter, O_RDWR);
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *load_counter, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	load_check(p != MAP_FAILED, counter);
	load_counter = p;
	signal(SIGTERM, load_stop);
	for (uintptr_t i = 0; i < THREADS; i++)
		load_check(pthread_create(&t[i], NULL, work, (void *)(i + 1)) == 0, "pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static inline void load_done(void)
{
	atomic_fetch_add_explicit(load_counter, 1, memory_order_relaxed);
}

#endif

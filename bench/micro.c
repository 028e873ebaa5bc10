/* SPDX-License-Identifier: MIT
 * Micro-benchmarks of one call, run natively and under a preload; prints one
 * figure, ns per operation, the minimum over rounds (the least disturbed one).
 *
 *   micro pair         uncontended pthread_mutex_lock + unlock, two threads alive
 *   micro hot DEPTH    one wait that ends at once without the kernel (an
 *                      error-checking mutex that the thread has already), DEPTH
 *                      frames below main: beyond the call itself this is what a
 *                      recorded wait costs, hot
 *   micro wait DEPTH   the same with the kernel (a futex call that finds another
 *                      value), which may have emptied the TLB on the way
 *   micro io           write of 0 bytes to /dev/null
 *   micro socket       send and recv of 64 bytes through a pair of sockets, with what
 *                      they cost when their first bytes are captured
 *   micro grant N US   N threads sleep before a mutex: the median time from its owner's
 *                      unlock, US after the last of them came, until one of them has it
 *   micro rate N       N waits like hot's per second and thread from two threads,
 *                      paced together; prints the rate reached
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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
static __thread pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
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
static void relock(long n)
{
	for (long i = 0; i < n; i++)
		if (pthread_mutex_lock(&checking) != EDEADLK)
			abort();
}
static void io(long n)
{
	for (long i = 0; i < n; i++)
		if (write(null_fd, "", 0) < 0)
			abort();
}

#define PAUSE 2000 /* us between rounds: the recorder keeps up, nothing is dropped */

static void socket_pair(long n)
{
	static int s[2];
	static char buf[64] = "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n";
	if (!s[0] && socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		abort();
	for (long i = 0; i < n; i++)
		if (send(s[1], buf, sizeof buf, 0) != sizeof buf || recv(s[0], buf, sizeof buf, 0) != sizeof buf)
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

static double best(void (*fn)(long), int depth, long n, int rounds, int pause)
{
	double least = 1e18;
	for (int r = 0; r < rounds; r++) {
		if (pause)
			usleep((useconds_t)pause);
		deep(depth, fn, n / 8); /* what the pause has cooled down */
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

/* ---- grant ---- */
#define GRANTS 2000
static long waiters;
static uint64_t hold_ns; /* after the last one came */
static atomic_long asking, grants;
static atomic_ulong let_go; /* when; 0: not measured */
static uint32_t latency[GRANTS];

static void *taker(void *arg)
{
	for (;;) {
		atomic_fetch_add(&asking, 1);
		pthread_mutex_lock(&m);
		uint64_t has = now(), was = atomic_exchange(&let_go, 0);
		atomic_fetch_sub(&asking, 1);
		long n = atomic_load(&grants);
		if (n < GRANTS && was) {
			latency[n] = has - was < UINT32_MAX ? (uint32_t)(has - was) : UINT32_MAX;
			atomic_store(&grants, ++n);
		}
		if (n == GRANTS) {
			pthread_mutex_unlock(&m);
			return arg;
		}
		while (atomic_load(&asking) < waiters)
			;
		for (uint64_t t = now(); now() - t < hold_ns;)
			;
		atomic_store(&let_go, now());
		pthread_mutex_unlock(&m);
		while (atomic_load(&grants) == n) /* it is another's turn */
			;
	}
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* One more thread than waiters: the one that has it. */
static void grant(long n)
{
	pthread_t t[65];
	waiters = n > 0 && n < 65 ? n : 1;
	for (long i = 0; i <= waiters; i++)
		pthread_create(&t[i], NULL, taker, NULL);
	for (long i = 0; i <= waiters; i++)
		pthread_join(t[i], NULL);
	qsort(latency, GRANTS, sizeof *latency, by_value);
	printf("%u\n", latency[GRANTS / 2]);
}

/* ---- rate ---- */
static long wanted;
static pthread_barrier_t gate;
static void *producer(void *arg)
{
	pthread_mutex_lock(&checking);
	pthread_barrier_wait(&gate);
	uint64_t start = now();
	for (long i = 0; i < wanted * 3; i += 100) { /* three seconds */
		relock(100);
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
	if (strcmp(what, "grant") == 0) {
		hold_ns = argc > 3 ? strtoul(argv[3], NULL, 10) * 1000 : 40000;
		grant(argc > 2 ? atol(argv[2]) : 1);
		return 0;
	}
	pthread_create(&t, NULL, sleeper, NULL); /* a process with one thread takes other paths in libc */
	if (strcmp(what, "pair") == 0)
		printf("%.2f\n", best(pair, 0, 200000, 50, 0));
	else if (strcmp(what, "hot") == 0 && pthread_mutex_lock(&checking) == 0)
		printf("%.2f\n", best(relock, argc > 2 ? atoi(argv[2]) : 6, 2000, 200, PAUSE));
	else if (strcmp(what, "wait") == 0)
		printf("%.2f\n", best(futex, argc > 2 ? atoi(argv[2]) : 6, 2000, 200, PAUSE));
	else if (strcmp(what, "io") == 0)
		printf("%.2f\n", best(io, 6, 2000, 200, PAUSE));
	else if (strcmp(what, "socket") == 0)
		printf("%.2f\n", best(socket_pair, 6, 2000, 200, PAUSE));
	else
		return 2;
	return 0;
}

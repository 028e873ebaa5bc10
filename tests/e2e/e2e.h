/* SPDX-License-Identifier: MIT
 *
 * For the programs of the end-to-end tests.  Each does a prime number of waits
 * of each kind and prints what a recording of it must hold, one fact a line:
 *
 *   expect OP waits N         finished waits or IO calls that are in the store
 *   expect OP fast N          calls that were only counted
 *   expect OP wakes N         unlocks, signals, posts with somebody waiting
 *   expect OP objects N       distinct objects among the waits
 *   expect OP errno NAME N    waits that ended with this error
 *   expect OP sum N           sum of what the waits returned (bytes, descriptors)
 *   expect OP path FUNCTION N waits with this function somewhere in their path
 *   expect OP atleast NS N    N waits, or more, at least so long
 *   expect OP shared N        waits on objects that say they are process-shared
 *   expect mark WHAT N        application markers (begin, end, pause, resume)
 *   expect class CLASS N      begin markers with this class
 *   expect found CLASS N      requests of this class by their captured bytes
 *   expect store processes N  and: store threads N, store thread NAME
 *
 * WHAT-from instead of WHAT: at least N.  waits+fast, calls: both together.
 *
 * A wait that must block is made to: the other thread goes on only when the
 * kernel says that the waiter sleeps.  No time is slept away to order things.
 * Everything in this file uses raw system calls, so that it leaves no events.
 */
#ifndef E2E_H
#define E2E_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CHECK(c)                                                                                  \
	do {                                                                                      \
		if (!(c)) {                                                                       \
			fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #c, errno); \
			_exit(1);                                                                 \
		}                                                                                 \
	} while (0)

#define NOINLINE __attribute__((noinline))

static inline long raw(long n, long a, long b, long c)
{
#ifdef __x86_64__
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return r;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#else
#error "raw system call for this architecture"
#endif
}

static inline void raw_yield(void) { raw(SYS_sched_yield, 0, 0, 0); }
static inline int raw_tid(void) { return (int)raw(SYS_gettid, 0, 0, 0); }

/* Does the kernel say that thread tid of process pid (0: this one) sleeps? */
static inline int is_blocked(int pid, int tid)
{
	char path[64], buf[256];
	if (pid)
		snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
	else
		snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
	long fd = raw(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	long n = raw(SYS_read, fd, (long)buf, sizeof buf - 1);
	raw(SYS_close, fd, 0, 0);
	if (n <= 0)
		return 0;
	buf[n] = 0;
	char *p = strrchr(buf, ')');
	return p && p[1] == ' ' && p[2] == 'S';
}

static inline void until_blocked(int pid, int tid)
{
	while (!is_blocked(pid, tid))
		raw_yield();
}

/* ---- n waits of one thread, each blocked until the other thread ends it ---- */
struct rounds {
	int n;
	void (*hold)(void *);    /* main thread, before; may be NULL */
	void (*wait)(void *);    /* worker: the call under test */
	void (*release)(void *); /* main thread, once the worker sleeps; NULL: it ends by itself */
	void *arg;
	_Atomic int go, at, done, tid;
};

static inline void *rounds_worker_(void *p)
{
	struct rounds *r = p;
	atomic_store(&r->tid, raw_tid());
	for (int i = 1; i <= r->n; i++) {
		while (atomic_load(&r->go) < i)
			raw_yield();
		atomic_store(&r->at, i);
		r->wait(r->arg);
		atomic_store(&r->done, i);
	}
	return NULL;
}

static inline void rounds_main_(struct rounds *r)
{
	for (int i = 1; i <= r->n; i++) {
		if (r->hold)
			r->hold(r->arg);
		atomic_store(&r->go, i);
		while (atomic_load(&r->at) < i)
			raw_yield();
		if (r->release) {
			until_blocked(0, atomic_load(&r->tid));
			r->release(r->arg);
		}
		while (atomic_load(&r->done) < i)
			raw_yield();
	}
}

/* The worker is detached, and its end seen by the kernel's own word, so that no
 * join is recorded. */
static inline void blocked(int n, void (*hold)(void *), void (*wait)(void *), void (*release)(void *), void *arg)
{
	struct rounds r = {.n = n, .hold = hold, .wait = wait, .release = release, .arg = arg};
	pthread_t t;
	CHECK(pthread_create(&t, NULL, rounds_worker_, &r) == 0);
	pthread_detach(t);
	rounds_main_(&r);
	while (raw(SYS_tgkill, raw(SYS_getpid, 0, 0, 0), atomic_load(&r.tid), 0) == 0)
		raw_yield();
}

/* Absolute time so many milliseconds from now. */
static inline struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;
	clock_gettime(clock, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

/* An unnamed file that can be written, mapped and flushed. */
static inline int scratch_file(void)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	snprintf(path, sizeof path, "%s/e2e.XXXXXX", dir && *dir ? dir : "/tmp");
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	unlink(path);
	return fd;
}

static inline void expect(const char *op, const char *what, long n) { printf("expect %s %s %ld\n", op, what, n); }

#endif

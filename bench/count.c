/* SPDX-License-Identifier: MIT
 * Preloaded into a load generator: counts its requests, one for each message it
 * sends to a socket, in the first 8 bytes of the file TARRY_BENCH_COUNT.  The
 * server under test has none of this. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static _Atomic uint64_t here, *counter = &here; /* relaxed: only a number; bench/slices.c reads it */
static ssize_t (*real_send)(int, const void *, size_t, int);
static ssize_t (*real_sendmsg)(int, const struct msghdr *, int);

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("TARRY_BENCH_COUNT");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (p != MAP_FAILED)
		counter = p;
	real_send = (ssize_t (*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
	real_sendmsg = (ssize_t (*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg");
}

ssize_t send(int fd, const void *data, size_t bytes, int flags)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
	return real_send(fd, data, bytes, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
	return real_sendmsg(fd, m, flags);
}

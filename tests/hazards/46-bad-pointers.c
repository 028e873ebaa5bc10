/* SPDX-License-Identifier: MIT
 * The kernel refuses a bad pointer with EFAULT, and glibc does not look at some
 * arguments at all when it need not: a wrapper that reads them first dies. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s\n", __LINE__, #c); exit(1); } } while (0)
#define EFAULTS(c) do { errno = 0; CHECK((c) == -1 && errno == EFAULT); } while (0)

int main(void)
{
    void *volatile bad = (void *)1; /* the compiler must not know */
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    struct timespec ts = { 0, 0 };
    int p[2], s[2];
    CHECK(pipe(p) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0 && write(p[1], "x", 1) == 1 && write(s[1], "x", 1) == 1);
    EFAULTS(poll(bad, 1, 0));
    EFAULTS(ppoll(bad, 1, &ts, NULL));
    EFAULTS(read(p[0], bad, 1));
    EFAULTS(readv(p[0], bad, 1));
    EFAULTS(write(p[1], bad, 1));
    EFAULTS(writev(p[1], bad, 1));
    EFAULTS(recv(s[0], bad, 1, 0));
    EFAULTS(recvmsg(s[0], bad, 0));
    EFAULTS(send(s[0], bad, 1, 0));
    EFAULTS(sendmsg(s[0], bad, 0));
    EFAULTS(connect(s[0], bad, 16));
    EFAULTS(nanosleep(bad, NULL));
    CHECK(pthread_mutex_timedlock(&m, bad) == 0 && pthread_mutex_unlock(&m) == 0);
    CHECK(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, bad) == 0 && pthread_mutex_unlock(&m) == 0);
    CHECK(pthread_mutex_clocklock(&m, 77, &ts) == EINVAL);
    puts("ok");
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Threads on the smallest legal stack (16 KiB, TLS and thread descriptor come
   out of it), already half used by the host, take every slow path.  Big automatic buffers,
   a hungry unwinder or large static TLS in the interposer overflow it, or make
   pthread_create itself fail with EINVAL. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s\n", __LINE__, #c); exit(1); } } while (0)

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, never = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t s;
static int fd;

static __attribute__((noinline)) void slow_paths(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    ts.tv_nsec += 3000000;
    if (ts.tv_nsec >= 1000000000) { ts.tv_nsec -= 1000000000; ts.tv_sec++; }
    CHECK(pthread_mutex_lock(&m) == 0);          /* main holds it */
    pthread_mutex_unlock(&m);
    pthread_rwlock_rdlock(&rw);                  /* main holds it */
    pthread_rwlock_unlock(&rw);
    pthread_mutex_lock(&never);
    pthread_cond_timedwait(&c, &never, &ts);
    pthread_cond_broadcast(&c);
    pthread_mutex_unlock(&never);
    while (sem_wait(&s)) ;
    CHECK(write(fd, "x", 1) == 1);
    fsync(fd);
    fdatasync(fd);
}
static void *tiny(void *arg)
{
    char used[7000];
    memset(used, 0x3c, sizeof used);
    __asm__ volatile("" :: "r"(used) : "memory");
    slow_paths();
    for (size_t i = 0; i < sizeof used; i++) if (used[i] != 0x3c) { fprintf(stderr, "stack overwritten\n"); _exit(1); }
    return arg;
}

int main(void)
{
    enum { N = 8 };
    pthread_t t[N];
    pthread_attr_t a;
    fd = open("/dev/null", O_WRONLY);
    sem_init(&s, 0, 0);
    pthread_attr_init(&a);
    CHECK(pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN) == 0);
    for (int round = 0; round < 4; round++) {
        pthread_mutex_lock(&m);
        pthread_rwlock_wrlock(&rw);
        for (int i = 0; i < N; i++) CHECK(pthread_create(&t[i], &a, tiny, NULL) == 0);
        usleep(3000);
        pthread_mutex_unlock(&m);
        usleep(3000);
        pthread_rwlock_unlock(&rw);
        for (int i = 0; i < N; i++) sem_post(&s);
        for (int i = 0; i < N; i++) CHECK(pthread_join(t[i], NULL) == 0);
    }
    puts("ok");
    return 0;
}

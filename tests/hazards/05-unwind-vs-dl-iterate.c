/* SPDX-License-Identifier: MIT */
/* One thread is inside dl_iterate_phdr (the loader lock is held) and wants a
   mutex; the mutex owner makes hooked calls.  If a hook unwinds with anything
   that needs the loader lock, the two threads block each other for ever. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int owned, inside;

static int flag(int *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static void set(int *p) { __atomic_store_n(p, 1, __ATOMIC_RELEASE); }

static int callback(struct dl_phdr_info *i, size_t n, void *data)
{
    (void)i; (void)n; (void)data;
    set(&inside);
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return 1;
}

static void *walker(void *arg)
{
    while (!flag(&owned)) sched_yield();
    dl_iterate_phdr(callback, NULL);
    return arg;
}

static void soon(struct timespec *ts, long ms)
{
    clock_gettime(CLOCK_REALTIME, ts);
    ts->tv_nsec += ms * 1000000;
    ts->tv_sec += ts->tv_nsec / 1000000000;
    ts->tv_nsec %= 1000000000;
}

int main(void)
{
    pthread_t t;
    struct timespec ts;
    sem_t s;
    sem_init(&s, 0, 0);
    int fd = open("/dev/null", O_WRONLY);
    pthread_create(&t, NULL, walker, NULL);
    pthread_mutex_lock(&m);
    set(&owned);
    while (!flag(&inside)) sched_yield();
    pthread_mutex_lock(&other);
    soon(&ts, 20);
    pthread_cond_timedwait(&never, &other, &ts);
    pthread_mutex_unlock(&other);
    soon(&ts, 20);
    sem_timedwait(&s, &ts);
    if (write(fd, "x", 1) != 1) return 1;
    fsync(fd);
    pthread_mutex_unlock(&m);
    pthread_join(t, NULL);
    puts("ok");
    return 0;
}

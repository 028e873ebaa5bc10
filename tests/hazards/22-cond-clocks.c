/* SPDX-License-Identifier: MIT */
/* Time-outs against the right clock: the cond's own (realtime or monotonic),
   the one named in the call (libstdc++ uses pthread_cond_clockwait), past and
   invalid times; the mutex is owned again on every way out. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s\n", __LINE__, #c); exit(1); } } while (0)

static struct timespec in_ms(clockid_t k, long ms)
{
    struct timespec t;
    clock_gettime(k, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}
static long since(const struct timespec *t0)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (t.tv_sec - t0->tv_sec) * 1000 + (t.tv_nsec - t0->tv_nsec) / 1000000;
}
#define TAKES(e, v, lo) do { struct timespec t0_ = in_ms(CLOCK_MONOTONIC, 0); int r_ = (e); long d_ = since(&t0_); \
    if (r_ != (v) || d_ < (lo) || d_ > (lo) + 3000) { fprintf(stderr, "line %d: %s = %d after %ld ms\n", __LINE__, #e, r_, d_); exit(1); } } while (0)

static void *hold(void *m) { pthread_mutex_lock(m); return NULL; }

int main(void)
{
    static const clockid_t both[2] = { CLOCK_REALTIME, CLOCK_MONOTONIC };
    pthread_mutexattr_t ma;
    pthread_mutex_t m, busy = PTHREAD_MUTEX_INITIALIZER;
    pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
    pthread_t t;
    sem_t s;
    struct timespec ts, past = { 1, 0 }, bad = { 5, 1000000000 };
    pthread_mutexattr_init(&ma);
    pthread_mutexattr_settype(&ma, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&m, &ma);
    sem_init(&s, 0, 0);
    pthread_create(&t, NULL, hold, &busy);
    pthread_join(t, NULL);
    pthread_rwlock_wrlock(&rw);
    CHECK(pthread_mutex_lock(&m) == 0);
    for (int i = 0; i < 2; i++) {
        pthread_condattr_t ca;
        pthread_cond_t c;
        pthread_condattr_init(&ca);
        CHECK(pthread_condattr_setclock(&ca, both[i]) == 0 && pthread_cond_init(&c, &ca) == 0);
        ts = in_ms(both[i], 40);
        TAKES(pthread_cond_timedwait(&c, &m, &ts), ETIMEDOUT, 39);
        ts = in_ms(both[!i], 40);                /* the other clock, named explicitly */
        TAKES(pthread_cond_clockwait(&c, &m, both[!i], &ts), ETIMEDOUT, 39);
        TAKES(pthread_cond_timedwait(&c, &m, &past), ETIMEDOUT, 0);
        TAKES(pthread_cond_timedwait(&c, &m, &bad), EINVAL, 0);
        TAKES(pthread_cond_clockwait(&c, &m, CLOCK_PROCESS_CPUTIME_ID, &ts), EINVAL, 0);
        CHECK(pthread_mutex_lock(&m) == EDEADLK);        /* still ours */
        CHECK(pthread_cond_destroy(&c) == 0);
        ts = in_ms(both[i], 30);
        TAKES(pthread_mutex_clocklock(&busy, both[i], &ts), ETIMEDOUT, 29);
        ts = in_ms(both[i], 30);
        TAKES(sem_clockwait(&s, both[i], &ts) == -1 && errno == ETIMEDOUT, 1, 29);
    }
    CHECK(pthread_mutex_unlock(&m) == 0);
    puts("ok");
    return 0;
}

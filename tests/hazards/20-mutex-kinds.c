/* SPDX-License-Identifier: MIT */
/* Every mutex kind keeps its own return values: recursive, error-checking,
   adaptive, robust, priority-inheriting, priority-protected, and the static
   initialisers; hooks must pass EDEADLK/EPERM/EBUSY/EOWNERDEAD through. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define IS(e, v) do { int r_ = (e); if (r_ != (v)) { fprintf(stderr, "line %d: %s = %d, want %d\n", __LINE__, #e, r_, v); exit(1); } } while (0)

static pthread_mutex_t shared;
static void *locker(void *arg) { IS(pthread_mutex_lock(&shared), 0); return arg; }   /* dies owning it */
static void *other(void *arg)
{
    pthread_mutex_t *p = arg;
    struct timespec past = { 1, 0 };
    IS(pthread_mutex_trylock(p), EBUSY);
    IS(pthread_mutex_timedlock(p, &past), ETIMEDOUT);
    IS(pthread_mutex_clocklock(p, CLOCK_MONOTONIC, &past), ETIMEDOUT);
    return NULL;
}
static void in_thread(void *(*fn)(void *), void *arg)
{
    pthread_t t;
    IS(pthread_create(&t, NULL, fn, arg), 0);
    IS(pthread_join(t, NULL), 0);
}
static void basic(pthread_mutex_t *p)
{
    for (int i = 0; i < 50; i++) {
        IS(pthread_mutex_lock(p), 0);
        if (i % 16 == 0) in_thread(other, p);
        IS(pthread_mutex_unlock(p), 0);
    }
    IS(pthread_mutex_destroy(p), 0);
}

int main(void)
{
    pthread_mutexattr_t a;
    pthread_mutex_t m;
    static pthread_mutex_t sn = PTHREAD_MUTEX_INITIALIZER, sr = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
        se = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, sa = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
    IS(pthread_mutex_lock(&sr), 0); IS(pthread_mutex_lock(&sr), 0); IS(pthread_mutex_trylock(&sr), 0);
    for (int i = 0; i < 3; i++) IS(pthread_mutex_unlock(&sr), 0);
    IS(pthread_mutex_unlock(&sr), EPERM);
    IS(pthread_mutex_lock(&se), 0); IS(pthread_mutex_lock(&se), EDEADLK); IS(pthread_mutex_unlock(&se), 0);
    IS(pthread_mutex_unlock(&se), EPERM);
    basic(&sn); basic(&sa); basic(&se);
    pthread_mutex_lock(&sr); in_thread(other, &sr); pthread_mutex_unlock(&sr);
    for (int proto = PTHREAD_PRIO_NONE; proto <= PTHREAD_PRIO_PROTECT; proto++)
        for (int robust = 0; robust < 2; robust++) {
            if (proto == PTHREAD_PRIO_PROTECT && robust) continue;
            pthread_mutexattr_init(&a);
            pthread_mutexattr_setprotocol(&a, proto);
            if (robust) pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
            if (proto == PTHREAD_PRIO_PROTECT) { pthread_mutexattr_setprioceiling(&a, 1); }
            if (pthread_mutex_init(&m, &a) == 0) {
                int r = pthread_mutex_trylock(&m);       /* PROTECT needs privilege */
                if (r == 0) { IS(pthread_mutex_unlock(&m), 0); basic(&m); }
            }
            if (!robust) continue;
            IS(pthread_mutex_init(&shared, &a), 0);
            in_thread(locker, NULL);
            IS(pthread_mutex_lock(&shared), EOWNERDEAD);
            IS(pthread_mutex_consistent(&shared), 0);
            IS(pthread_mutex_unlock(&shared), 0);
            in_thread(locker, NULL);
            IS(pthread_mutex_trylock(&shared), EOWNERDEAD);
            IS(pthread_mutex_unlock(&shared), 0);        /* not made consistent */
            IS(pthread_mutex_lock(&shared), ENOTRECOVERABLE);
            IS(pthread_mutex_destroy(&shared), 0);
        }
    puts("ok");
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Cancellation in pthread_cond_wait must run the clean-up handler with the
   mutex owned; functions that are no cancellation points must stay none (a
   hook must not write(), poll() or sleep in them); sem_wait must not eat a
   token; and a cancelled hook must leave no guard or lock behind. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s\n", __LINE__, #c); exit(1); } } while (0)

static pthread_mutex_t m, plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sem_t s, tick;
static int cleaned, passed, fd, p[2];

static void unlock(void *arg) { (void)arg; CHECK(pthread_mutex_unlock(&m) == 0); cleaned++; }
static void *in_cond(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_cleanup_push(unlock, NULL);
    sem_post(&tick);
    for (;;) pthread_cond_wait(&c, &m);
    pthread_cleanup_pop(0);
    return arg;
}
static void *in_sem(void *arg) { sem_post(&tick); while (sem_wait(&s)) ; return arg; }
static void *in_write(void *arg)
{
    char big[70000] = "";
    sem_post(&tick);
    for (;;) if (write(p[1], big, sizeof big) < 0) break;
    return arg;
}
static void *pending(void *arg)
{
    pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
    pthread_cancel(pthread_self());              /* now every cancellation point acts */
    for (int i = 0; i < 200; i++) {
        pthread_mutex_lock(&plain);
        pthread_cond_signal(&c);
        pthread_cond_broadcast(&c);
        pthread_mutex_unlock(&plain);
        pthread_mutex_trylock(&plain);
        pthread_mutex_unlock(&plain);
        pthread_rwlock_rdlock(&rw);
        pthread_rwlock_unlock(&rw);
        sem_post(&tick);
        sem_trywait(&tick);
    }
    passed = 1;
    fsync(fd);                                   /* this one is a cancellation point */
    passed = 2;
    return arg;
}
static void cancelled(void *(*fn)(void *))
{
    pthread_t t;
    void *r = NULL;
    CHECK(pthread_create(&t, NULL, fn, NULL) == 0);
    if (fn != pending) { while (sem_wait(&tick)) ; usleep(20000); CHECK(pthread_cancel(t) == 0); }
    CHECK(pthread_join(t, &r) == 0 && r == PTHREAD_CANCELED);
}

int main(void)
{
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&m, &a);
    sem_init(&s, 0, 0);
    sem_init(&tick, 0, 0);
    fd = open("/dev/null", O_WRONLY);
    CHECK(pipe(p) == 0);
    for (int i = 0; i < 5; i++) {
        cancelled(in_cond);
        CHECK(cleaned == i + 1 && pthread_mutex_trylock(&m) == 0 && pthread_mutex_unlock(&m) == 0);
        cancelled(in_sem);
        CHECK(sem_post(&s) == 0 && sem_trywait(&s) == 0);
        cancelled(in_write);
        passed = 0;
        cancelled(pending);
        CHECK(passed == 1);
    }
    puts("ok");
    return 0;
}

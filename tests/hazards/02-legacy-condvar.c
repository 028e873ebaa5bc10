/* SPDX-License-Identifier: MIT */
/* Binaries and vendor libraries built against very old x86-64 glibc bind
   pthread_cond_*@GLIBC_2.2.5, whose condvar is one pointer wide.  A hook that
   hands such an object to the 2.3.2 functions overwrites the next 40 bytes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <errno.h>

#ifdef __x86_64__
__asm__(".symver old_init,pthread_cond_init@GLIBC_2.2.5");
__asm__(".symver old_wait,pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver old_timed,pthread_cond_timedwait@GLIBC_2.2.5");
__asm__(".symver old_signal,pthread_cond_signal@GLIBC_2.2.5");
__asm__(".symver old_bcast,pthread_cond_broadcast@GLIBC_2.2.5");
__asm__(".symver old_destroy,pthread_cond_destroy@GLIBC_2.2.5");
int old_init(void *, void *), old_wait(void *, pthread_mutex_t *);
int old_timed(void *, pthread_mutex_t *, const struct timespec *);
int old_signal(void *), old_bcast(void *), old_destroy(void *);

static struct { void *cond; unsigned char guard[120]; } o;   /* static init: zero */
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int stage;

static void *waiter(void *arg)
{
    pthread_mutex_lock(&m);
    stage = 1;
    while (stage < 2)
        old_wait(&o.cond, &m);
    stage = 3;
    pthread_mutex_unlock(&m);
    return arg;
}

int main(void)
{
    pthread_t t;
    struct timespec past = { 1, 0 };
    memset(o.guard, 0xA5, sizeof o.guard);
    pthread_create(&t, NULL, waiter, NULL);
    for (;;) {
        pthread_mutex_lock(&m);
        int s = stage;
        pthread_mutex_unlock(&m);
        if (s) break;
        usleep(1000);
    }
    usleep(20000);
    pthread_mutex_lock(&m);
    stage = 2;
    old_signal(&o.cond);
    pthread_mutex_unlock(&m);
    pthread_join(t, NULL);
    pthread_mutex_lock(&m);
    int r = old_timed(&o.cond, &m, &past);
    pthread_mutex_unlock(&m);
    old_bcast(&o.cond);
    old_destroy(&o.cond);
    for (size_t i = 0; i < sizeof o.guard; i++)
        if (o.guard[i] != 0xA5) { fprintf(stderr, "guard byte %zu overwritten\n", i); return 1; }
    if (stage != 3 || r != ETIMEDOUT) { fprintf(stderr, "stage %d r %d\n", stage, r); return 1; }
    old_init(&o.cond, NULL);
    for (size_t i = 0; i < sizeof o.guard; i++)
        if (o.guard[i] != 0xA5) { fprintf(stderr, "init wrote past\n"); return 1; }
    puts("ok");
    return 0;
}
#else
int main(void) { puts("ok"); return 0; }
#endif

/* SPDX-License-Identifier: MIT */
/* Any reordering of wake-ups must keep: every signal releases someone who was
   waiting, a broadcast releases all, timed waiters that give up do not swallow
   a signal, and signals may be sent without the mutex. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s\n", __LINE__, #c); exit(1); } } while (0)

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t items_c = PTHREAD_COND_INITIALIZER, gate_c = PTHREAD_COND_INITIALIZER;
static pthread_cond_t slot_c[2] = { PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER };
static int items, taken, finished, arrived, generation, slot;

static void *consumer(void *arg)
{
    int timed = arg != NULL;
    pthread_mutex_lock(&m);
    for (;;) {
        while (!items && !finished) {
            if (!timed) { pthread_cond_wait(&items_c, &m); continue; }
            struct timespec ts;
            clock_gettime(CLOCK_REALTIME, &ts);
            ts.tv_nsec += 200000;
            if (ts.tv_nsec >= 1000000000) { ts.tv_nsec -= 1000000000; ts.tv_sec++; }
            if (pthread_cond_timedwait(&items_c, &m, &ts)) break;
        }
        if (items) { items--; taken++; }
        else if (finished) break;
        else { pthread_mutex_unlock(&m); usleep(300); pthread_mutex_lock(&m); }
    }
    pthread_mutex_unlock(&m);
    return NULL;
}
static void *barrier(void *arg)
{
    for (int r = 0; r < 150; r++) {
        pthread_mutex_lock(&m);
        int g = generation;
        if (++arrived == 6) { arrived = 0; generation++; pthread_cond_broadcast(&gate_c); }
        else while (g == generation) pthread_cond_wait(&gate_c, &m);
        pthread_mutex_unlock(&m);
    }
    return arg;
}
static void *ping(void *arg)
{
    int me = arg != NULL;
    for (int i = 0; i < 4000; i++) {
        pthread_mutex_lock(&m);
        while (slot != me) pthread_cond_wait(&slot_c[me], &m);
        slot = !me;
        pthread_mutex_unlock(&m);
        pthread_cond_signal(&slot_c[!me]);       /* mutex not held */
    }
    return NULL;
}

int main(void)
{
    pthread_t t[6], p[2];
    alarm(18);
    for (long i = 0; i < 4; i++) CHECK(!pthread_create(&t[i], NULL, consumer, (void *)(i & 1)));
    for (int i = 0; i < 4000; i++) {
        pthread_mutex_lock(&m);
        items++;
        pthread_mutex_unlock(&m);
        pthread_cond_signal(&items_c);
        if (i % 200 == 0) usleep(500);
    }
    for (int left = 1; left; usleep(500)) { pthread_mutex_lock(&m); left = items; pthread_mutex_unlock(&m); }
    pthread_mutex_lock(&m); finished = 1; pthread_cond_broadcast(&items_c); pthread_mutex_unlock(&m);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    CHECK(taken == 4000);
    for (int i = 0; i < 6; i++) CHECK(!pthread_create(&t[i], NULL, barrier, NULL));
    for (long i = 0; i < 2; i++) CHECK(!pthread_create(&p[i], NULL, ping, (void *)i));
    for (int i = 0; i < 6; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < 2; i++) pthread_join(p[i], NULL);
    CHECK(generation == 150);
    puts("ok");
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* A signal must be handled at once while the thread sleeps in a wrapped wait
   (an interposer that masks signals around the wait delays it for ever), the
   mask must be the caller's own, and sem_wait must report EINTR. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s\n", __LINE__, #c); exit(1); } } while (0)

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sem_t s;
static volatile sig_atomic_t seen, masked;
static int kind, release_it, result, err, p[2];

static void on_usr1(int sig)
{
    sigset_t now;
    (void)sig;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    for (int n = 1; n < 32; n++) masked |= n != SIGUSR1 && sigismember(&now, n) == 1;
    seen = 1;
}
static void *waiter(void *arg)
{
    char buf[70000] = "";
    errno = 0;
    switch (kind) {
    case 0:
        pthread_mutex_lock(&m);
        while (!release_it) pthread_cond_wait(&c, &m);
        pthread_mutex_unlock(&m);
        break;
    case 1: pthread_mutex_lock(&held); pthread_mutex_unlock(&held); break;
    case 2: result = sem_wait(&s); err = errno; break;
    case 3: result = (int)write(p[1], buf, sizeof buf); err = errno; break;
    }
    return arg;
}

int main(void)
{
    struct sigaction sa = { .sa_handler = on_usr1 };      /* no SA_RESTART */
    sigaction(SIGUSR1, &sa, NULL);
    sem_init(&s, 0, 0);
    CHECK(pipe(p) == 0);
    for (kind = 0; kind < 4; kind++) {
        pthread_t t;
        seen = masked = 0;
        release_it = 0;
        pthread_mutex_lock(&held);
        CHECK(pthread_create(&t, NULL, waiter, NULL) == 0);
        usleep(30000);
        CHECK(pthread_kill(t, SIGUSR1) == 0);
        for (int i = 0; i < 100 && !seen; i++) usleep(10000);
        if (!seen || masked) { fprintf(stderr, "kind %d: seen %d, extra signals masked %d\n", kind, (int)seen, (int)masked); return 1; }
        pthread_mutex_lock(&m);
        release_it = 1;
        pthread_cond_signal(&c);
        pthread_mutex_unlock(&m);
        pthread_mutex_unlock(&held);
        pthread_join(t, NULL);
        if (kind == 2) CHECK(result == -1 && err == EINTR);
        if (kind == 3) CHECK(result == 65536 || (result == -1 && err == EINTR));
    }
    puts("ok");
    return 0;
}

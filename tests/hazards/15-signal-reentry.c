/* SPDX-License-Identifier: MIT */
/* A 1 kHz timer whose handler makes async-signal-safe calls (write, sem_post,
   fsync) on top of whatever hook the thread is in the middle of. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sem_t s;
static int fd;
static volatile sig_atomic_t ticks, bad;

static void on_tick(int sig)
{
    int keep = errno;
    (void)sig;
    ticks++;
    if (write(fd, "tick", 4) != 4) bad = 1;
    if (sem_post(&s)) bad = 1;
    if (fsync(fd) == 0) bad = 1;
    errno = keep;
}
static void *loop(void *arg)
{
    struct timespec past = { 1, 0 };
    while (ticks < 300) {
        pthread_mutex_lock(&m);
        pthread_cond_timedwait(&c, &m, &past);
        pthread_cond_broadcast(&c);
        pthread_mutex_unlock(&m);
        errno = 77;
        if (write(fd, "x", 1) != 1 || errno != 77) bad = 1;
        while (sem_trywait(&s) == 0) ;
        usleep(100);
    }
    return arg;
}

int main(void)
{
    pthread_t t[2];
    struct sigaction sa = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
    struct itimerval it = { { 0, 1000 }, { 0, 1000 } };
    fd = open("/dev/null", O_WRONLY);
    sem_init(&s, 0, 0);
    sigaction(SIGALRM, &sa, NULL);
    setitimer(ITIMER_REAL, &it, NULL);
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, loop, NULL);
    loop(NULL);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    if (bad) { fprintf(stderr, "a call in or around the handler misbehaved\n"); return 1; }
    puts("ok");
    return 0;
}

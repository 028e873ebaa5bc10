/* SPDX-License-Identifier: MIT */
/* fork() while other threads sit inside every kind of hook.  The child has one
   thread, inherits whatever internal lock was held, and must neither hang nor
   write into the parent's rings. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static volatile int stop;
static int fd;

static void *busy(void *arg)
{
    sem_t s;
    sem_init(&s, 0, 0);
    while (!stop) {
        pthread_mutex_lock(&m);
        pthread_cond_signal(&c);
        pthread_mutex_unlock(&m);
        sem_post(&s);
        sem_wait(&s);
        if (write(fd, "x", 1) != 1) _exit(9);
        usleep(50);
    }
    return arg;
}
static void *fresh_thread(void *arg)
{
    pthread_mutex_lock(arg);
    pthread_mutex_unlock(arg);
    fsync(fd);
    return NULL;
}
static void child(void)
{
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    pthread_t t;
    alarm(5);                                    /* a hung child dies by SIGALRM */
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&own);
        if (write(fd, "y", 1) != 1) _exit(9);
        pthread_mutex_unlock(&own);
    }
    if (pthread_create(&t, NULL, fresh_thread, &own)) _exit(8);
    pthread_join(t, NULL);
    if (fork() == 0) { fsync(fd); _exit(0); }    /* and a grandchild */
    wait(NULL);
    _exit(7);
}

int main(void)
{
    pthread_t t[3];
    int st;
    fd = open("/dev/null", O_WRONLY);
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, busy, NULL);
    for (int i = 0; i < 40; i++) {
        pid_t p = fork();
        if (p == 0) child();
        if (waitpid(p, &st, 0) != p || !WIFEXITED(st) || WEXITSTATUS(st) != 7) {
            fprintf(stderr, "child %d status %#x%s\n", i, st,
                    WIFSIGNALED(st) && WTERMSIG(st) == SIGALRM ? " (hung)" : "");
            _exit(1);
        }
    }
    stop = 1;
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    puts("ok");
    return 0;
}

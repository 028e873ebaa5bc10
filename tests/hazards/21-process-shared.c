/* SPDX-License-Identifier: MIT */
/* Process-shared objects seen at different addresses: a per-process wait queue
   or an address-keyed side table in a policy shim would lose these wake-ups,
   and a robust owner that dies must still be reported. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "pid %d line %d: %s\n", (int)getpid(), __LINE__, #c); _exit(1); } } while (0)

struct area { pthread_mutex_t m; pthread_cond_t c; pthread_rwlock_t rw; sem_t s; int turn, ready; };

static void wait_turn(struct area *a, int mine, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        CHECK(pthread_mutex_lock(&a->m) == 0);
        while (a->turn != mine) CHECK(pthread_cond_wait(&a->c, &a->m) == 0);
        a->turn = !mine;
        CHECK(pthread_cond_signal(&a->c) == 0);
        CHECK(pthread_mutex_unlock(&a->m) == 0);
        CHECK(pthread_rwlock_rdlock(&a->rw) == 0 && pthread_rwlock_unlock(&a->rw) == 0);
    }
}

int main(void)
{
    pthread_mutexattr_t ma;
    pthread_condattr_t ca;
    pthread_rwlockattr_t ra;
    int fd = memfd_create("hz21", 0), st;
    CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
    struct area *a = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    struct area *b = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(a != MAP_FAILED && b != MAP_FAILED && a != b);
    pthread_mutexattr_init(&ma);
    pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST);
    pthread_condattr_init(&ca);
    pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED);
    pthread_rwlockattr_init(&ra);
    pthread_rwlockattr_setpshared(&ra, PTHREAD_PROCESS_SHARED);
    CHECK(!pthread_mutex_init(&a->m, &ma) && !pthread_cond_init(&a->c, &ca));
    CHECK(!pthread_rwlock_init(&a->rw, &ra) && !sem_init(&a->s, 1, 0));
    pid_t p = fork();
    if (p == 0) {
        munmap(a, 4096);
        alarm(15);
        while (sem_wait(&b->s)) ;
        wait_turn(b, 1, 300);
        CHECK(pthread_mutex_lock(&b->m) == 0);
        b->ready = 1;
        kill(getpid(), SIGKILL);                 /* dies as owner */
    }
    munmap(b, 4096);
    alarm(15);
    usleep(20000);
    CHECK(sem_post(&a->s) == 0);
    wait_turn(a, 0, 300);
    CHECK(waitpid(p, &st, 0) == p && WIFSIGNALED(st) && WTERMSIG(st) == SIGKILL);
    CHECK(a->ready == 1);
    CHECK(pthread_mutex_lock(&a->m) == EOWNERDEAD);
    CHECK(pthread_mutex_consistent(&a->m) == 0 && pthread_mutex_unlock(&a->m) == 0);
    puts("ok");
    return 0;
}

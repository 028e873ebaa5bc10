/* SPDX-License-Identifier: MIT */
/* .preinit_array runs before every shared library's constructor, so each hook
   is entered before the interposer could initialise itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int early, ctor;

static int use_everything(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
    struct timespec past = { 1, 0 };
    struct iovec v = { "x", 1 };
    sem_t s;
    int bad = 0;
    bad += pthread_mutex_lock(&m) != 0;
    bad += pthread_mutex_trylock(&m) != EBUSY;
    bad += pthread_cond_timedwait(&c, &m, &past) != ETIMEDOUT;
    bad += pthread_cond_signal(&c) != 0;
    bad += pthread_cond_broadcast(&c) != 0;
    bad += pthread_mutex_unlock(&m) != 0;
    bad += pthread_mutex_timedlock(&m, &past) != 0;
    bad += pthread_mutex_unlock(&m) != 0;
    bad += pthread_rwlock_rdlock(&rw) != 0;
    bad += pthread_rwlock_unlock(&rw) != 0;
    bad += pthread_rwlock_wrlock(&rw) != 0;
    bad += pthread_rwlock_unlock(&rw) != 0;
    bad += sem_init(&s, 0, 0) != 0;
    bad += sem_post(&s) != 0;
    bad += sem_wait(&s) != 0;
    bad += !(sem_trywait(&s) == -1 && errno == EAGAIN);
    bad += !(write(-1, "x", 1) == -1 && errno == EBADF);
    bad += !(writev(-1, &v, 1) == -1 && errno == EBADF);
    bad += !(pwrite(-1, "x", 1, 0) == -1 && errno == EBADF);
    bad += !(fsync(-1) == -1 && errno == EBADF);
    bad += !(fdatasync(-1) == -1 && errno == EBADF);
    bad += syscall(SYS_getpid) != getpid();
    return bad ? -1 : 1;
}

static void before_all(int argc, char **argv, char **envp)
{
    (void)argc; (void)argv; (void)envp;
    early = use_everything();
}
__attribute__((section(".preinit_array"), used))
static void (*const hook)(int, char **, char **) = before_all;

__attribute__((constructor(101))) static void in_ctor(void) { ctor = use_everything(); }

int main(void)
{
    int late = use_everything();
    if (early != 1 || ctor != 1 || late != 1) {
        fprintf(stderr, "preinit %d constructor %d main %d\n", early, ctor, late);
        return 1;
    }
    puts("ok");
    return 0;
}

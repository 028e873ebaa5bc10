/* SPDX-License-Identifier: MIT */
/* Successful calls leave errno alone, failing ones set exactly the native
   value, and the pthread family never reports through errno at all, including
   on the slow path where a hook reads clocks, unwinds and records. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#define KEEP(e) do { errno = 4242; if (!(e)) die(__LINE__, #e); if (errno != 4242) die(__LINE__, "errno changed by " #e); } while (0)
#define SETS(e, v) do { errno = 0; if (!(e)) die(__LINE__, #e); if (errno != (v)) die(__LINE__, "wrong errno from " #e); } while (0)

static void die(int line, const char *what) { fprintf(stderr, "line %d: %s (errno %d)\n", line, what, errno); exit(1); }

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t s, go;

static void *holder(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_rwlock_wrlock(&rw);
    sem_post(&go);
    usleep(30000);
    pthread_mutex_unlock(&m);
    usleep(30000);
    pthread_rwlock_unlock(&rw);
    usleep(30000);
    sem_post(&s);
    usleep(30000);
    pthread_mutex_lock(&m);
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    return arg;
}

int main(void)
{
    pthread_t t;
    struct timespec past = { 1, 0 }, bad = { 0, 2000000000 };
    struct iovec v = { "ab", 2 };
    void *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = open("/dev/null", O_WRONLY), mfd = memfd_create("m", 0);
    sem_init(&s, 0, 0);
    sem_init(&go, 0, 0);
    pthread_create(&t, NULL, holder, NULL);
    while (sem_wait(&go)) ;
    KEEP(pthread_mutex_trylock(&m) == EBUSY);
    KEEP(pthread_mutex_timedlock(&m, &past) == ETIMEDOUT);
    KEEP(pthread_mutex_lock(&m) == 0);           /* blocks */
    KEEP(pthread_mutex_unlock(&m) == 0);
    KEEP(pthread_rwlock_rdlock(&rw) == 0);       /* blocks */
    KEEP(pthread_rwlock_unlock(&rw) == 0);
    KEEP(sem_wait(&s) == 0);                     /* blocks */
    KEEP(pthread_mutex_lock(&m) == 0);
    KEEP(pthread_cond_wait(&c, &m) == 0);        /* blocks */
    KEEP(pthread_cond_timedwait(&c, &m, &past) == ETIMEDOUT);
    KEEP(pthread_cond_timedwait(&c, &m, &bad) == EINVAL);
    KEEP(pthread_cond_broadcast(&c) == 0);
    KEEP(pthread_mutex_unlock(&m) == 0);
    KEEP(pthread_join(t, NULL) == 0 && sem_post(&s) == 0);
    KEEP(write(fd, "x", 1) == 1);
    KEEP(writev(fd, &v, 1) == 2);
    KEEP(pwrite(mfd, "x", 1, 7) == 1);
    KEEP(fsync(mfd) == 0);
    KEEP(fdatasync(mfd) == 0);
    KEEP(syscall(SYS_getppid) > 0);
    KEEP(sem_trywait(&s) == 0);
    SETS(sem_trywait(&s) == -1, EAGAIN);
    SETS(sem_timedwait(&s, &past) == -1, ETIMEDOUT);
    SETS(write(-1, "x", 1) == -1, EBADF);
    SETS(write(mfd, nowhere, 1) == -1, EFAULT);
    SETS(pwrite(mfd, "x", 1, -1) == -1, EINVAL);
    SETS(fsync(-1) == -1, EBADF);
    SETS(fsync(fd) == -1, EINVAL);
    SETS(fdatasync(-1) == -1, EBADF);
    SETS(syscall(SYS_read, -1, 0, 0) == -1, EBADF);
    puts("ok");
    return 0;
}

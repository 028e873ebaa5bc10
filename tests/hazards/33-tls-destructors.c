/* SPDX-License-Identifier: MIT */
/* Hooks are still called while a thread is dying: from thread-specific data
   destructors (all four rounds), from C++-style thread_local destructors, from
   clean-up handlers after pthread_exit, and in threads that outlive main. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern void *__dso_handle;

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_key_t keys[8];
static sem_t done;
static int fd, rounds, cxx, pushed;

static void use(void)
{
    struct timespec past = { 1, 0 };
    pthread_mutex_lock(&m);
    pthread_cond_timedwait(&c, &m, &past);
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    if (write(fd, "x", 1) != 1) _exit(3);
    fsync(fd);
}
static void on_key(void *v)
{
    long left = (long)v;
    use();
    __atomic_add_fetch(&rounds, 1, __ATOMIC_SEQ_CST);
    if (left > 1) pthread_setspecific(keys[left % 8], (void *)(left - 1));
}
static void on_cxx(void *v) { (void)v; use(); __atomic_add_fetch(&cxx, 1, __ATOMIC_SEQ_CST); }
static void on_pop(void *v) { (void)v; use(); __atomic_add_fetch(&pushed, 1, __ATOMIC_SEQ_CST); }

static __attribute__((noinline)) void deep(int n)
{
    use();
    if (n == 0) pthread_exit(NULL);
    deep(n - 1);
    use();
}
static void *body(void *arg)
{
    for (int i = 0; i < 8; i++) pthread_setspecific(keys[i], (void *)1L);
    pthread_setspecific(keys[0], (void *)4L);
    __cxa_thread_atexit_impl(on_cxx, NULL, &__dso_handle);
    pthread_cleanup_push(on_pop, NULL);
    if (arg) deep(5);
    pthread_cleanup_pop(1);
    return arg;
}
static void *detached(void *arg) { body(arg); sem_post(&done); return NULL; }
static void *last(void *arg)
{
    pthread_join(*(pthread_t *)arg, NULL);       /* main has exited by now */
    use();
    puts("ok");
    exit(0);
}

int main(void)
{
    static pthread_t self;
    pthread_t t;
    fd = open("/dev/null", O_WRONLY);
    sem_init(&done, 0, 0);
    for (int i = 0; i < 8; i++) pthread_key_create(&keys[i], on_key);
    for (long i = 0; i < 40; i++) {
        pthread_create(&t, NULL, body, (void *)(i & 1));
        pthread_join(t, NULL);
    }
    if (cxx != 40 || pushed != 40 || rounds < 40 * 8) { fprintf(stderr, "cxx %d pushed %d rounds %d\n", cxx, pushed, rounds); return 1; }
    for (int i = 0; i < 10; i++) { pthread_create(&t, NULL, detached, NULL); pthread_detach(t); while (sem_wait(&done)) ; }
    self = pthread_self();
    pthread_create(&t, NULL, last, &self);
    pthread_setspecific(keys[1], (void *)4L);
    pthread_exit(NULL);
}

/* SPDX-License-Identifier: MIT */
/* An allocator guarded by an ordinary pthread mutex, which also writes a log
   line while it holds it.  Any allocation made inside a mutex, write or
   thread-start hook re-enters the allocator and deadlocks. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char arena[96 << 20] __attribute__((aligned(64)));
static size_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside;
static int logfd = -1;
static unsigned long calls;

static void enter(void)
{
    if (inside) {
        static const char msg[] = "allocator re-entered from one of its own calls\n";
        if (write(2, msg, sizeof msg - 1) < 0) _exit(3);
        _exit(1);
    }
    inside = 1;
    pthread_mutex_lock(&lock);
    if (logfd >= 0 && ++calls % 64 == 0)
        if (write(logfd, "m", 1) != 1) _exit(3);
}
static void leave(void) { pthread_mutex_unlock(&lock); inside = 0; }

void *memalign(size_t al, size_t n)
{
    if (al < 32) al = 32;
    enter();
    size_t at = (used + 16 + al - 1) & ~(al - 1);
    if (at + n > sizeof arena) _exit(4);
    used = at + n;
    memcpy(arena + at - 8, &n, 8);
    leave();
    return arena + at;
}
void *malloc(size_t n) { return memalign(32, n); }
void *aligned_alloc(size_t a, size_t n) { return memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) { *p = memalign(a, n); return 0; }
void *calloc(size_t a, size_t b) { return memalign(32, a * b); }   /* arena is never reused */
void free(void *p) { if (p) { enter(); leave(); } }
void *realloc(void *p, size_t n)
{
    size_t old = 0;
    void *q = malloc(n);
    if (p) { memcpy(&old, (char *)p - 8, 8); memcpy(q, p, old < n ? old : n); free(p); }
    return q;
}

static void *work(void *arg)
{
    for (int i = 0; i < 4000; i++) {
        char *p = malloc(40 + i % 100);
        p[0] = 1;
        if (i % 16 == 0) p = realloc(p, 300);
        free(p);
    }
    return arg;
}

int main(void)
{
    pthread_t t[4];
    logfd = open("/dev/null", O_WRONLY);
    for (int i = 0; i < 4; i++) if (pthread_create(&t[i], NULL, work, NULL)) return 2;
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    puts("ok");
    return 0;
}

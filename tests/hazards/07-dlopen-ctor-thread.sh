#!/bin/sh
# SPDX-License-Identifier: MIT
# A library constructor (the loader lock is held) starts a thread and joins it.
# The thread makes the process's first use of many wrapped functions.  A hook
# that resolves lazily with dlsym, or unwinds through the loader, hangs here.
dir=$(mktemp -d "${TMPDIR:-/tmp}/hz07.XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT; trap "exit 1" TERM INT
cat > "$dir/lib.c" <<'X'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int plug_state;
static void *body(void *a)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
    struct timespec ts;
    sem_t s;
    clock_gettime(CLOCK_REALTIME, &ts);
    ts.tv_nsec += 5000000;
    if (ts.tv_nsec >= 1000000000) { ts.tv_nsec -= 1000000000; ts.tv_sec++; }
    sem_init(&s, 0, 0);
    sem_timedwait(&s, &ts);
    sem_post(&s); sem_wait(&s); sem_trywait(&s);
    pthread_mutex_lock(&m); pthread_cond_timedwait(&c, &m, &ts); pthread_cond_broadcast(&c); pthread_mutex_unlock(&m);
    pthread_mutex_trylock(&m); pthread_mutex_unlock(&m);
    pthread_rwlock_wrlock(&rw); pthread_rwlock_unlock(&rw); pthread_rwlock_tryrdlock(&rw); pthread_rwlock_unlock(&rw);
    int fd = open("/dev/null", O_WRONLY);
    if (write(fd, "x", 1) == 1 && fsync(fd) == -1 && errno == EINVAL && syscall(SYS_gettid) > 0) plug_state = 1;
    fdatasync(fd); close(fd);
    return a;
}
__attribute__((constructor)) static void on_load(void)
{
    pthread_t t;
    if (!pthread_create(&t, 0, body, 0)) pthread_join(t, 0);
}
X
cat > "$dir/main.c" <<'X'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    char path[4096];
    (void)argc;
    snprintf(path, sizeof path, "%s", argv[0]);
    strcpy(strrchr(path, '/'), "/lib.so");
    void *h = dlopen(path, RTLD_NOW);
    int *state = h ? dlsym(h, "plug_state") : 0;
    if (!state || *state != 1) { fprintf(stderr, "constructor thread failed\n"); return 1; }
    dlclose(h);
    puts("ok");
    return 0;
}
X
"${CC:-cc}" -O2 -fPIC -shared -pthread -o "$dir/lib.so" "$dir/lib.c" || exit 2
"${CC:-cc}" -O2 -pthread -o "$dir/main" "$dir/main.c" || exit 2
env ${CASE_PRELOAD:+LD_PRELOAD="$CASE_PRELOAD"} "$dir/main"

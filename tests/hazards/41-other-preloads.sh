#!/bin/sh
# SPDX-License-Identifier: MIT
# Other libraries preloaded before and behind ours: allocators that lock, and
# tools that wrap the same names.  Those that are installed are tried.
dir=$(mktemp -d "${TMPDIR:-/tmp}/hz41.XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT; trap "exit 1" TERM INT
cat > "$dir/p.c" <<'X'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *p)
{
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&m);
        char *x = malloc((size_t)(i * 7 % 5000 + 1));
        x[0] = 1;
        pthread_mutex_unlock(&m);
        free(x);
    }
    usleep(100);
    return p;
}
int main(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++) if (pthread_create(&t[i], 0, work, 0)) return 1;
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    FILE *f = tmpfile();
    if (!f || fsync(fileno(f)) != 0) return 1;
    puts("fine");
    return 0;
}
X
# one that wraps lock and write itself, by lazy dlsym
cat > "$dir/own.c" <<'X'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
int pthread_mutex_lock(pthread_mutex_t *m)
{
    static int (*real)(pthread_mutex_t *);
    if (!real) real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
    return real(m);
}
int fsync(int fd)
{
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    return real(fd);
}
X
"${CC:-cc}" -O2 -pthread -o "$dir/p" "$dir/p.c" && "${CC:-cc}" -O2 -fPIC -shared -o "$dir/own.so" "$dir/own.c" || exit 2
ours=${CASE_PRELOAD:-$LD_PRELOAD}
list="$dir/own.so"
for l in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2 libeatmydata.so libfakeroot-sysv.so libfaketimeMT.so.1; do
    for d in /usr/lib/*-linux-gnu /usr/lib/*-linux-gnu/libfakeroot /usr/lib/*-linux-gnu/faketime; do
        [ -e "$d/$l" ] && list="$list $d/$l" && break
    done
done
for l in $list; do
    for order in "$l${ours:+:$ours}" "${ours:+$ours:}$l"; do
        got=$(env LD_PRELOAD="$order" timeout 20 "$dir/p" 2>&1)
        [ "$got" = fine ] || { echo "$order: $got" >&2; exit 1; }
    done
done
echo ok

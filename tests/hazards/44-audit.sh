#!/bin/sh
# SPDX-License-Identifier: MIT
# An audit library beside the preload: another namespace with its own libc, and
# the loader calls into it all the time.
dir=$(mktemp -d "${TMPDIR:-/tmp}/hz44.XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT; trap "exit 1" TERM INT
cat > "$dir/audit.c" <<'X'
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
unsigned la_version(unsigned v) { return v; }
unsigned la_objopen(struct link_map *l, Lmid_t n, uintptr_t *c)
{
    pthread_mutex_lock(&m);
    usleep(1);
    pthread_mutex_unlock(&m);
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
X
cat > "$dir/p.c" <<'X'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *nap(void *p) { for (int i = 0; i < 30; i++) usleep(100); return p; }
int main(void)
{
    pthread_t t;
    if (pthread_create(&t, 0, nap, 0)) return 1;
    for (int i = 0; i < 5; i++) { void *h = dlopen("libm.so.6", RTLD_NOW); if (!h || dlclose(h)) return 1; }
    pthread_join(t, 0);
    puts("ok");
    return 0;
}
X
"${CC:-cc}" -O2 -fPIC -shared -pthread -o "$dir/audit.so" "$dir/audit.c" &&
"${CC:-cc}" -O2 -pthread -o "$dir/p" "$dir/p.c" || exit 2
env LD_AUDIT="$dir/audit.so" ${CASE_PRELOAD:+LD_PRELOAD="$CASE_PRELOAD"} "$dir/p"

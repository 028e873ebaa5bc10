#!/bin/sh
# SPDX-License-Identifier: MIT
# A C program that loads a C++ plug-in.  If the interposer drags a second
# unwinder (libunwind.so.8 exports the _Unwind_* names) into the global scope,
# libstdc++ binds to it: exceptions take another unwinder and the destructors
# of a cancelled thread silently stop running.
dir=$(mktemp -d "${TMPDIR:-/tmp}/hz06.XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT; trap "exit 1" TERM INT
command -v "${CXX:-c++}" >/dev/null 2>&1 || { echo ok; exit 0; }
cat > "$dir/plug.cc" <<'X'
#include <cstdio>
#include <stdexcept>
#include <unistd.h>
struct Scope { const char *n; ~Scope() { printf("-%s", n); fflush(stdout); } };
static void dig(int n) { Scope s{"f"}; if (n) dig(n - 1); else throw std::runtime_error("boom"); }
extern "C" int throws(void) { try { dig(3); } catch (const std::exception &e) { printf(" %s ", e.what()); return 1; } return 0; }
extern "C" void *cancelled(void *) { Scope s{"cancelled"}; for (;;) usleep(10000); }
X
cat > "$dir/main.c" <<'X'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char path[4096];
    (void)argc;
    snprintf(path, sizeof path, "%s", argv[0]);
    strcpy(strrchr(path, '/'), "/plug.so");
    void *h = dlopen(path, RTLD_NOW), *r = 0;
    if (!h) { puts(dlerror()); return 1; }
    if (!((int (*)(void))dlsym(h, "throws"))()) return 1;
    pthread_t t;
    pthread_create(&t, 0, (void *(*)(void *))dlsym(h, "cancelled"), 0);
    usleep(30000);
    pthread_cancel(t);
    pthread_join(t, &r);
    puts(r == PTHREAD_CANCELED ? " done" : " not cancelled");
    return 0;
}
X
"${CXX:-c++}" -O1 -fPIC -shared -o "$dir/plug.so" "$dir/plug.cc" || exit 2
"${CC:-cc}" -O1 -pthread -o "$dir/main" "$dir/main.c" || exit 2
out=$(env ${CASE_PRELOAD:+LD_PRELOAD="$CASE_PRELOAD"} "$dir/main" 2>&1)
want='-f-f-f-f boom -cancelled done'
[ "$out" = "$want" ] || { echo "got:  $out" >&2; echo "want: $want" >&2; exit 1; }
echo ok

#!/bin/sh
# SPDX-License-Identifier: MIT
# A plug-in that only the program's own RUNPATH names: a wrapper round dlopen
# would make libc look at the wrapper's RUNPATH instead, and it is not found.
dir=$(mktemp -d "${TMPDIR:-/tmp}/hz42.XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT; trap "exit 1" TERM INT
mkdir "$dir/plugins"
echo 'int answer(void) { return 42; }' > "$dir/plug.c"
cat > "$dir/main.c" <<'X'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    for (int i = 0; i < 3; i++) {
        void *h = dlopen("libhz42plug.so", RTLD_NOW);
        if (!h) { puts(dlerror()); return 1; }
        if (((int (*)(void))dlsym(h, "answer"))() != 42 || dlclose(h)) return 1;
    }
    puts("ok");
    return 0;
}
X
"${CC:-cc}" -fPIC -shared -o "$dir/plugins/libhz42plug.so" "$dir/plug.c" &&
"${CC:-cc}" -o "$dir/main" "$dir/main.c" -Wl,--enable-new-dtags "-Wl,-rpath,$dir/plugins" || exit 2
env ${CASE_PRELOAD:+LD_PRELOAD="$CASE_PRELOAD"} "$dir/main"

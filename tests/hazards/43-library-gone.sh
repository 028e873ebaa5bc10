#!/bin/sh
# SPDX-License-Identifier: MIT
# The process tree's environment is washed, the working folder is removed and
# the program file is replaced while it runs: none of it is ours to notice.
dir=$(mktemp -d "${TMPDIR:-/tmp}/hz43.XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT; trap "exit 1" TERM INT
cat > "$dir/p.c" <<'X'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *nap(void *p) { for (int i = 0; i < 50; i++) usleep(100); return p; }
int main(int argc, char **argv)
{
    pthread_t t;
    char cwd[] = "/tmp/hz43d.XXXXXX";
    if (argc > 1) { usleep(100); return 9; }
    clearenv();
    if (!mkdtemp(cwd) || chdir(cwd) || rmdir(cwd)) return 1;
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return 1;
    self[n] = 0;
    if (unlink(self)) return 1;
    if (pthread_create(&t, 0, nap, 0) || pthread_join(t, 0)) return 1;
    int status;
    pid_t pid = fork();
    if (pid == 0) { execl("/proc/self/exe", argv[0], "again", (char *)0); _exit(1); }
    if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 9) return 1;
    puts("ok");
    return 0;
}
X
"${CC:-cc}" -O2 -pthread -o "$dir/p" "$dir/p.c" || exit 2
env ${CASE_PRELOAD:+LD_PRELOAD="$CASE_PRELOAD"} "$dir/p"

#!/bin/sh
# SPDX-License-Identifier: MIT
# A 32-bit child, for which the loader cannot use the library: it says so once on
# standard error, and nothing else changes, neither the child's work and status nor
# what is recorded of its 64-bit parent and its 64-bit child.
dir=$(mktemp -d "${TMPDIR:-/tmp}/hz47.XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT; trap "exit 1" TERM INT
cat > "$dir/child.c" <<'X'
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
_Static_assert(sizeof(void *) == 4, "32 bits");
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int turn;
static void *work(void *p)
{
    int me = p != NULL;
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&m);
        while (turn != me) pthread_cond_wait(&c, &m);
        turn = !me;
        nanosleep(&(struct timespec){ 0, 1000 }, NULL);
        pthread_cond_broadcast(&c);
        pthread_mutex_unlock(&m);
    }
    return p;
}
int main(int argc, char **argv)
{
    pthread_t t[2];
    char line[64];
    for (int i = 0; i < 2; i++) if (pthread_create(&t[i], NULL, work, i ? &m : NULL)) return 1;
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    while (fgets(line, sizeof line, stdin)) {
        for (char *p = line; *p; p++) *p = (char)toupper(*p);
        fputs(line, stdout);
    }
    fflush(stdout);
    fputs("child's own complaint\n", stderr);
    return system(argv[1]) == 5 << 8 ? 7 : 1;
}
X
# the parent, "EMULATOR CHILD": sleeps 23 times; the child's child, "again": 11 times
cat > "$dir/parent.c" <<'X'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static __attribute__((noinline)) void nap(int n) { while (n--) nanosleep(&(struct timespec){ 0, 100000 }, NULL); }
int main(int argc, char **argv)
{
    int to[2], from[2], status;
    char again[4200], got[256];
    if (argc == 2) { nap(11); return 5; }
    if (pipe(to) || pipe(from)) return 2;
    nap(12);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(to[0], 0); dup2(from[1], 1);
        close(to[0]); close(to[1]); close(from[0]); close(from[1]);
        snprintf(again, sizeof again, "%s again", argv[0]);
        if (*argv[1]) execlp(argv[1], argv[1], argv[2], again, (char *)0);
        else execl(argv[2], argv[2], again, (char *)0);
        _exit(3);
    }
    close(to[0]); close(from[1]);
    if (write(to[1], "one\ntwo\n", 8) != 8 || close(to[1])) return 2;
    size_t n = 0;
    ssize_t r;
    while ((r = read(from[0], got + n, sizeof got - n)) > 0) n += (size_t)r;
    nap(11);
    if (waitpid(pid, &status, 0) != pid) return 2;
    printf("%.*sstatus %d\n", (int)n, got, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}
X
"${CC:-cc}" -O2 -g -pthread -o "$dir/parent" "$dir/parent.c" || exit 2
gcc -m32 -O2 -pthread -o "$dir/child" "$dir/child.c" 2> "$dir/cc" ||
    { echo "gcc cannot build 32-bit programs (gcc-multilib)"; exit 77; }
# Some kernels run no 32-bit programs.  The emulator has the 32-bit loader do the same work.
emulator=
echo | "$dir/child" true > /dev/null 2>&1
if [ $? = 126 ]; then
    emulator=$(command -v qemu-i386) || { echo "this kernel runs no 32-bit programs, and there is no qemu-i386"; exit 77; }
fi
run() { # NAME COMMAND...
    name=$1
    shift
    timeout 25 "$@" "$dir/parent" "$emulator" "$dir/child" > "$dir/$name.out" 2> "$dir/$name.err"
    echo "exit $?" >> "$dir/$name.out"
}
complaint='^ERROR: ld\.so: object .*/libtarry\.so. from LD_PRELOAD cannot be preloaded (wrong ELF class: ELFCLASS64): ignored\.$'
same() { # NAME COMPLAINTS
    printf 'ONE\nTWO\nstatus 7\nexit 0\n' | diff - "$dir/$1.out" >&2 || exit 1
    [ "$(grep -c "$complaint" "$dir/$1.err")" = "$2" ] &&
        [ "$(grep -v "$complaint" "$dir/$1.err")" = "child's own complaint" ] ||
        { echo "$1: standard error:" >&2; cat "$dir/$1.err" >&2; exit 1; }
}
ours=${CASE_PRELOAD:-$LD_PRELOAD}
run bare env -u LD_PRELOAD -u TARRY_STORE -u TARRY_ARENA
same bare 0
if [ -n "$ours" ]; then
    run below env LD_PRELOAD="$ours"
    same below 1
else
    run whole "$TARRY" record -q -o "$dir/s.tarry" --
    same whole 1
    "$TARRY" info --json "$dir/s.tarry" > "$dir/info" && "$TARRY" dump --json "$dir/s.tarry" > "$dir/dump" || exit 1
    python3 - "$dir" >&2 <<'X' || exit 1
import collections, json, sys
where = sys.argv[1]
info = json.load(open(where + "/info"))
naps = collections.Counter(e["pid"] for e in map(json.loads, open(where + "/dump"))
                           if e["operation"] == "nanosleep" and e["function"] == "nap")
assert sorted(naps.values()) == [11, 23], naps
assert info["state"] == "complete" and all(p["ended"] for p in info["processes"]), info["processes"]
assert not any(p["exe"].endswith("/child") for p in info["processes"]), "a 32-bit process is listed"
lost = {k: n for k, n in info["losses"].items() if n and k in ("ring_full", "no_slot", "bad_record", "store_behind", "store_full")}
assert not lost, lost
X
fi
echo ok

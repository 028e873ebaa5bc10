#!/bin/sh
# SPDX-License-Identifier: MIT
# The library in /etc/ld.so.preload, of a root of our own: every program there has
# it, must run as without it and leave nothing behind, and only the one that asks
# by TARRY_STORE is recorded, when there is a recorder.
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
unset LD_PRELOAD TARRY_STORE TARRY_ARENA
# Mounts of a namespace of our own end with it, whatever happens to us.
[ -n "$HAZARD_NAMESPACE" ] || {
    unshare --mount true 2> /dev/null || { echo "no mount namespace of our own"; exit 77; }
    HAZARD_NAMESPACE=1 exec unshare --mount --propagation private sh "$0"
}
dir=$(mktemp -d "${TMPDIR:-/tmp}/hz48.XXXXXX") || exit 2
root=$dir/root
trap 'umount -l "$root/proc" 2> /dev/null; rm -rf --one-file-system "$dir"' EXIT; trap "exit 1" TERM INT
fail() { echo "$*" >&2; exit 1; }
cat > "$dir/threads.c" <<'X'
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int turn;
__attribute__((noinline)) static void nap(int n) { while (n--) nanosleep(&(struct timespec){ 0, 100000 }, NULL); }
static void *work(void *p)
{
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&m);
        while (turn != (p != NULL)) pthread_cond_wait(&c, &m);
        turn = p == NULL;
        pthread_cond_broadcast(&c);
        pthread_mutex_unlock(&m);
    }
    return p;
}
int main(void)
{
    pthread_t t[2];
    int status;
    for (int i = 0; i < 2; i++) if (pthread_create(&t[i], NULL, work, i ? &m : NULL)) return 1;
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    nap(13);
    pid_t pid = fork();
    if (pid == 0) { execl("/bin/sh", "sh", "-c", "exit 6", (char *)0); _exit(1); }
    if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 6) return 1;
    if (wait(&status) != -1) return 1; /* a child that is not ours */
    puts("threads");
    return 4;
}
X
mkdir -p "$root/bin" "$root/etc" "$root/tmp" "$root/proc" "$root/opt/lib/tarry" "$root/opt/bin" && chmod 1777 "$root/tmp"
"${CC:-cc}" -O2 -g -pthread -o "$root/bin/threads" "$dir/threads.c" || exit 2
for p in ls cat sort uniq env; do cp "$(command -v $p)" "$root/bin/$p" || exit 2; done
cp "$(command -v bash)" "$root/bin/sh" && cp "$TARRY" "$root/opt/bin/tarry" || exit 2
cp "${TARRY%/*}/libtarry.so" "$root/opt/lib/tarry/libtarry.so" || exit 2
for l in $(ldd "$root"/bin/* "$root/opt/bin/tarry" | grep -o '/[^ )]*\.so[^ )]*' | sort -u); do
    mkdir -p "$root${l%/*}" && cp "$l" "$root$l" || exit 2
done
cp "$root/bin/threads" "$root/bin/privileged" && chmod 4755 "$root/bin/privileged" || exit 2
mount -t proc proc "$root/proc" 2> /dev/null || { echo "/proc cannot be mounted"; exit 77; }

inside() { timeout 20 chroot "$root" /bin/env -i PATH=/bin "$@"; }
work() { # what programs of that root print
    inside ls -l /bin; echo "ls $?"
    inside sh -c 'echo out; echo err >&2; exit 3'; echo "sh $?"
    inside sh -c 'for i in 3 1 2 3; do echo $i; done | sort --parallel=2 | uniq -c | cat; (exit 5) & wait $!; exit $?'; echo "pipe $?"
    inside sh -c 'kill -TERM $$'; echo "killed $?"
    inside sh -c 'cat <&-; echo x >&-'; echo "closed $?"
    inside threads; echo "threads $?"
}
settled() { # no process of that root is left
    n=0
    while [ $n -lt 100 ]; do
        readlink /proc/[0-9]*/root 2> /dev/null | grep -qxF "$root" || return
        n=$((n + 1))
        sleep 0.1
    done
    fail "a process is left in that root"
}
files() { (cd "$root" && find . -path ./proc -prune -o -print | sort); }
whole() { # NAME: the program of the store slept 13 times in nap
    [ "$(timeout 20 "$TARRY" dump --op nanosleep "$1" | grep -c ' nap$')" = 13 ] || fail "$1 is not whole"
}

work > "$dir/want" 2>&1
grep -q '^threads 4$' "$dir/want" || fail "$(cat "$dir/want")"
echo /opt/lib/tarry/libtarry.so > "$root/etc/ld.so.preload"
inside sh -c 'cat /proc/self/maps' | grep -q libtarry.so || fail "the library is not preloaded"
files > "$dir/before"
work > "$dir/got" 2>&1
diff "$dir/want" "$dir/got" >&2 || fail "programs behave differently"
settled
files | diff "$dir/before" - >&2 || fail "files left behind"

# one that asks, beside others that do not
[ "$(inside TARRY_STORE=/tmp/one.tarry threads; echo $?)" = "threads
4" ] || fail "the recorded program behaves differently"
settled
whole "$root/tmp/one.tarry"
rm -f "$root"/tmp/one.tarry*
# one with more rights than who asks
[ "$(timeout 20 chroot --userspec=65534:65534 "$root" /bin/env -i TARRY_STORE=/tmp/one.tarry /bin/privileged; echo $?)" = \
    "threads
4" ] || fail "the privileged program behaves differently"
# no recorder
rm "$root/opt/bin/tarry"
[ "$(inside TARRY_STORE=/tmp/one.tarry threads 2>&1; echo $?)" = "threads
4" ] || fail "a program without a recorder behaves differently"
settled
files | diff "$dir/before" - | grep '^>' >&2 && fail "files left behind"
echo ok

#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 120.  How a program is started and stood in for: small stacks,
# ignored SIGCHLD, limits on file size and address space, every signal that can be
# passed on, a terminal that goes away, orphans.
. "$(dirname "$0")/lib.sh"
cat >"$W/p.c" <<'X'
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t got;
static void on(int s) { got = s; }
int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "signal")) { /* says ready, prints the first signal that comes */
		sigset_t all, none;
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
		for (int i = 1; i < 65; i++) signal(i, on);
		puts("ready"); fflush(stdout);
		sigemptyset(&none);
		while (!got) sigsuspend(&none);
		printf("%d\n", (int)got);
		return 0;
	}
	if (!strcmp(what, "orphan")) { /* a child that waits until its parent is gone */
		pid_t parent = getpid();
		if (fork() == 0) {
			while (getppid() == parent) usleep(1000);
			printf("%s\n", getppid() == (pid_t)atoi(argv[2]) ? "adopted as bare" : "adopted by another");
			fflush(stdout);
			_exit(0);
		}
		return 0;
	}
	puts("here");
	return 4;
}
X
$CC -O2 -o "$W/p" "$W/p.c" || exit 1
rec() { rm -f "$W"/s.tarry*; timeout -k 5 20 "$TARRY" record -q -o "$W/s.tarry" -- "$@"; }
here() { [ "$(cat "$W/out")" = here ] && [ "$1" = 4 ]; }
for kb in 64 256 512; do
	rec sh -c "ulimit -s $kb; exec $W/p" >"$W/out" 2>&1
	check "a stack of $kb KiB" here $?
done
env --ignore-signal=CHLD "$TARRY" record -q -o "$W/c.tarry" -- "$W/p" >"$W/out" 2>&1 &
pid=$!
for i in $(seq 200); do kill -0 $pid 2>/dev/null || break; sleep 0.05; done
kill -9 $pid 2>/dev/null && fail "ignored SIGCHLD: does not end"
wait $pid; check "SIGCHLD ignored" here $?
(ulimit -S -f 100; rec "$W/p" >"$W/out" 2>&1); check "a soft limit on file size" here $?
(ulimit -f 100; rec "$W/p" >"$W/out" 2>"$W/err"); rc=$?
check "a hard limit on file size: one line, status 1" [ "$rc $(wc -l <"$W/err")" = "1 1" ]
for s in HUP INT QUIT USR1 USR2 ALRM TERM CONT WINCH URG IO XCPU VTALRM PROF RTMIN RTMIN+1 RTMAX; do
	rm -f "$W"/s.tarry* "$W/fifo"; mkfifo "$W/fifo"
	"$TARRY" record -q -o "$W/s.tarry" -- "$W/p" signal >"$W/fifo" 2>&1 &
	pid=$!
	exec 5<"$W/fifo"
	read -r line <&5; kill -$s $pid; read -r -t 20 number <&5; exec 5<&-
	wait $pid; rc=$?
	want=$(kill -l "$s" 2>/dev/null || kill -l | tr ' ' '\n' | grep -n . | sed -n "s/:$s\$//p")
	case $s in RTMIN) want=34 ;; RTMIN+1) want=35 ;; RTMAX) want=64 ;; esac
	check "signal $s is passed on" [ "$line $number $rc" = "ready $want 0" ]
done
# the terminal goes away: only the session's leader is told
check "hangup of the terminal reaches the program" $PY - "$TARRY" "$W/h.tarry" "$W/p" <<'X'
import os, pty, sys, signal
tarry, store, prog = sys.argv[1:]
pid, fd = pty.fork()
if pid == 0:
    os.execv(tarry, [tarry, "record", "-q", "-o", store, "--", "sleep", "30"])
while not os.path.exists(store) or os.path.getsize(store) == 0:
    pass
for _ in range(400):  # until the program is there
    kids = open(f"/proc/{pid}/task/{pid}/children").read().split()
    if kids and open(f"/proc/{kids[0]}/comm").read() == "sleep\n":
        break
    os.sched_yield()
    import time; time.sleep(0.01)
os.close(fd)
signal.alarm(15)
status = os.waitpid(pid, 0)[1]
sys.exit(0 if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 128 + signal.SIGHUP or os.WIFSIGNALED(status) else 1)
X
# who adopts orphans here: PID 1, or a subreaper above us
init=$($PY -c '
import os, sys
r, w = os.pipe()
if os.fork() == 0:
    me = os.getpid()
    if os.fork() == 0:
        while os.getppid() == me: pass
        os.write(w, str(os.getppid()).encode()); os._exit(0)
    os._exit(0)
os.wait(); print(os.read(r, 20).decode())')
check "orphans are adopted as without us" [ "$(rec "$W/p" orphan "$init")" = "adopted as bare" ]
done_

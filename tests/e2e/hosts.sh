#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 180.  Hosts with limits or special places in the process tree: PID 1,
# subreapers, mlockall, a small address space, a small memory cgroup.
. "$(dirname "$0")/lib.sh"
build worker || done_
"$W/worker" >"$W/bare" 2>&1
cat >"$W/special.c" <<'C'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <stdlib.h>
#include <unistd.h>
/* special subreaper|mlock|as MB CMD...: takes the property, then becomes CMD */
int main(int argc, char **argv)
{
	if (argc < 3)
		return 125;
	int rest = 2;
	if (!strcmp(argv[1], "subreaper")) {
		if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
			return 125;
	} else if (!strcmp(argv[1], "as")) {
		struct rlimit r = {(rlim_t)atol(argv[2]) << 20, (rlim_t)atol(argv[2]) << 20};
		if (setrlimit(RLIMIT_AS, &r) != 0)
			return 125;
		rest = 3;
	}
	execv(argv[rest], argv + rest);
	return 125;
}
C
cat >"$W/locked.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
/* all memory locked, present and future */
static void *nap(void *p) { usleep(1000); return p; }
int main(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) { puts("not allowed"); return 0; }
	for (int i = 0; i < 50; i++) {
		pthread_t t;
		if (pthread_create(&t, NULL, nap, NULL) != 0) { puts("no thread"); return 1; }
		pthread_join(t, NULL);
	}
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = 0;
	while (f && fgets(line, sizeof line, f))
		sscanf(line, "VmLck: %ld", &kb);
	puts(kb < 400000 ? "little locked" : "too much locked");
	return 0;
}
C
$CC -O2 -o "$W/special" "$W/special.c" && $CC -O2 -pthread -o "$W/locked" "$W/locked.c" || { fail compile; done_; }

both() { # NAME COMMAND... under tarry record and under plain preload: as bare
	local name=$1 n=${1// /-}
	shift
	timeout -k 5 60 "$TARRY" record -q -o "$W/$n.tarry" -- "$@" >"$W/got" 2>&1
	same "$name, recorded" 3 "$W/bare" $? "$W/got" && good "$name, recorded"
	local cmd=() a
	for a; do # only the worker gets the preload
		[ "$a" = "$W/worker" ] && cmd+=(/usr/bin/env "LD_PRELOAD=$LIB" "TARRY_STORE=$W/$n-pre.tarry")
		cmd+=("$a")
	done
	timeout 60 "${cmd[@]}" >"$W/got" 2>&1
	same "$name, preload" 3 "$W/bare" $? "$W/got" && good "$name, preload"
}

if unshare -p -f true 2>/dev/null; then
	both "pid-1 of a namespace" unshare -p -f "$W/worker"
	[ ! -e "$W/pid-1-of-a-namespace-pre.tarry" ] && good "PID 1 stays off" || fail "PID 1 got a child it must reap"
	cat >"$W/inner.c" <<'C'
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
/* forks into a PID namespace without becoming another program */
int main(void)
{
	int status;
	if (unshare(CLONE_NEWPID) != 0)
		return 1;
	pid_t pid = fork();
	if (pid == 0) {
		usleep(100);
		if (fork() == 0) { usleep(100); _exit(0); }
		wait(&status);
		_exit(getpid());
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status) == 1 ? 3 : 2;
}
C
	$CC -O2 -D_GNU_SOURCE -o "$W/inner" "$W/inner.c" || fail compile
	timeout -k 5 60 "$TARRY" record -q -o "$W/inner.tarry" -- "$W/inner" >"$W/got" 2>&1
	rc=$?
	[ $rc = 3 ] && [ ! -s "$W/got" ] && good "forks into a namespace, recorded" || fail "forks into a namespace: status $rc"
else
	echo "skip PID 1: no right to make a namespace"
fi
both "subreaper" "$W/special" subreaper "$W/worker"
[ ! -e "$W/subreaper-pre.tarry" ] && good "a subreaper stays off" || fail "a subreaper got a child it must reap"
both "address-space of 60 MB" "$W/special" as 60 "$W/worker"
both "address-space of 300 MB" "$W/special" as 300 "$W/worker"

want=$("$W/locked")
got=$("$TARRY" record -q -o "$W/locked.tarry" -- "$W/locked" 2>&1)
[ "$got" = "$want" ] && good "mlockall, recorded: $got" || fail "mlockall, recorded: '$got', bare '$want'"
got=$(LD_PRELOAD=$LIB TARRY_STORE=$W/locked2.tarry "$W/locked" 2>&1)
[ "$got" = "$want" ] && good "mlockall, preload" || fail "mlockall, preload: '$got', bare '$want'"

# 64 MB for the program and the recorder together
cg=
for d in /sys/fs/cgroup /sys/fs/cgroup/unified; do # version 2
	grep -qw memory $d/cgroup.controllers 2>/dev/null && mkdir "$d/tarry-test.$$" 2>/dev/null && cg=$d/tarry-test.$$ &&
		file=memory.max && break
done
[ -z "$cg" ] && mkdir "/sys/fs/cgroup/memory/tarry-test.$$" 2>/dev/null && cg=/sys/fs/cgroup/memory/tarry-test.$$ file=memory.limit_in_bytes
if [ -n "$cg" ] && echo 64M >"$cg/$file" 2>/dev/null; then
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cg" "$TARRY" record -q -o "$W/cg.tarry" -- "$W/worker" 20000 >"$W/got" 2>&1
	rc=$?
	"$W/worker" 20000 >"$W/bare2" 2>&1
	same "64 MB cgroup" 3 "$W/bare2" $rc "$W/got" && good "64 MB cgroup"
else
	echo "skip 64 MB cgroup: cannot make one"
fi
[ -n "$cg" ] && { sleep 0.2; rmdir "$cg"; }
done_

#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 120.  The store's file system is full: the program is undisturbed, the loss
# is counted, one line says so and the status is not zero.
. "$(dirname "$0")/lib.sh"
mkdir "$W/small"
mount -t tmpfs -o size=8m none "$W/small" 2>/dev/null || skip "needs the right to mount a file system"
CLEANUP="umount $W/small"
build worker || done_
cat >"$W/spin.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int p[2];
	char c = 0;
	if (argc < 2 || pipe(p) != 0)
		return 1;
	for (long i = 0, n = atol(argv[1]), x = 88172645463325252; i < n; i++) {
		x ^= x << 13; x ^= (long)((unsigned long)x >> 7); x ^= x << 17; /* durations that do not compress well */
		for (volatile long k = x & 255; k > 0; k--)
			;
		if (write(p[1], &c, 1) != 1 || read(p[0], &c, 1) != 1)
			return 1;
	}
	puts("done");
	return 0;
}
C
$CC -O2 -o "$W/spin" "$W/spin.c" || { fail compile; done_; }
timeout 100 "$TARRY" record -q -o "$W/small/s.tarry" -- "$W/spin" 5000000 >"$W/out" 2>"$W/err"
rc=$?
check "program is undisturbed" test "$(cat "$W/out")" = done
[ $rc != 0 ] && good "status is $rc" || fail "status is 0 with a full disk: $(df -h "$W/small" | tail -1)"
[ "$(wc -l <"$W/err")" = 1 ] && good "one line: $(cat "$W/err")" || fail "lines on stderr: $(head -3 "$W/err")"
opens() { "$TARRY" info "$1" >"$W/info" 2>&1 || { cat "$W/info"; return 1; }; }
check "the store opens" opens "$W/small/s.tarry"
grep -qi "store_full\|not complete\|incomplete" "$W/info" && good "and says that it is not complete" || fail "info does not say so: $(head -3 "$W/info")"
done_

#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 120.  What is recorded can be chosen: tarry ctl on|off, --paused,
# --no-children, --only.
. "$(dirname "$0")/lib.sh"
build worker || done_
cat >"$W/steps.c" <<'C'
#include <stdio.h>
#include <unistd.h>
/* as many fsync as each line of input says */
int main(int argc, char **argv)
{
	int n, fd = fileno(tmpfile());
	while (scanf("%d", &n) == 1) {
		while (n-- > 0)
			if (fsync(fd) != 0)
				return 1;
		puts("ok");
		fflush(stdout);
	}
	return 0;
}
C
$CC -O2 -o "$W/steps" "$W/steps.c" || { fail compile; done_; }
count() { # STORE OP -> finished waits
	printf 'expect %s count 0\n' "$2" | $PY "$TOP/tests/e2e/expect.py" "$TARRY" "$1"
}
is() { [ "$2" = "$3" ] && good "$1" || fail "$1: $2, $3 was due"; }

session() { # STORE PAUSED: talks to steps over two pipes
	mkfifo "$W/in" "$W/out"
	"$TARRY" record -q $2 -o "$1" -- "$W/steps" <"$W/in" >"$W/out" 2>"$W/err" &
	rec=$!
	exec 8>"$W/in" 9<"$W/out"
}
step() { echo "$1" >&8; read -r -t 20 x <&9; [ "${x:-}" = ok ] || fail "the program does not answer"; }
over() { exec 8>&- 9<&-; wait $rec; is "status" $? 0; rm -f "$W/in" "$W/out"; }

session "$W/a.tarry" ""
step 7
check "off" "$TARRY" ctl "$W/a.tarry" off
step 100
check "on" "$TARRY" ctl "$W/a.tarry" on
step 5
over
is "on, off, on" "$(count "$W/a.tarry" fsync)" 12

session "$W/b.tarry" --paused
step 100
check "on after --paused" "$TARRY" ctl "$W/b.tarry" on
step 11
over
is "--paused" "$(count "$W/b.tarry" fsync)" 11

"$TARRY" ctl "$W/b.tarry" on >"$W/got" 2>&1
rc=$?
[ $rc = 1 ] && [ "$(wc -l <"$W/got")" = 1 ] && good "ctl on an ended recording: $(cat "$W/got")" ||
	fail "ctl on an ended recording: status $rc, $(cat "$W/got")"

"$TARRY" record -q --no-children -o "$W/c.tarry" -- "$W/worker" 20 >"$W/got" 2>&1
is "--no-children: status" $? 3
is "--no-children: parent" "$(count "$W/c.tarry" fsync)" 23
is "--no-children: child" "$(count "$W/c.tarry" fdatasync)" 0

cp "$W/worker" "$W/helper"
"$TARRY" record -q --only helper -o "$W/d.tarry" -- sh -c '"$0/worker" 20; "$0/helper" 20; exit 4' "$W" >"$W/got" 2>&1
is "--only: status" $? 4
is "--only: one of two" "$(count "$W/d.tarry" fsync)" 23
done_

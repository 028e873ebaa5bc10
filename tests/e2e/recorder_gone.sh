#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 120.  The recorder is killed or stopped while the program runs: the
# program goes on as if nothing had happened, and the store opens.
. "$(dirname "$0")/lib.sh"
build worker || done_
"$W/worker" 60000 >"$W/bare" 2>&1
RUN='"$0/worker" 60000 >"$0/got" 2>&1; echo $? >"$0/rc.new"; mv "$0/rc.new" "$0/rc"'

begin() { # STORE: starts it and waits until events arrive
	rm -f "$W/rc" "$W/got"
	"$TARRY" record -q -o "$1" -- sh -c "$RUN" "$W" 2>"$W/err" &
	rec=$!
	for _ in $(seq 400); do [ -s "$W/got" ] || [ -s "$1" ] && break; sleep 0.01; done
	sleep 0.2
}
until_done() { for _ in $(seq 600); do [ -s "$W/rc" ] && return 0; sleep 0.05; done; echo "the program hangs"; return 1; }
opens() { "$TARRY" info "$1" >"$W/info" 2>&1 || { cat "$W/info"; return 1; }; }

begin "$W/a.tarry"
kill -9 $rec
wait $rec 2>/dev/null
check "killed recorder: program ends" until_done
same "killed recorder" 3 "$W/bare" "$(cat "$W/rc")" "$W/got" && good "killed recorder: same output"
check "killed recorder: store opens" opens "$W/a.tarry"

begin "$W/b.tarry"
kill -STOP $rec
check "stopped recorder: program ends" until_done
same "stopped recorder" 3 "$W/bare" "$(cat "$W/rc")" "$W/got" && good "stopped recorder: same output"
kill -CONT $rec
wait $rec
rc=$?
[ $rc = 0 ] && good "stopped recorder: goes on" || fail "stopped recorder: status $rc: $(cat "$W/err")"
check "stopped recorder: store opens" opens "$W/b.tarry"

# the same for a recorder that the library started itself
rm -f "$W/rc"
TARRY_STORE=$W/c.tarry LD_PRELOAD=$LIB sh -c "$RUN" "$W" &
for _ in $(seq 400); do [ -s "$W/c.tarry" ] && break; sleep 0.01; done
sleep 0.1
pid=$(grep -lsa -e "$W/c.tarry" /proc/[0-9]*/cmdline | sed 's|/proc/||; s|/.*||' | head -1) # only the recorder names it
if [ -n "$pid" ]; then
	kill -9 "$pid"
	check "killed own recorder: program ends" until_done
	same "killed own recorder" 3 "$W/bare" "$(cat "$W/rc")" "$W/got" && good "killed own recorder: same output"
	check "killed own recorder: store opens" opens "$W/c.tarry"
else
	fail "no recorder was started"
fi
wait
done_

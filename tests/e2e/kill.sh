#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 300.  SIGKILL at a random moment, ROUNDS (20) times: the store holds what
# each thread had finished, or one more, and what was open as open.
. "$(dirname "$0")/lib.sh"
build killed || done_
ROUNDS=${ROUNDS:-20}
RANDOM=${SEED:-$$}
echo "seed ${SEED:-$$}"
for i in $(seq "$ROUNDS"); do
	rm -f "$W/counts"
	"$TARRY" record -q -o "$W/k$i.tarry" -- sh -c 'echo $$ >"$0.pid"; exec "$1" "$2"' "$W/k$i" "$W/killed" "$W/counts" \
		2>"$W/err" &
	rec=$!
	for _ in $(seq 400); do [ -s "$W/k$i.pid" ] && [ -s "$W/counts" ] && break; sleep 0.01; done
	sleep 0.$(printf %03d $((50 + RANDOM % 300)))
	kill -9 "$(cat "$W/k$i.pid")"
	wait $rec
	rc=$?
	[ $rc = 137 ] || fail "round $i: tarry record says $rc, 137 was due: $(cat "$W/err")"
	if $PY "$TOP/tests/e2e/killed.py" "$TARRY" "$W/k$i.tarry" "$W/counts" >"$W/verdict" 2>&1; then
		good "round $i: $(tail -1 "$W/verdict")"
	else
		fail "round $i"
		sed -n '1,8s/^/     | /p' "$W/verdict"
	fi
	rm -f "$W/k$i".*
done
done_

#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 5000.  64 threads do what threads do with condition variables, mutexes and locks of readers and
# writers, cancelled, interrupted and forked meanwhile; each order for ORDER_SECONDS (30), two at a time.
#
# A waiter looks for itself only after 10 s (order_bound).  Nobody in this program waits for half as long unless a
# wake-up was lost, so a lost one shows as "bounded" in the recording, without a look at the clock; without tarry, as a
# program that does not end.  (max_size: hundreds of thousands of threads come and go in a long run, and their rows stay.)
. "$(dirname "$0")/lib.sh"
SECONDS_EACH=${ORDER_SECONDS:-30}
cat >"$W/conf.yaml" <<'C'
order_bound: 10s
max_size: 512M
C
$CC -std=gnu11 -O2 -g -Wall -Wextra -D_GNU_SOURCE -I"$TOP/include" -pthread -o "$W/stress" \
	"$TOP"/tests/orders/stress*.c ||
	{ fail "compile stress"; done_; }

run() { # ORDER: runs it, leaves $W/ORDER.verdict
	local o=$1 rc seed=$RANDOM
	if [ "$o" = native ]; then
		timeout -k 5 $((SECONDS_EACH + 120)) "$W/stress" 5 $seed >"$W/$o.out" 2>"$W/$o.err" </dev/null
	else
		timeout -k 5 $((SECONDS_EACH + 240)) "$TARRY" record -q -c "$W/conf.yaml" --order "$o" -o "$W/$o.tarry" -- \
			"$W/stress" "$SECONDS_EACH" $seed >"$W/$o.out" 2>"$W/$o.err" </dev/null
	fi
	rc=$?
	{
		[ $rc = 0 ] && [ ! -s "$W/$o.err" ] && good "$o: $(head -n 1 "$W/$o.out")" ||
			fail "$o: status $rc, seed $seed: $(head -n 3 "$W/$o.err")"
		[ "$o" = native ] || counted "$o"
	} >"$W/$o.verdict"
}

counted() { # ORDER: what the recording says about it
	"$TARRY" info --json "$W/$1.tarry" | $PY "$TOP/tests/orders/counted.py" "$1"
}

set -- native $ORDERS
while [ $# -gt 0 ]; do
	both=("${@:1:2}")
	for o in "${both[@]}"; do run "$o" & done
	wait
	for o in "${both[@]}"; do
		cat "$W/$o.verdict"
		grep -q '^FAIL' "$W/$o.verdict" && FAILED=1
	done
	shift ${#both[@]}
done
done_

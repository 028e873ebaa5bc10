#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 600.  Gates of mutexes and rwlocks: what calls return, who gets a lock after whom, the bound of being
# passed over, readers, what becomes of those who leave a queue in other ways, locks that have no gate.
. "$(dirname "$0")/../e2e/lib.sh"
ORDERS=$(sed -n 's/^TY_ORDER(\([a-z]*\),.*/\1/p' "$TOP/include/tarry/orders.def" | grep -vx native)

compile() {
	$CC -std=gnu11 -O2 -g -Wall -Wextra -Wno-unused-parameter -D_GNU_SOURCE -I"$TOP/include" -pthread -o "$W/$1" \
		"$TOP/tests/orders/$1.c" || { fail "compile $1"; done_; }
}

options=
# ordered ORDER BOUND PROGRAM [ARGUMENT...]: what it prints is in $W/out, the counters of all objects in $W/sums
ordered() {
	local order=$1 rc
	printf 'order_bound: %s\n' "$2" >"$W/conf.yaml"
	shift 2
	rm -f "$W"/run.tarry*
	timeout -k 5 60 "$TARRY" record -q $options -c "$W/conf.yaml" --order "$order" -o "$W/run.tarry" -- "$W/$@" >"$W/out" 2>&1 </dev/null
	rc=$?
	"$TARRY" info --json "$W/run.tarry" | $PY -c '
import json, sys
objects = json.load(sys.stdin)["orders"]["objects"]
print(" ".join(str(sum(o[k] for o in objects)) for k in ("waits", "grants", "choices", "reordered", "forced", "bounded")))' \
		>"$W/sums"
	read -r waits grants choices reordered forced bounded <"$W/sums"
	return $rc
}

says_ok() { # NAME STATUS
	if [ "$2" = 0 ] && [ "$(head -n 1 "$W/out")" = ok ]; then return 0; fi
	fail "$1: status $2: $(tail -n 2 "$W/out")"
	return 1
}

for p in gate_kinds gate_order gate_edges gate_past gate_readers ages; do compile $p; done

# 6 of the threads that come to each of 7 kinds, and 9 to both of C11; robust ones have no gate
timeout -k 5 60 "$W/gate_kinds" >"$W/bare" 2>&1 </dev/null || fail "gate_kinds bare: $(tail -n 1 "$W/bare")"
for o in $ORDERS; do
	ordered "$o" 100ms gate_kinds
	same "what calls return, $o" 0 "$W/bare" $? "$W/out" &&
		check "what calls return, $o: $waits waits, $choices choices" [ "$waits" = 60 -a "$choices" -gt 10 ]
done

# number 0 finds the lock taken and is the head; of the others each but the last one is a choice
for o in $ORDERS; do
	ordered "$o" 10s gate_order "$o"
	says_ok "who is next, $o" $? || continue
	check "who is next, $o: $choices choices, $reordered reordered, $forced forced" \
		[ "$choices" -ge 28 -a "$((reordered > 0))" = "$([ "$o" = fcfs ]; echo $?)" ]
	check "who is next, $o: nobody looked for itself" [ "$bounded" = 0 ]
	[ "$o" != youngest ] || check "the bound of being passed over" [ "$forced" -gt 0 ]
done

timeout -k 5 60 "$W/gate_edges" >"$W/out" 2>&1 </dev/null
says_ok "left in other ways, bare" $? && good "left in other ways, bare"
for o in fcfs youngest; do
	ordered "$o" 20ms gate_edges
	says_ok "left in other ways, $o" $? &&
		check "left in other ways, $o: $bounded looks found the lock free" [ "$bounded" -gt 0 ]
done

# at first nobody is woken who is queued; then the next one always is at the lock already
for o in fcfs random; do
	ordered "$o" 20ms gate_past
	says_ok "unlocked past the library, $o" $? &&
		check "unlocked past the library, $o: $bounded of $waits waits missed" [ "$bounded" -ge 8 -a $((bounded * 4)) -lt "$waits" ]
done

ordered fcfs 20ms gate_edges shared
says_ok "in shared memory" $? && check "in shared memory: no gate" [ "$waits" = 0 ]

timeout -k 5 60 "$W/gate_readers" >"$W/out" 2>&1 </dev/null
says_ok "readers, bare" $? && good "readers, bare"
for o in $ORDERS; do
	ordered "$o" 10s gate_readers $([ "$o" != fcfs ] || echo in_order)
	says_ok "readers, $o" $? &&
		check "readers, $o: $waits waits, nobody looked for itself" [ "$waits" -gt 0 -a "$bounded" = 0 ]
done

for options in "" --paused; do
	ordered eldest 10s ages $options
	says_ok "ages from connections $options" $? &&
		check "ages from connections $options: $reordered reordered" [ "$reordered" -gt 3 -a "$bounded" = 0 ]
done
done_

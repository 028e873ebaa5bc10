#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 400.  Condition variables mean the same whatever the order of their
# waiters, and that order is the one that was asked for.  The bound is long, so that a
# lost wake-up would be a hang: a waiter that looked for itself and had been missed is
# a failure, but where a signal goes past the library.
. "$(dirname "$0")/lib.sh"
build orders_cond -ldl || done_
is() { [ "$2" = "$3" ] && good "$1" || fail "$1: $2, $3 was due"; }
cat >"$W/read.py" <<'P'
import json, sys
objects = json.load(sys.stdin)["orders"]["objects"]
conds = [o for o in objects if o["operation"].startswith(("pthread_cond", "cnd"))]
print(eval(sys.argv[1]))
P
value() { "$TARRY" info --json "$1" | $PY "$W/read.py" "$2"; }
run() { # NAME RULE BOUND CASE -> $W/NAME.out
	printf 'orders: [%s]\norder_bound: %s\n' "$2" "$3" >"$W/$1.yaml"
	rm -f "$W/$1.tarry"*
	timeout -k 5 110 "$TARRY" record -q -c "$W/$1.yaml" -o "$W/$1.tarry" -- "$W/orders_cond" $4 >"$W/$1.out" 2>"$W/$1.err"
	rc=$?
	[ $rc = 0 ] || fail "$1: status $rc: $(grep -v 'matched no wait' "$W/$1.err" | head -n 3)"
}
as_bare() { diff <(grep -v '^order:\|^bypass:\|^shared:' "$W/bare") "$1"; }

timeout -k 5 110 "$W/orders_cond" >"$W/bare" 2>&1 || { fail "bare: $(tail -n 1 "$W/bare")"; done_; }
rest="broadcast deadlines early cancel destroy fork c11 signals"
for o in fcfs:01234 eldest:13042 youngest:24031 largest:13042 random:; do
	order=${o%:*} due=${o#*:}
	for ops in cond 'cond, mutex, rwlock'; do
		run one "{order: $order, operations: [$ops]}" 10s order
		[ -z "$due" ] || is "$order of $ops" "$(sed -n 's/^order: //p' "$W/one.out")" "$due"
		is "$order of $ops: choices" "$(value "$W/one.tarry" 'sum(o["choices"] for o in conds)')" 4
		run rest "{order: $order, operations: [$ops]}" 10s "$rest"
		as_bare "$W/rest.out" && good "$order of $ops: what calls mean" || fail "$order of $ops: what calls mean"
		is "$order of $ops: missed" "$(value "$W/rest.tarry" 'sum(o["bounded"] for o in conds)')" 0
		is "$order of $ops: left to libc" "$(value "$W/rest.tarry" 'sum(o["native"] for o in conds)')" 0
	done
done

# ---- process-shared ones are libc's ----
run shared "{order: eldest, operations: [cond, mutex]}" 10s shared
is "process-shared" "$(cat "$W/shared.out")" "shared: 200 turns"
is "and not queued" "$(value "$W/shared.tarry" objects)" "[]"

# ---- random is anyone, and the same again with the same seed ----
seen=
for seed in 1 1 2 3 4; do
	run random "{order: random, operations: [cond], seed: $seed}" 10s order
	seen="$seen $(sed -n 's/^order: //p' "$W/random.out")"
done
set -- $seen
is "the same seed" "$1" "$2"
[ "$(printf '%s\n' "$@" | sort -u | wc -l)" -ge 3 ] && good "other seeds" || fail "other seeds:$seen"

# ---- a signal past the library costs the bound ----
run bypass "{order: eldest, operations: [cond]}" 5ms bypass
is "past the library" "$(cat "$W/bypass.out")" "bypass: 1"
is "and is counted" "$(value "$W/bypass.tarry" 'sum(o["bounded"] for o in conds)')" 4
done_

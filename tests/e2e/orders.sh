#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 180.  Orders of waiters from the command line and the configuration:
# chosen by call path, module and variable; taken back and put in force by tarry ctl; told
# of by info, report and compare; what matched nothing is named.
. "$(dirname "$0")/lib.sh"
build ordered || done_
cat >"$W/read.py" <<'P'
import json, sys
info = json.load(open(sys.argv[1]))["orders"]
print(eval(sys.argv[2], {"o": info, "by": {x["name"]: x for x in info["objects"]} if info else {}}))
P
is() { [ "$2" = "$3" ] && good "$1" || fail "$1: $2, $3 was due"; }
value() { "$TARRY" info --json "$1" >"$W/info.json" && $PY "$W/read.py" "$W/info.json" "$2"; }
session() { # STORE OPTION...
	store=$1
	shift
	rm -f "$W/in" "$W/out"
	mkfifo "$W/in" "$W/out"
	"$TARRY" record -q "$@" -o "$store" -- "$W/ordered" ${IDLE:-} <"$W/in" >"$W/out" 2>"$W/err" &
	rec=$!
	exec 8>"$W/in" 9<"$W/out"
}
play() { echo "$1" >&8; got=; read -r -t 30 got <&9 || fail "the program does not answer"; }
# The call path of a wait is looked up while the program runs: its first waits are native.
until_is() { # NAME WORD ORDER
	for _ in $(seq 400); do
		play "$2"
		[ "$got" = "$3" ] && break
		sleep 0.02
	done
	is "$1" "$got" "$3"
}
never() { # NAME WORD ORDER: in 20 rounds
	for _ in $(seq 20); do
		play "$2"
		[ "$got" != "$3" ] || { fail "$1: $3"; return; }
	done
	good "$1"
}
over() { exec 8>&- 9<&-; wait $rec; is "status" $? 0; }

# ---- an order for all ----
session "$W/all.tarry" --order eldest:cond
for _ in 1 2 3; do play a; is "--order eldest" "$got" reversed; done
play B
is "another variable" "$got" reversed
is "ctl status" "$("$TARRY" ctl "$W/all.tarry" status)" "on, ordered"
is "ctl native" "$("$TARRY" ctl "$W/all.tarry" native)" "on, native"
never "native" a reversed
"$TARRY" top -b -n 1 "$W/all.tarry" | sed -n 1p | grep -q 'under orders' && fail "top: native is called ordered"
is "ctl off" "$("$TARRY" ctl "$W/all.tarry" off)" "off, native"
is "ctl ordered" "$("$TARRY" ctl "$W/all.tarry" ordered)" "off, ordered"
play a
is "ordered while recording is off" "$got" reversed
"$TARRY" top -b -n 1 "$W/all.tarry" | sed -n 1p | grep -q 'under orders' && good "top" || fail "top does not say that orders are in force"
"$TARRY" ctl "$W/all.tarry" on >/dev/null
over
is "nothing to complain of" "$(cat "$W/err")" ""
is "order of the variable" "$(value "$W/all.tarry" 'by["cond_first"]["order"]')" eldest
is "a static variable" "$(value "$W/all.tarry" 'by["cond_second"]["reordered"]')" 5
is "grants" "$(value "$W/all.tarry" 'by["cond_first"]["grants"]')" 24
is "choices" "$(value "$W/all.tarry" 'by["cond_first"]["choices"]')" 20
is "reordered" "$(value "$W/all.tarry" 'by["cond_first"]["reordered"]')" 20
is "most waiting" "$(value "$W/all.tarry" 'by["cond_first"]["most_waiting"]')" 6
is "switches" "$(value "$W/all.tarry" '[x["native"] for x in o["switches"]]')" "[True, False]"
"$TARRY" info "$W/all.tarry" >"$W/got"
grep -q '^orders: eldest on cond; native from .*, ordered from ' "$W/got" && grep -qE '^  cond_second +eldest ' "$W/got" &&
	good "info" || fail "info: $(grep -A 6 '^orders' "$W/got")"
for c in report tree tail blame; do
	"$TARRY" $c "$W/all.tarry" 2>&1 | sed -n 2p | grep -q '^  under orders: eldest on cond; native from ' &&
		good "$c" || fail "$c does not say that an order was in force: $("$TARRY" $c "$W/all.tarry" 2>&1 | head -n 3)"
done
"$TARRY" report --html "$W/page.html" "$W/all.tarry" >/dev/null && grep -q '"orders":"eldest on cond"' "$W/page.html" && good "page" ||
	fail "the page does not say that an order was in force"
is "report --json" "$("$TARRY" report --json "$W/all.tarry" | $PY -c 'import json, sys
print(json.load(sys.stdin)["orders"]["rules"][0]["order"])')" eldest

# ---- none ----
session "$W/none.tarry"
play a
is "ctl status without orders" "$("$TARRY" ctl "$W/none.tarry" status)" on
"$TARRY" ctl "$W/none.tarry" native >"$W/got" 2>&1
is "ctl native without orders: status" $? 1
is "ctl native without orders: one line" "$(grep -c 'recorded without orders' "$W/got")/$(wc -l <"$W/got")" 1/1
over
is "no orders in info" "$(value "$W/none.tarry" 'o')" None
"$TARRY" report "$W/none.tarry" | grep -q orders: && fail "report speaks of orders" || good "report without orders"
"$TARRY" compare "$W/none.tarry" "$W/all.tarry" 2>&1 | grep -q 'warning: orders differ:.*eldest on cond' &&
	good compare || fail "compare does not warn: $("$TARRY" compare "$W/none.tarry" "$W/all.tarry" 2>&1 | head -n 5)"

# ---- a policy for flushes alone ----
echo 'fsync: coalesce' >"$W/fsync.yaml"
session "$W/fsync.tarry" -c "$W/fsync.yaml"
play a
is "ctl status with a policy for flushes" "$("$TARRY" ctl "$W/fsync.tarry" status)" "on, ordered"
is "ctl native" "$("$TARRY" ctl "$W/fsync.tarry" native)" "on, native"
over
is "no object" "$(value "$W/fsync.tarry" 'o["fsync"]["policy"], o["objects"]')" "('coalesce', [])"
"$TARRY" report "$W/fsync.tarry" | sed -n 2p | grep -q '^  under orders: fsync coalesce; native from ' && good "report" ||
	fail "report does not name the policy"

# ---- chosen by call path, the second rule by variable ----
cat >"$W/path.yaml" <<'Y'
orders:
  - order: eldest
    operations: [cond]
    path: 'lock_wait_a*'
  - {order: eldest, operations: cond, path: 'no_such_*'}
  - {order: eldest, object: cond_second, operations: cond}
  - {order: random, object: 'nothing_*'}
  - {order: fcfs, operations: [rwlock]}
Y
session "$W/path.tarry" -c "$W/path.yaml"
until_is "path" a reversed
never "another path" b reversed
play B
is "variable" "$got" reversed
until_is "a path on the heap" n reversed
over
is "objects" "$(value "$W/path.tarry" 'sorted((x["name"] or "", x["rule"]) for x in o["objects"])')" \
	"[('', 1), ('cond_first', 1), ('cond_second', 3)]"
cat >"$W/due" <<'T'
tarry: order 2 (eldest, path no_such_*) matched no wait: no call path names such a function or module (tarry report prints them)
tarry: order 4 (random, object nothing_*) matched no wait: there is no such variable
tarry: order 5 (fcfs) matched no wait: the program waited for none of its operations
T
cmp -s "$W/due" "$W/err" && good "what matched nothing" || fail "what matched nothing: $(cat "$W/err")"
"$TARRY" info "$W/path.tarry" | grep -c 'matched no wait' >"$W/got"
is "info says it, too" "$(cat "$W/got")" 3

# ---- by module, and the first rule wins ----
printf 'orders:\n  - {order: native, path: lock_wait_b}\n  - {order: eldest, operations: cond, module: "ord*"}\n' >"$W/module.yaml"
session "$W/module.tarry" -c "$W/module.yaml"
until_is "module" a reversed
never "and not the path of the first rule" b reversed
over
printf 'orders:\n  - {order: eldest, operations: cond, module: "libc.so*", path: lock_wait_a}\n' >"$W/module.yaml"
session "$W/both.tarry" -c "$W/module.yaml"
never "path and module mean the same function" a reversed
over

# ---- age without requests: since a thread left the wait for its next job ----
IDLE=idle
printf 'orders: [{order: eldest, object: "cond_*"}]\norder_age: idle\norder_idle: [next_job]\n' >"$W/idle.yaml"
session "$W/idle.tarry" -c "$W/idle.yaml"
until_is "idle site" a reversed
over
is "nothing unmatched" "$(cat "$W/err")" ""
printf 'orders: [{order: eldest, object: "cond_*"}]\norder_age: idle\norder_idle: [last_job]\n' >"$W/idle.yaml"
session "$W/noidle.tarry" -c "$W/idle.yaml"
never "no age, so in the order of their arrival" a reversed
over
is "an idle site that is none" "$(cat "$W/err")" \
	"tarry: order_idle (last_job) matched no wait: no call path names such a function"
IDLE=

# ---- below the threshold ----
printf 'orders: [{order: eldest, operations: cond, threshold: 0.9}]\n' >"$W/theta.yaml"
session "$W/theta.tarry" -c "$W/theta.yaml" # five of six grants are choices
until_is "above the threshold until it is measured" a reversed
for _ in $(seq 30); do play a; done
over
is "below the threshold" "$(value "$W/theta.tarry" 'by["cond_first"]["native"] > 0 and by["cond_first"]["theta"]')" 0.9
printf 'orders: [{order: eldest, operations: cond, threshold: 0.8}]\n' >"$W/theta.yaml"
session "$W/above.tarry" -c "$W/theta.yaml"
for _ in $(seq 30); do play a; done
is "above the threshold" "$got" reversed
over
is "none left to libc" "$(value "$W/above.tarry" 'by["cond_first"]["native"]')" 0

# ---- auto: another threshold for each 256 waits, until all have been tried ----
printf 'orders: [{order: eldest, operations: cond, threshold: auto}]\n' >"$W/auto.yaml"
session "$W/auto.tarry" -c "$W/auto.yaml"
for _ in $(seq 107); do play a; done # 642 waits: the third
over
is "auto" "$(value "$W/auto.tarry" 'o["rules"][0]["threshold"], by["cond_first"]["theta"]')" "('auto', 0.3)"

# ---- mutexes by call path ----
if [ -x "$B/orders" ]; then
	printf 'orders: [{order: fcfs, operations: mutex, path: lock_row}]\n' >"$W/row.yaml"
	check "record the service" "$TARRY" record -q -c "$W/row.yaml" -o "$W/row.tarry" -- "$B/orders" --seconds 2 >"$W/got" 2>&1
	is "mutexes of one function" "$(value "$W/row.tarry" \
		'sum(x["grants"] for x in o["objects"]) > 0, {x["name"].split("+")[0] for x in o["objects"]}')" "(True, {'rows'})"
	# native mutexes are counted, too, where no other rule is about mutexes
	printf 'orders: [{order: native, operations: mutex}, {order: eldest, operations: cond}]\n' >"$W/native.yaml"
	check "native mutexes" "$TARRY" record -q -c "$W/native.yaml" -o "$W/native.tarry" -- "$B/orders" --seconds 2 >"$W/got" 2>&1
	is "native mutexes are counted" "$(value "$W/native.tarry" 'o["rules"][0]["matched"] > 0, len(o["unmatched"])')" "(True, 0)"
fi

# ---- the program is killed: what was counted until then is there ----
session "$W/killed.tarry" --order eldest:cond
play a
play p
kill -9 "$got"
exec 8>&- 9<&-
wait $rec
is "killed: status" $? 137
is "killed: counters" "$(value "$W/killed.tarry" 'by["cond_first"]["grants"]')" 6

# ---- the recorder is killed: the store has what it knew, the program goes on as it was ----
session "$W/gone.tarry" --order eldest:cond --order fcfs:rwlock
play a
for _ in $(seq 200); do # counters are stored about every second
	[ "$(value "$W/gone.tarry" 'sum(x["grants"] for x in o["objects"])')" = 6 ] && break
	sleep 0.05
done
"$TARRY" info "$W/gone.tarry" | grep -q 'order 2 (fcfs) matched no wait.* so far$' && good "info while it runs" ||
	fail "info while it runs: $("$TARRY" info "$W/gone.tarry" | grep -A 4 ^orders)"
kill -9 $rec
wait $rec 2>/dev/null
play a
is "without its recorder" "$got" reversed
exec 8>&- 9<&-
is "counters of the killed recorder" "$(value "$W/gone.tarry" 'by[None]["grants"]')" 6
done_

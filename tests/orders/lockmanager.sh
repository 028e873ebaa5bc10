#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 240.  The lock manager of the examples, by itself and with each order: it loses no transaction.
. "$(dirname "$0")/lib.sh"
[ -x "$B/lockmanager" ] || { echo "build first: $B/lockmanager"; exit 1; }
load=(--seconds 2 --warmup 0 --rate 600)
run() { # NAME COMMAND...
	local name=$1
	shift
	timeout -k 5 60 "$@" >"$W/out" 2>"$W/err" </dev/null
	rc=$?
	[ $rc = 0 ] && grep -q ' transactions, ' "$W/out" && good "$name: $(cat "$W/out")" ||
		fail "$name: status $rc: $(cat "$W/err")"
}
run native "$B/lockmanager" "${load[@]}"
run "always busy" "$B/lockmanager" --seconds 1 --warmup 0 --think 0 --connections 40
run impatient "$B/lockmanager" "${load[@]}" --patience 2 --latencies "$W/latencies"
check "some were rolled back" grep -qE '[1-9][0-9]* rolled back' "$W/out"
check "a latency each" [ "$(wc -l <"$W/latencies")" = "$(awk '{ print $1 + $3 }' "$W/out")" ]
for o in $ORDERS; do
	run "$o" "$TARRY" record -q --order "$o" -o "$W/$o.tarry" -- "$B/lockmanager" "${load[@]}"
	run "$o, impatient" "$TARRY" record -q --order "$o" -o "$W/$o-2.tarry" -- "$B/lockmanager" "${load[@]}" --patience 2
done
for wrong in "--objects 1" "--rate x" "--locks 17" --unknown "surplus"; do
	"$B/lockmanager" $wrong >"$W/out" 2>"$W/err"
	rc=$?
	check "wrong: $wrong" [ $rc = 2 -a -s "$W/err" ]
done
done_

#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: what goes wrong in a run fails that run, with its reason, and the
# experiment goes on, ends with status 1 and leaves nothing running; cleanup runs
# whatever happened.  timeout: 300
. "$(dirname "$0")/lib.sh"

# plan NAME LINE...: variants a and b, two repetitions without warm-up, cleanup counted
plan() {
	name=$1
	shift
	{
		printf 'variants: [{name: a}, {name: b}]\nrepetitions: 2\nwarmup: 0\nseed: 1\n'
		# shellcheck disable=SC2016
		printf 'cleanup: echo $TARRY_EXPERIMENT_REPETITION$TARRY_EXPERIMENT_VARIANT >>"$W/%s.cleaned"\n' "$name"
		printf '%s\n' 'measure: latencies' "$@"
	} >"$W/$name.yaml"
	printf '1a\n1b\n2a\n2b\n' >"$W/all"
}
# reasons NAME COUNT PATTERN: so many runs failed, all for this reason
reasons() {
	[ "$(grep -cE "	failed: $3" "$W/$1.tsv")" = "$2" ] && [ "$(grep -c '	failed: ' "$W/$1.tsv")" = "$2" ] &&
		[ "$(rows "$W/$1.tsv")" = 4 ] && good "$1: $2 runs failed: $3" || { fail "$1: not $2 times '$3'"; cat "$W/$1.tsv"; }
	check "$1: it is said" grep -qE "failed: $3" "$W/err"
	check "$1: and at the end" grep -qE "^  repetition [12], [ab]: $3" "$W/out"
	check "$1: cleanup ran each time" sh -c "sort '$W/$1.cleaned' | cmp - '$W/all'"
	check "$1: complete" grep -q '^# end: complete$' "$W/$1.tsv"
}
# A server that writes its pid, so that we know that it is gone.
SERVE='echo $$ >>"$W/pids"; exec "$ORDERS" --serve 0'
none_left() {
	for pid in $(cat "$W/pids"); do
		[ -d "/proc/$pid" ] && ! grep -q '^State:	Z' "/proc/$pid/status" && fail "$1: $pid still runs"
	done
	rm -f "$W/pids"
}

plan killed "$READY" "$(printf '%s\n' "$LOAD" | sed 's|^  port|  [ $TARRY_EXPERIMENT_REPETITION$TARRY_EXPERIMENT_VARIANT != 2b ] \|\| kill -9 $TARRY_EXPERIMENT_PID\n&|')"
experiment 1 killed -- sh -c "$SERVE"
reasons killed 1 'the program was killed by signal 9 during the load'
check "killed: its status stands there" grep -qE '^2	b	.*	137	[0-9]*	failed' "$W/killed.tsv"
check "killed: three pairs' worth of the others" [ "$(grep -c '	ok$' "$W/killed.tsv")" = 3 ]
check "killed: one pair is left" grep -q 'from 1 pair of runs: too few' "$W/out"
none_left killed
"$TARRY" experiment --judge "$W/killed.tsv" --json >"$W/json"
rc=$?
check "killed: judged again, status 1 again" [ $rc = 1 ]
check "killed: json" $PY -c 'import json, sys; d = json.load(open(sys.argv[1])); f, = d["failed"]
assert f["repetition"] == 2 and f["variant"] == "b" and f["why"].startswith("the program was killed"), f' "$W/json"

plan load "$READY" 'load: echo some words; echo no such customer >&2; exit 3'
experiment 1 load -- sh -c "$SERVE"
reasons load 4 'the load ended with status 3; last output: no such customer'
none_left load

plan forgot "$READY" 'load: "true"'
experiment 1 forgot -- sh -c "$SERVE"
reasons forgot 4 'no latencies: nothing was written to TARRY_EXPERIMENT_LATENCIES'
plan empty "$READY" 'load: touch "$TARRY_EXPERIMENT_LATENCIES"'
experiment 1 empty -- sh -c "$SERVE"
reasons empty 4 'no latencies: the file is empty'
plan text "$READY" 'load: printf "12\n1.5ms\nfast\n7\n" >"$TARRY_EXPERIMENT_LATENCIES"'
experiment 1 text -- sh -c "$SERVE"
reasons text 4 "latencies:3: not a latency: 'fast'"

plan endless "$READY" 'load: sleep 1000' 'load_timeout: 200ms'
experiment 1 endless -- sh -c "$SERVE"
reasons endless 4 'the load did not end within 200 ms'
none_left endless

plan unready 'ready: echo not yet; false' 'ready_timeout: 2s' 'load: "true"'
experiment 1 unready -- sh -c "$SERVE"
reasons unready 4 'it was not ready after 2.00 s; last output: not yet'
none_left unready

plan early 'ready: "false"' 'load: "true"'
experiment 1 early -- sh -c 'echo no configuration; exit 4'
reasons early 4 'the program ended with status 4 before it was ready; last output: no configuration'

plan setup 'setup: exit 9' 'load: "true"'
experiment 1 setup -- sh -c "touch '$W/started'"
reasons setup 4 'setup ended with status 9'
check "setup: the program was not started" [ ! -e "$W/started" ]

plan status
experiment 1 status -- sh -c 'exit 5'
reasons status 4 'the program ended with status 5'

# One that does not listen to TERM is killed after a time; that is said, but what was measured counts.
plan deaf 'load: echo 5us >"$TARRY_EXPERIMENT_LATENCIES"' 'stop_timeout: 100ms' 'ready: test -e "$TARRY_EXPERIMENT_DIR/up"'
# its child is in no other group, and goes with it
experiment 0 deaf -- sh -c 'trap "" TERM; echo $$ >>"$W/pids"; sleep 1000 & echo $! >>"$W/pids"; touch "$TARRY_EXPERIMENT_DIR/up"
	while :; do wait; done'
check "deaf: said" grep -q 'it did not end within 100 ms of SIGTERM and was killed' "$W/err"
check "deaf: counted" [ "$(grep -c '	137	0	ok$' "$W/deaf.tsv")" = 4 ]
none_left deaf

# A crash on the way out is no good run.
plan crash 'load: echo 5us >"$TARRY_EXPERIMENT_LATENCIES"' 'ready: test -e "$TARRY_EXPERIMENT_DIR/up"'
experiment 1 crash -- sh -c 'trap "kill -SEGV \$\$" TERM; touch "$TARRY_EXPERIMENT_DIR/up"; while :; do sleep 0.01; done'
reasons crash 4 'the program was killed by signal 11 when it was stopped'

# The runs' folders are removed, or kept.
plan folders 'load: echo 7 >"$TARRY_EXPERIMENT_LATENCIES"; echo "$TARRY_EXPERIMENT_DIR" >>"$W/dirs"' 'ready: "true"'
experiment 0 folders -- sleep 1000
check "folders: four" [ "$(sort -u "$W/dirs" | wc -l)" = 4 ]
left=$(while read -r d; do [ -e "$d" ] && echo "$d"; done <"$W/dirs")
check "folders: removed" [ -z "$left" ]
experiment 0 folders --keep "$W/kept" -- sleep 1000
check "folders: kept" [ "$(cat "$W/kept/2-b/latencies")" = 7 ]
done_

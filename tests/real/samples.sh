#!/bin/bash
# SPDX-License-Identifier: MIT
# timeout: 420.  The self-check on many stacks: CPython and RocksDB record, with a
# path for every call, until libunwind has checked SAMPLES=100000 of them.  None
# may differ.
. "$(dirname "$0")/lib.sh"
need db_bench
SAMPLES=${SAMPLES:-100000} agree=0 differ=0
printf 'self_check: 1/8\nmin_path: 0\n' >"$W/conf.yaml"
for round in 1 2 3 4 5 6 7 8; do
	rm -rf "$STORE"* "$W/db"
	if [ $((round % 3)) = 0 ]; then
		set -- $PY "$CHECKS/gil.py" 10 8
	else
		set -- db_bench --db="$W/db" --benchmarks=fillrandom,readwhilewriting --num=100000 --threads=8 --duration=12 \
			--write_buffer_size=1048576 --cache_size=1048576 --statistics=0
	fi
	timeout -k 5 120 "$TARRY" record -q -c "$W/conf.yaml" -o "$STORE" -- "$@" >"$W/client.out" 2>&1 ||
		fail "$1: status $?: $(tail -1 "$W/client.out")"
	read -r a d < <("$TARRY" info --json "$STORE" |
		$PY -c 'import json, sys; c = json.load(sys.stdin)["self_check"]; print(c["agree"] + c["shorter"], c["differ"])')
	agree=$((agree + a)) differ=$((differ + d))
	[ $agree -lt "$SAMPLES" ] || break
done
[ $differ = 0 ] && good "none of $agree checked stacks differs" || fail "$differ of $((agree + differ)) checked stacks differ"
[ $agree -ge "$SAMPLES" ] && good "$agree stacks checked" || fail "only $agree stacks were checked, $SAMPLES wanted"
exit $FAILED

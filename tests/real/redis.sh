#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 240.  Redis under redis-benchmark: as installed and saving in the background, with
# appendfsync always, pipelined, and with IO threads.
. "$(dirname "$0")/lib.sh"
need redis-server redis-benchmark redis-cli
printf 'self_check: 1/16\n' >"$CONF"

start() { # ARGUMENTS of redis-server
	PORT=$(free_port)
	rm -rf "$STORE"* "$W/data"
	mkdir "$W/data"
	serve "$TARRY" record -v -c "$CONF" -o "$STORE" -- redis-server --port "$PORT" --bind 127.0.0.1 --dir "$W/data" "$@" \
		>"$W/server.log" 2>&1
	wait_port "$PORT" || give_up "no server: $(tail -3 "$W/server.log")"
}
stop() {
	redis-cli -p "$PORT" shutdown >/dev/null 2>&1
	ended redis-server
	told redis "$(tail -n 1 "$W/server.log")"
}
bench() { load MAIN redis-benchmark -h 127.0.0.1 -p "$PORT" -t set -d 100 -r 10000 -q "$@"; }

run() { # ID LOAD N DEPTH OPTIONS...: N requests, DEPTH of them at a time
	local id=$1 what=$2 n=$3 depth=$4
	shift 4
	bench -n "$n" -c 16 -P "$depth"
	[ "$id" = plain ] && redis-cli -p "$PORT" bgsave >/dev/null
	stop
	# the benchmark asks for the server's configuration first
	judge "redis-$id" "redis $(version redis-server)" "$what" --window "$MAIN_FROM" "$MAIN_TO" --client $((n / depth)) \
		--extra-most 2 --in-requests "$@"
}

start --save "3600 1"
run plain "set, as installed, bgsave" 60000 1 --processes 2
start --appendonly yes --appendfsync always --save ""
run always "set, appendfsync always" 40000 1 --top fdatasync --complete 0.999
explain
$PY -c '
import json, sys
held = json.load(sys.stdin)["held_up"]
first = held["behind"][0]
ok = held["share"] > 0.5 and first["operation"] == "fdatasync" and first["share"] > 0.5 * held["share"]
print("ok  " if ok else "FAIL", "held up %.1f %%, behind %s %.1f %% of the variance"
      % (100 * held["share"], first["operation"], 100 * first["share"]))
sys.exit(not ok)' < <("$TARRY" report --json "$STORE") || FAILED=1
[ "$("$TARRY" report --by object --top 1000 "$STORE" | grep -c '^ *[0-9][0-9]* .* write  on tcp .* <- its peers$')" = 1 ] &&
	good "by object: all connections of the service are one" || fail "by object: the connections of the service"
start --appendonly yes --appendfsync always --save ""
run pipelined "set, pipelines of 16, counted as batches" 320000 16 --top fdatasync --complete 0.999
start --io-threads 2 --io-threads-do-reads yes --save ""
run threads "set, io-threads 2" 20000 1
exit $FAILED

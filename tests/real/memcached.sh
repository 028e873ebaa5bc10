#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 120.  memcached with four threads under memcslap: sets, then gets.
. "$(dirname "$0")/lib.sh"
need memcached memcslap
printf 'self_check: 1/16\n' >"$CONF"
CLIENTS=8 N=${N:-5000}
counted() {
	exec 3<>"/dev/tcp/127.0.0.1/$PORT" || return 1
	printf 'stats\r\nquit\r\n' >&3
	tr -d '\r' <&3 | awk '$2 == "cmd_get" || $2 == "cmd_set" { n += $3 } END { print n + 0 }'
	exec 3>&-
}
for test in set get; do
	PORT=$(free_port)
	rm -rf "$STORE"*
	serve "$TARRY" record -v -c "$CONF" -o "$STORE" -- memcached -u "$(id -un)" -l 127.0.0.1 -p "$PORT" -t 4 -m 64 \
		>"$W/server.log" 2>&1
	wait_port "$PORT" || give_up "no server: $(tail -3 "$W/server.log")"
	load MAIN memcslap --servers=127.0.0.1:"$PORT" --concurrency=$CLIENTS --execute-number="$N" --test=$test \
		--initial-load=1000
	# the server's own count: a get test sets keys first
	client=$(counted) || give_up "no answer to stats"
	kill "${PIDS[0]}"
	ended memcached
	told memcached "$(tail -n 1 "$W/server.log")"
	[ "$client" -ge $((CLIENTS * N)) ] && good "memcached: $client commands" || fail "memcached: $client commands"
	judge memcached-$test "memcached $(version memcached)" "$test, 4 threads" --window "$MAIN_FROM" "$MAIN_TO" \
		--client "$client" --extra-most $((CLIENTS + 1)) --in-requests --complete 0.999
done
exit $FAILED

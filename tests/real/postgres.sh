#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 240.  PostgreSQL under pgbench, recorded: counts, sites, paths, kernel's totals.
# The server refuses to run as root: it and tarry run as the user postgres then.
#   CLIENTS=16
. "$(dirname "$0")/lib.sh"
CLIENTS=${CLIENTS:-16} PORT=${PORT:-$(free_port)}
BIN=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
[ -n "$BIN" ] && [ -x "$BIN/postgres" ] || skip "postgresql is not installed"
need setpriv
D=$W/data
mkdir "$D"
as() { "$@"; }
if [ "$(id -u)" = 0 ]; then
	as() { setpriv --reuid postgres --regid postgres --clear-groups env HOME="$W" "$@"; }
	chown postgres "$D" "$W/store"
	chmod 1777 "$W"
fi
chmod 700 "$D"
as "$BIN/initdb" -D "$D" -A trust -U postgres >"$W/initdb.log" 2>&1 || give_up "initdb: $(tail -1 "$W/initdb.log")"
cat >>"$D/postgresql.conf" <<C
port=$PORT
listen_addresses='127.0.0.1'
unix_socket_directories='$W'
shared_buffers=128MB
synchronous_commit=on
logging_collector=off
C
printf 'self_check: 1/16\n' >"$W/conf.yaml"
if [ "$(id -u)" = 0 ]; then
	serve setpriv --reuid postgres --regid postgres --clear-groups env HOME="$W" \
		"$TARRY" record -q -c "$W/conf.yaml" -o "$STORE" -- "$BIN/postgres" -D "$D" >"$W/server.log" 2>&1
else
	serve "$TARRY" record -q -c "$W/conf.yaml" -o "$STORE" -- "$BIN/postgres" -D "$D" >"$W/server.log" 2>&1
fi
wait_port "$PORT" || give_up "no server: $(tail -3 "$W/server.log")"
export PGUSER=postgres PGPORT=$PORT PGDATABASE=postgres PGSSLMODE=disable PGHOST=127.0.0.1
for _ in $(seq 50); do "$BIN/psql" -qAtc 'select 1' >/dev/null 2>&1 && break; sleep 0.1; done
"$BIN/pgbench" -i -s 1 -q >"$W/init.log" 2>&1 || give_up "pgbench -i: $(tail -1 "$W/init.log")"
load FEW "$BIN/pgbench" -n -c "$CLIENTS" -j 2 -t 1
trace_begin $(descendants "$(head -1 "$D/postmaster.pid")")
load MAIN "$BIN/pgbench" -n -c "$CLIENTS" -j 2 -T "$SECS"
trace_end
kill -INT "$(head -1 "$D/postmaster.pid")"
ended postgres
statements() { awk -F'[: /]+' '/actually processed/ { print 7 * $6 }' "$W/$1.out"; }
$PY "$CHECKS/check.py" "$TARRY" "$STORE" \
	--few "$FEW_FROM" "$FEW_TO" "$(statements FEW)" --main "$MAIN_FROM" "$MAIN_TO" "$(statements MAIN)" \
	--top epoll_wait --trace "$W/trace.txt" || FAILED=1
judge postgres "PostgreSQL $(version "postgresql-$(basename "${BIN%/bin}")")" "pgbench TPC-B, $CLIENTS clients" \
	--window "$MAIN_FROM" "$MAIN_TO" --client "$(statements MAIN)" --extra-most $((4 * CLIENTS)) --in-requests
explain
exit $FAILED

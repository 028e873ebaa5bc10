#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 240.  MariaDB under sysbench, recorded: counts, sites, paths, kernel's totals.
#   WL=oltp_read_write|oltp_write_only|oltp_point_select   THREADS=12   ROWS=200
. "$(dirname "$0")/lib.sh"
WL=${WL:-oltp_read_write} THREADS=${THREADS:-12} ROWS=${ROWS:-200} PORT=${PORT:-$(free_port)}
need mariadbd mariadb-install-db mariadb sysbench
D=$W/data
mkdir "$D"
mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$D" --auth-root-authentication-method=normal \
	--skip-test-db >"$W/install.log" 2>&1 || give_up "mariadb-install-db: $(tail -1 "$W/install.log")"
printf 'self_check: 1/16\n' >"$W/conf.yaml"
serve "$TARRY" record -q -c "$W/conf.yaml" -o "$STORE" -- mariadbd --no-defaults --user="$(id -un)" --datadir="$D" --port="$PORT" \
	--bind-address=127.0.0.1 --socket="$W/s.sock" --pid-file="$W/pid" --innodb-flush-log-at-trx-commit=1 \
	--innodb-buffer-pool-size=128M --max-connections=200 >"$W/server.log" 2>&1
wait_port "$PORT" || give_up "no server: $(tail -3 "$W/server.log")"
sql() { mariadb --no-defaults --socket="$W/s.sock" -uroot -e "$1"; }
sql "create database sbtest; create user 'sb'@'127.0.0.1' identified by 'x'; grant all on *.* to 'sb'@'127.0.0.1'"
SB=(sysbench "$WL" --mysql-host=127.0.0.1 --mysql-port="$PORT" --mysql-user=sb --mysql-password=x --mysql-db=sbtest
	--tables=1 --table-size="$ROWS")
"${SB[@]}" prepare >"$W/prep.log" 2>&1 || give_up "sysbench prepare: $(tail -1 "$W/prep.log")"
load FEW "${SB[@]}" --threads="$THREADS" --time=0 --events="$THREADS" run
trace_begin "$(cat "$W/pid")"
load MAIN "${SB[@]}" --threads="$THREADS" --time="$SECS" run
trace_end
sql shutdown
ended mariadbd
queries() { awk '$1 == "total:" { print $2 }' "$W/$1.out"; }
errors() { awk '/ignored errors:/ { print $3 }' "$W/$1.out"; }
$PY "$CHECKS/check.py" "$TARRY" "$STORE" \
	--few "$FEW_FROM" "$FEW_TO" "$(queries FEW)" --main "$MAIN_FROM" "$MAIN_TO" "$(queries MAIN)" \
	--failed "$(errors FEW)" "$(errors MAIN)" --top pthread_cond_timedwait --trace "$W/trace.txt" || FAILED=1
judge mariadb "MariaDB $(version mariadb-server)" "sysbench $WL, $THREADS threads, $ROWS rows" \
	--window "$MAIN_FROM" "$MAIN_TO" --client "$(queries MAIN)" --extra "$(errors MAIN)" --extra-most $((16 * THREADS)) --in-requests
explain
exit $FAILED

#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 400.  Classes of requests and transactions of real servers, from the first bytes of what they
# receive: against the clients' own counts; encrypted connections and capture_bytes 0 give none; no byte is stored.
#   ONLY="redis postgres ..."   THREADS=8   ROWS=20000
. "$(dirname "$0")/lib.sh"
ONLY=${ONLY:-redis memcached nginx mariadb postgres} THREADS=${THREADS:-8} ROWS=${ROWS:-20000}
CLASSES=$CHECKS/classes.py SECRET=Zq7Kx9Wv
printf 'capture_bytes: 32\n' >"$W/conf.yaml"

verdict() { $PY "$CLASSES" "$TARRY" "$STORE" "$@" || FAILED=1; }
store() { STORE=$W/store/$1.tarry; }
missing() { local c; for c; do command -v "$c" >/dev/null || { echo "skip $1: $c is not installed"; return 0; }; done; return 1; }
# record CONFIG COMMAND...: the server in the background
record() { local c=$1; shift; serve "$TARRY" record -q -c "$c" -o "$STORE" -- "$@" >"$W/server.log" 2>&1; }
up() { wait_port "$1" || give_up "no server: $(tail -3 "$W/server.log")"; }

redis_load() { # CONFIG
	local port
	port=$(free_port)
	record "$1" redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$W"
	up "$port"
	load MAIN redis-benchmark -p "$port" -t set,get -n 5000 -c "$THREADS" -q
	redis-cli -p "$port" set k "$SECRET" >/dev/null
	redis-cli -p "$port" shutdown nosave
	ended redis
}

test_redis() {
	missing redis-server redis-benchmark && return
	store redis
	redis_load "$W/conf.yaml"
	verdict --class SET 5001 --class GET 5000 --secret "$SECRET"
	store redis-off
	redis_load "$TOP/configs/default.yaml"
	verdict --no-classes --secret "$SECRET"
}

test_memcached() {
	missing memcached && return
	local port
	port=$(free_port)
	store memcached
	record "$W/conf.yaml" memcached -l 127.0.0.1 -p "$port" -U 0 -u "$(id -un)"
	up "$port"
	load MAIN $PY "$CLASSES" client memcached "$port"
	kill -TERM "$(pgrep -P "${PIDS[0]}" -x memcached)"
	wait "${PIDS[0]}"
	PIDS=()
	verdict --class set 300 --class get 700 --class delete 50 --class touch 0 --class noop 20
}

test_nginx() {
	missing nginx openssl && return
	local port tls
	port=$(free_port) tls=$(free_port)
	mkdir -p "$W/www"
	echo hello >"$W/www/index.html"
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$W/key.pem" -out "$W/cert.pem" -days 2 -subj /CN=localhost 2>/dev/null
	cat >"$W/nginx.conf" <<C
daemon off; master_process off; pid $W/nginx.pid; error_log $W/nginx.log;
events { worker_connections 64; }
http {
	access_log off; client_body_temp_path $W/t1; proxy_temp_path $W/t2; fastcgi_temp_path $W/t3;
	uwsgi_temp_path $W/t4; scgi_temp_path $W/t5; root $W/www;
	server { listen 127.0.0.1:$port; }
	server { listen 127.0.0.1:$tls ssl; ssl_certificate $W/cert.pem; ssl_certificate_key $W/key.pem; }
}
C
	store nginx
	record "$W/conf.yaml" nginx -c "$W/nginx.conf"
	up "$port"
	load MAIN $PY "$CLASSES" client http "$port"
	load TLS $PY "$CLASSES" client https "$tls"
	kill -QUIT "$(cat "$W/nginx.pid")"
	ended nginx
	verdict --window "$MAIN_FROM" "$MAIN_TO" --class 'GET /index.html' 200 --class 'HEAD /index.html' 40 --class 'GET /other' 100
	verdict --window "$TLS_FROM" "$TLS_TO" --no-classes --at-least 100 --secret "$SECRET"
}

test_mariadb() {
	missing mariadbd mariadb-install-db mariadb sysbench && return
	local port d=$W/mariadb sb
	port=$(free_port)
	mkdir "$d"
	mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$d" --auth-root-authentication-method=normal \
		--skip-test-db >"$W/install.log" 2>&1 || give_up "mariadb-install-db: $(tail -1 "$W/install.log")"
	store mariadb
	record "$W/conf.yaml" mariadbd --no-defaults --user="$(id -un)" --datadir="$d" --port="$port" \
		--bind-address=127.0.0.1 --socket="$W/s.sock" --innodb-buffer-pool-size=128M
	up "$port"
	sql() { mariadb --no-defaults --socket="$W/s.sock" -uroot -e "$1"; }
	sql "create database sbtest; create user 'sb'@'127.0.0.1' identified by 'x'; grant all on *.* to 'sb'@'127.0.0.1'"
	sb=(sysbench oltp_read_write --mysql-host=127.0.0.1 --mysql-port="$port" --mysql-user=sb --mysql-password=x
		--mysql-db=sbtest --tables=2 --table-size="$ROWS")
	"${sb[@]}" prepare >"$W/prep.log" 2>&1 || give_up "sysbench prepare: $(tail -1 "$W/prep.log")"
	load FEW "${sb[@]}" --threads="$THREADS" --time=0 --events="$THREADS" run
	load MAIN "${sb[@]}" --threads="$THREADS" --time="$SECS" run
	sql "select '$SECRET'" >/dev/null
	sql "$SECRET is no word of SQL" >/dev/null 2>&1
	sql shutdown
	ended mariadb
	transactions() { awk '$1 == "transactions:" { t = $2 } /ignored errors:/ { e = $3 } END { print t + e }' "$W/$1.out"; }
	verdict --transactions "$FEW_FROM" "$FEW_TO" "$(transactions FEW)" "$MAIN_FROM" "$MAIN_TO" "$(transactions MAIN)" \
		--statements 20 --kind 'execute SELECT' --secret "$SECRET"
	verdict --window "$MAIN_FROM" "$MAIN_TO" --has 'execute SELECT' --has 'execute UPDATE' --has 'execute COMMIT' \
		--has 'prepare SELECT' --has startup
}

pgbench_mode() { # MODE
	load FEW "$BIN/pgbench" -n -M "$1" -c "$THREADS" -j 2 -t 1
	load MAIN "$BIN/pgbench" -n -M "$1" -c "$THREADS" -j 2 -T "$SECS"
	local few main
	few=$(awk -F'[: /]+' '/actually processed/ { print $6 }' "$W/FEW.out")
	main=$(awk -F'[: /]+' '/actually processed/ { print $6 }' "$W/MAIN.out")
	PG_CHECKS+=("--transactions $FEW_FROM $FEW_TO $few $MAIN_FROM $MAIN_TO $main --statements 7 --kind $2")
}

test_postgres() {
	BIN=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
	[ -n "$BIN" ] && [ -x "$BIN/postgres" ] || { echo "skip postgres: postgresql is not installed"; return; }
	missing setpriv && return
	local d=$W/postgres port as=() c
	port=$(free_port)
	mkdir "$d"
	store postgres
	if [ "$(id -u)" = 0 ]; then
		as=(setpriv --reuid postgres --regid postgres --clear-groups env "HOME=$W")
		chown postgres "$d" "$W/store"
		chmod 1777 "$W"
	fi
	chmod 700 "$d"
	"${as[@]}" "$BIN/initdb" -D "$d" -A trust -U postgres >"$W/initdb.log" 2>&1 || give_up "initdb: $(tail -1 "$W/initdb.log")"
	printf "port=%s\nlisten_addresses='127.0.0.1'\nunix_socket_directories='%s'\nlogging_collector=off\n" "$port" "$W" \
		>>"$d/postgresql.conf"
	serve "${as[@]}" "$TARRY" record -q -c "$W/conf.yaml" -o "$STORE" -- "$BIN/postgres" -D "$d" >"$W/server.log" 2>&1
	up "$port"
	export PGUSER=postgres PGPORT=$port PGDATABASE=postgres PGSSLMODE=disable PGHOST=127.0.0.1
	for _ in $(seq 50); do "$BIN/psql" -qAtc 'select 1' >/dev/null 2>&1 && break; sleep 0.1; done
	"$BIN/pgbench" -i -s 10 -q >"$W/init.log" 2>&1 || give_up "pgbench -i: $(tail -1 "$W/init.log")"
	PG_CHECKS=()
	pgbench_mode simple UPDATE
	SIMPLE_FROM=$MAIN_FROM SIMPLE_TO=$MAIN_TO
	pgbench_mode prepared 'execute+UPDATE'
	"$BIN/psql" -qAtc "select '$SECRET'" >/dev/null
	"$BIN/psql" -qAtc "$SECRET is no word of SQL" >/dev/null 2>&1
	kill -INT "$(head -1 "$d/postmaster.pid")"
	ended postgres
	for c in "${PG_CHECKS[@]}"; do verdict $c; done
	verdict --window "$SIMPLE_FROM" "$SIMPLE_TO" --has UPDATE --has SELECT --has INSERT --has BEGIN --has END --has startup
	verdict --window "$MAIN_FROM" "$MAIN_TO" --has 'execute UPDATE' --has 'execute END' --has 'prepare INSERT'
	verdict --secret "$SECRET"
}

for s in $ONLY; do "test_$s"; done
exit $FAILED

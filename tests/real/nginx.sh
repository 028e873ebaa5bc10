#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 180.  nginx with two workers under wrk: plain, over TLS, and with its thread pool
# reading large files.  The access log is the server's own count.
. "$(dirname "$0")/lib.sh"
need nginx wrk openssl
printf 'self_check: 1/16\n' >"$CONF"
SECS=${SECS_NGINX:-2}
mkdir "$W/www" "$W/logs"
head -c 2000 /dev/urandom | base64 >"$W/www/small"
head -c 300000 /dev/urandom >"$W/www/large"
chmod 755 "$W/www"
chmod 644 "$W"/www/*
openssl req -new -x509 -days 2 -nodes -subj /CN=localhost -keyout "$W/k.pem" -out "$W/c.pem" >/dev/null 2>&1

configure() { # LISTEN, IO
	cat >"$W/nginx.conf" <<-C
		$([ "$(id -u)" = 0 ] && echo "user root;")
		worker_processes 2; daemon off; pid $W/pid; error_log $W/logs/error.log;
		events { worker_connections 512; }
		http {
			access_log $W/logs/access.log;
			client_body_temp_path $W/t1; proxy_temp_path $W/t2; fastcgi_temp_path $W/t3;
			uwsgi_temp_path $W/t4; scgi_temp_path $W/t5;
			keepalive_requests 10000000;
			$2
			server { listen 127.0.0.1:$PORT $1; root $W/www; }
		}
	C
}
run() { # ID LOAD SCHEME FILE OPTIONS...
	local id=$1 what=$2 url=$3://127.0.0.1:$PORT/$4 client
	shift 4
	rm -rf "$STORE"* "$W/logs"/*
	serve "$TARRY" record -v -c "$CONF" -o "$STORE" -- nginx -c "$W/nginx.conf" -p "$W" >"$W/server.log" 2>&1
	wait_port "$PORT" || give_up "no server: $(tail -3 "$W/server.log")"
	load MAIN wrk -t 2 -c 16 -d "${SECS}s" "$url"
	kill -QUIT "$(cat "$W/pid")"
	ended nginx
	told nginx "$(tail -n 1 "$W/server.log")"
	client=$(wc -l <"$W/logs/access.log")
	# a handshake over TLS 1.3 is a request of its own
	judge "nginx-$id" "nginx $(version nginx)" "$what" --window "$MAIN_FROM" "$MAIN_TO" \
		--client "$client" --processes 3 --complete 0.99 "$@"
}
PORT=$(free_port)
configure "" "sendfile on;"
run plain "2.7 kB files, 16 connections" http small --in-requests
PORT=$(free_port)
configure "ssl; ssl_certificate $W/c.pem; ssl_certificate_key $W/k.pem" "sendfile on;"
run tls "2.7 kB files over TLS" https small --in-requests --extra-most 64
PORT=$(free_port)
configure "" "aio threads; directio 4k; output_buffers 2 128k; sendfile off;"
run pool "300 kB files, aio threads, directio" http large --in-requests --site pread64
exit $FAILED

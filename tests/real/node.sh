#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 120.  Node.js: an HTTP server whose requests wait for its thread pool, under wrk.
. "$(dirname "$0")/lib.sh"
need node wrk
PORT=$(free_port)
serve "$TARRY" record -v -c "$CONF" -o "$STORE" -- node "$CHECKS/programs/server.js" "$PORT" >"$W/server.log" 2>&1
wait_port "$PORT" || give_up "no server: $(tail -3 "$W/server.log")"
load MAIN wrk -t 1 -c 8 -d 3s "http://127.0.0.1:$PORT/"
$PY -c 'import sys, urllib.request; sys.stdout.write(urllib.request.urlopen(sys.argv[1]).read().decode())' \
	"http://127.0.0.1:$PORT/end" >"$W/answered" 2>&1 || fail "/end: $(tail -1 "$W/answered")"
ended node
told node "$(tail -n 1 "$W/server.log")"
# V8's built-in functions have no unwind tables: paths through them are cut
judge node "Node.js $(node --version)" "HTTP, readFile and pbkdf2 in the pool" --window "$MAIN_FROM" "$MAIN_TO" \
	--client "$(awk '$1 == "answered" { print $2 }' "$W/answered")" --in-requests --site pthread_cond_wait --checked 100
exit $FAILED

# SPDX-License-Identifier: MIT
# Sourced by the tests with real servers (bash).  Everything listens on
# loopback; servers are stopped by the pid that was started.
#   B     build folder     SECS  seconds of load (5)     KEEP=1  keeps the working folder
# Sets TARRY, STORE, W (working folder), PY, CONF (configuration for most).  Rows of the table of
# programs tried (tools/tried.sh) go to $B/real.
set -u
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
B=${B:-build}
case $B in /*) ;; *) B=$TOP/$B ;; esac
SECS=${SECS:-5} PY=/usr/bin/python3 CHECKS=$TOP/tests/real
W=$(mktemp -d "${TMPDIR:-/tmp}/tarry-real.XXXXXX") || exit 1
chmod 755 "$W"
STORE=$W/store/run.tarry
mkdir -p "$W/bin" "$W/store"
PIDS=() FAILED=0 TRACE=
unset LD_PRELOAD TARRY_ARENA TARRY_STORE TARRY_CONFIG

fail() { echo "FAIL $*"; FAILED=1; }
good() { echo "ok   $*"; }
skip() { echo "skipped: $*"; exit 77; }
give_up() { echo "FAIL $*"; exit 1; }
need() { local c; for c; do command -v "$c" >/dev/null || skip "$c is not installed"; done; }

# The server runs as another user perhaps: everything it needs lies in W.
cp "$B/tarry" "$B/libtarry.so" "$W/bin/" 2>/dev/null || give_up "build first: $B/tarry and $B/libtarry.so"
TARRY=$W/bin/tarry

serve() { "$@" & PIDS+=($!); }
wait_port() {
	local i
	for i in $(seq 300); do
		(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0
		sleep 0.1
	done
	return 1
}
free_port() { $PY -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# ended NAME: waits for the recorder, whose status is the server's
ended() {
	local p=${PIDS[0]} i rc
	for i in $(seq 600); do kill -0 "$p" 2>/dev/null || break; sleep 0.1; done
	if kill -0 "$p" 2>/dev/null; then fail "$1 does not end"; return; fi
	wait "$p"
	rc=$?
	PIDS=()
	[ $rc = 0 ] && good "$1 ended normally" || fail "$1: status $rc: $(tail -2 "$W/server.log")"
}
mono() { $PY -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))'; }
# load NAME COMMAND...: runs the client; leaves NAME_FROM, NAME_TO (CLOCK_MONOTONIC ns) and $W/NAME.out
load() {
	local name=$1 rc
	shift
	printf -v "${name}_FROM" %s "$(mono)"
	"$@" >"$W/$name.out" 2>&1
	rc=$?
	printf -v "${name}_TO" %s "$(mono)"
	[ $rc = 0 ] || fail "client $name: status $rc: $(tail -2 "$W/$name.out")"
}

# ---- any program ----
CONF=$W/conf.yaml
printf 'self_check: 1/16\nmin_path: 0\n' >"$CONF"
version() { dpkg-query -W -f='${Version}' "$1" 2>/dev/null | sed 's/^[0-9]*://; s/[-+~].*//'; }
# alone NAME COMMAND...: in an empty folder; output in $W/NAME.out and .err, status returned
alone() {
	local name=$1
	shift
	rm -rf "$W/cwd"
	mkdir "$W/cwd"
	(cd "$W/cwd" && exec timeout -k 5 60 "$@" >"$W/$name.out" 2>"$W/$name.err" </dev/null)
}
# both NAME COMMAND...: without and with tarry; status and output must be equal, and tarry says one line
both() {
	local name=$1 rc rc2
	shift
	alone bare "$@"
	rc=$?
	rm -f "$STORE"*
	alone got "$TARRY" record -v -c "$CONF" -o "$STORE" -- "$@"
	rc2=$?
	said=$(tail -n 1 "$W/got.err")
	sed -i '$d' "$W/got.err"
	if [ $rc != 0 ]; then fail "$name, not recorded: status $rc: $(tail -2 "$W/bare.err")"; return; fi
	if [ $rc2 != 0 ]; then fail "$name: status $rc2: $(tail -2 "$W/got.err") $said"; return; fi
	same "$name" out && same "$name" err && good "$name: status 0, equal output"
	told "$name" "$said"
}
same() { # NAME out|err
	cmp -s "$W/bare.$2" "$W/got.$2" && return 0
	fail "$1: std$2 differs: $(diff "$W/bare.$2" "$W/got.$2" | head -4)"
	return 1
}
told() { # NAME LINE: what `tarry record -v` says at the end
	case $2 in
	"tarry: $STORE: "*" events, "*" lost") good "$1: $2" ;;
	*) fail "$1: tarry said '$2'" ;;
	esac
}
# judge ID PROGRAM LOAD [OPTIONS of program.py]: the recording, and its row of the table
judge() {
	local id=$1 program=$2 load=$3
	shift 3
	$PY "$CHECKS/program.py" "$TARRY" "$STORE" --row "$B/real/$id.tsv" --test "$(basename "$0" .sh)" --program "$program" --load "$load" "$@" || FAILED=1
}
# explain: blame, tree and tail of the recording
explain() { $PY "$CHECKS/explain.py" "$TARRY" "$STORE" "$@" || FAILED=1; }

# ---- what the kernel saw: tracepoints of the server's system calls ----
CALLS="futex fsync fdatasync pwrite64 pread64 write read sendto recvfrom poll ppoll epoll_wait clock_nanosleep"
trace_begin() { # PID...: these, all their threads and what they fork
	local d=/sys/kernel/tracing p t c
	[ "$(id -u)" = 0 ] || { echo "skip kernel's totals: needs root"; return 0; }
	[ -d $d/events/syscalls ] || mount -t tracefs none $d 2>/dev/null
	[ -d $d/events/syscalls ] || { echo "skip kernel's totals: no tracefs"; return 0; }
	mkdir "$d/instances/tarry.$$" || { echo "skip kernel's totals: no trace instance"; return 0; }
	TRACE=$d/instances/tarry.$$
	echo mono >"$TRACE/trace_clock"
	echo 98304 >"$TRACE/buffer_size_kb"
	echo 1 >"$TRACE/options/event-fork"
	for p; do for t in /proc/"$p"/task/*; do echo "${t##*/}" >>"$TRACE/set_event_pid"; done; done
	echo 1 >"$TRACE/events/sched/sched_switch/enable"
	for c in $CALLS; do
		echo 1 >"$TRACE/events/syscalls/sys_enter_$c/enable"
		echo 1 >"$TRACE/events/syscalls/sys_exit_$c/enable"
	done
}
trace_end() {
	[ -n "$TRACE" ] || return 0
	echo 0 >"$TRACE/tracing_on"
	cat "$TRACE/trace" >"$W/trace.txt"
	grep -h overrun "$TRACE"/per_cpu/cpu*/stats | sort | uniq -c >"$W/trace.lost"
	rmdir "$TRACE"
	TRACE=
}
descendants() { # PID -> it and all below it
	local p c
	for p; do
		echo "$p"
		for c in $(cat /proc/"$p"/task/*/children 2>/dev/null); do descendants "$c"; done
	done
}

finish() {
	local p i
	[ -z "$TRACE" ] || rmdir "$TRACE"
	for p in "${PIDS[@]:-}"; do
		[ -n "$p" ] || continue
		kill -TERM "$p" 2>/dev/null
		for i in $(seq 100); do kill -0 "$p" 2>/dev/null || break; sleep 0.1; done
		kill -9 "$p" 2>/dev/null
	done
	[ -n "${KEEP:-}" ] && echo "kept: $W" || rm -rf "$W"
}
trap finish EXIT
trap 'exit 130' INT TERM

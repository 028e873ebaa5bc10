# SPDX-License-Identifier: MIT
# Sourced by the tests with real servers (bash).  Everything listens on
# loopback; servers are stopped by the pid that was started.
#   B     build folder     SECS  seconds of load (5)     KEEP=1  keeps the working folder
# Sets TARRY, STORE, W (working folder), PY.
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

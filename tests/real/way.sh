#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 200.  How long a call took, by three clocks: the program's own, tarry's and the kernel's
# tracepoints; bare, recorded, and each with and without the tracepoints, which cost time themselves.
#   PAIRS=16 ROUNDS=2000
. "$(dirname "$0")/lib.sh"
need cc
PAIRS=${PAIRS:-16} ROUNDS=${ROUNDS:-2000}
cc -O2 -o "$W/way" "$CHECKS/programs/way.c" || give_up "way.c"
mkfifo "$W/go"

run() { # NAME traced|untraced COMMAND...
	local name=$1 traced=$2 p root
	shift 2
	: >"$W/$name.out"
	"$@" <"$W/go" >"$W/$name.out" 2>"$W/$name.err" &
	p=$!
	PIDS=("$p")
	exec 7>"$W/go"
	until grep -q ready "$W/$name.out" || ! kill -0 "$p" 2>/dev/null; do sleep 0.05; done
	root=$p
	[ "$1" = "$W/way" ] || root=$(descendants "$p" | while read -r q; do
		[ "$(readlink "/proc/$q/exe")" = "$W/way" ] && echo "$q" && break; done)
	[ $traced = untraced ] || trace_begin $(descendants "$root")
	exec 7>&-
	wait "$p" || fail "$name: status $?: $(tail -2 "$W/$name.err")"
	PIDS=()
	[ $traced = untraced ] || { trace_end; mv "$W/trace.txt" "$W/$name.trace"; }
}
verdict() { # NAME [OPTIONS of way.py]
	echo "     $*" | sed "s|$W/||g"
	$PY "$CHECKS/way.py" "$W/$1.out" "${@:2}" || FAILED=1
}
run bare untraced "$W/way" "$PAIRS" "$ROUNDS"
verdict bare
run bare-traced traced "$W/way" "$PAIRS" "$ROUNDS"
verdict bare-traced --trace "$W/bare-traced.trace"
run recorded untraced "$TARRY" record -q -o "$STORE" -- "$W/way" "$PAIRS" "$ROUNDS"
verdict recorded --tarry "$TARRY" "$STORE"
rm -f "$STORE"*
run recorded-traced traced "$TARRY" record -q -o "$STORE" -- "$W/way" "$PAIRS" "$ROUNDS"
verdict recorded-traced --tarry "$TARRY" "$STORE" --trace "$W/recorded-traced.trace"
exit $FAILED

#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 400.  The programs op_*.c (or those named as arguments): each runs bare and under
# `tarry record`, must print the same and end with the same status, and the
# store must hold what the program says ("expect" lines, e2e.h).
#   CONFIG  a configuration file for the recording
#   ORDER   an order for everything that can have one
. "$(dirname "$0")/lib.sh"

plugins() { # what op_aio links and op_dlclose loads
	$CC -O2 -g -fPIC -shared -o "$W/libaio.so" "$TOP/tests/e2e/plugins/aio.c" || return 1
	for p in one:2 two:3; do
		$CC -O2 -g -fPIC -shared -DNAME=plug_${p%:*} -DROUNDS=${p#*:} -o "$W/plug_${p%:*}.so" \
			"$TOP/tests/e2e/plugins/plug.c" || return 1
	done
}

one() {
	local n=$1 flags libs= rc1 rc2
	flags=$(sed -n 's/^ \* flags: //p' "$TOP/tests/e2e/$n.c")
	case $(sed -n 's/^ \* libs: //p' "$TOP/tests/e2e/$n.c") in aio) libs="-Wl,--no-as-needed -L$W -laio -Wl,-rpath,$W" ;; esac
	build "$n" $flags $libs -ldl 2>"$W/cc" || { sed 's/^/     | /' "$W/cc"; return; }
	timeout -k 5 30 "$W/$n" >"$W/bare" 2>&1 </dev/null
	rc1=$?
	timeout -k 5 60 "$TARRY" record -q ${CONFIG:+-c "$CONFIG"} ${ORDER:+--order "$ORDER"} -o "$W/$n.tarry" -- "$W/$n" >"$W/recorded" 2>&1 </dev/null
	rc2=$?
	# not every program waits for something that has an order, and that is said
	[ -z "${ORDER:-}" ] || sed -i '/^tarry: order 1 ([^)]*) matched no wait/d' "$W/recorded"
	if [ $rc1 != 0 ]; then
		fail "$n: bare: status $rc1: $(tail -1 "$W/bare")"
	elif [ $rc1 != $rc2 ] || ! cmp -s "$W/bare" "$W/recorded"; then
		fail "$n: recorded: status $rc2"
		diff "$W/bare" "$W/recorded" | sed -n '1,5s/^/     | /p'
	elif grep -q '^skip ' "$W/bare"; then
		echo "skip $n: $(sed -n 's/^skip //p' "$W/bare")"
	elif $PY "$TOP/tests/e2e/expect.py" "$TARRY" "$W/$n.tarry" <"$W/bare" >"$W/verdict" 2>&1; then
		good "$n"
	else
		fail "$n"
		sed -n '1,12s/^/     | /p' "$W/verdict"
	fi
	[ -n "${KEEP:-}" ] || rm -f "$W/$n" "$W/$n".tarry*
}

plugins || exit 1
if [ $# -eq 0 ]; then
	set -- $(cd "$TOP/tests/e2e" && ls op_*.c | sed 's/\.c$//')
fi
for n; do one "$n"; done
[ -z "${KEEP:-}" ] || echo "kept: $W"
done_

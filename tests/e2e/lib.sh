# SPDX-License-Identifier: MIT
# Sourced by the end-to-end tests (sh).  Sets:
#   TOP  the source tree     B  build folder (environment, default build)
#   TARRY LIB                the command and the library under test, absolute
#   W                        a working folder of this test, removed at the end (KEEP=1 keeps it)
# A test exits 0, 1 (failed) or 77 (skipped, with the reason on its last line).
set -u
TOP=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
B=${B:-build}
case $B in /*) ;; *) B=$TOP/$B ;; esac
TARRY=$B/tarry LIB=$B/libtarry.so
CC=${CC:-cc} PY=/usr/bin/python3
unset LD_PRELOAD TARRY_ARENA TARRY_STORE TARRY_CONFIG
W=$(mktemp -d "${TMPDIR:-/tmp}/tarry-e2e.XXXXXX") || exit 1
FAILED=0 CLEANUP=:
finish() { $CLEANUP; [ -n "${KEEP:-}" ] || rm -rf "$W"; }
trap finish EXIT
trap 'exit 130' INT TERM
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAIL $*"; FAILED=1; }
good() { echo "ok   $*"; }
done_() { exit $FAILED; }
# check NAME COMMAND...: good or fail by the command's status
check() { name=$1; shift; if "$@"; then good "$name"; else fail "$name: $*"; fi; }
[ -x "$TARRY" ] && [ -f "$LIB" ] || { echo "build first: $TARRY and $LIB are needed"; exit 1; }
# build NAME [FLAGS...]: tests/e2e/NAME.c into $W/NAME
build() { n=$1; shift; $CC -std=gnu11 -O2 -g -Wall -Wextra -Wno-unused-parameter -D_GNU_SOURCE -I"$TOP/include" -pthread \
	-o "$W/$n" "$TOP/tests/e2e/$n.c" "$@" || { fail "compile $n"; return 1; }; }
# expected STORE FILE: are the facts in FILE ("expect" lines) true of the store?
expected() { $PY "$TOP/tests/e2e/expect.py" "$TARRY" "$1" <"$2"; }
# until_ended STORE: a plain preload's recorder ends a moment after its program
until_ended() {
	i=0
	while [ $i -lt 200 ]; do
		"$TARRY" info --json "$1" 2>/dev/null | $PY -c '
import json, sys
try: sys.exit(0 if json.load(sys.stdin)["state"] != "recording" else 1)
except (ValueError, KeyError): sys.exit(1)' && return 0
		i=$((i + 1)); sleep 0.05
	done
	echo "the recording of $1 does not end"
	return 1
}
# same NAME STATUS1 OUT1 STATUS2 OUT2
same() {
	if [ "$2" = "$4" ] && cmp -s "$3" "$5"; then return 0; fi
	fail "$1: status $2 and $4"
	diff "$3" "$5" | sed -n '1,5s/^/     | /p'
	return 1
}

# SPDX-License-Identifier: MIT
# Sourced by tests/badinput/*.sh (sh).  Sets TOP, TARRY, LIB and W, an empty
# folder that is removed at the end.  Exit status of a test: 0, 1, 77 skipped.
set -u
TOP=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
B=${B:-build}
case $B in /*) ;; *) B=$TOP/$B ;; esac
TARRY=$B/tarry LIB=$B/libtarry.so
export LC_ALL=C
unset LD_PRELOAD TARRY_ARENA TARRY_STORE TARRY_CONFIG
[ -x "$TARRY" ] && [ -f "$LIB" ] || { echo "build first: $TARRY and $LIB are needed"; exit 1; }
W=$(mktemp -d "${TMPDIR:-/tmp}/tarry-bad.XXXXXX") || exit 1
trap 'rm -rf "$W"' EXIT
trap 'exit 130' INT TERM
cd "$W" || exit 1
FAILED=0
fail() { echo "wrong: $*"; FAILED=1; }
skip() { echo "$*"; exit 77; }

# refused STATUS PATTERN COMMAND...: ends with STATUS and one line on standard
# error, "tarry: ..." or "tarry SUB: ...", that matches the extended regular
# expression PATTERN; a second line may only point to --help.
refused() {
	want=$1 pattern=$2
	shift 2
	timeout -k 5 30 "$@" >out 2>err </dev/null
	rc=$?
	[ $rc = "$want" ] || fail "status $rc, not $want: $*"
	grep -qE -- "$pattern" err || fail "no '$pattern' in: $(head -c 600 err | tr '\n' '|') ($*)"
	head -n 1 err | grep -qE "(^|/)tarry( [a-z]+)?: " || fail "first line is not from tarry: $(head -n 1 err) ($*)"
	[ "$(grep -cvE '^Try .*--help' err)" = 1 ] || fail "not one line: $(head -c 600 err | tr '\n' '|') ($*)"
}

# did_not_run: the program given to record was not started.  It is `touch ran`.
did_not_run() { [ ! -e ran ] || { fail "the program was started ($*)"; rm -f ran; }; }
same() { [ "$(cksum <"$1")" = "$2" ] || fail "$1 was changed"; }

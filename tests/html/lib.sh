# SPDX-License-Identifier: MIT
# Sourced by the tests of tarry report --html (sh), over what the export tests share.
. "$(dirname "$0")/../export/lib.sh"
# browser: a real one, driven by playwright-core (npm); or skips the test
browser() {
	CHROMIUM=$(command -v chromium || command -v chromium-browser) || skip "no chromium"
	npm_get playwright-core@1.61.0 # the last that Debian 12's node runs
	export CHROMIUM
}
# page NAME [OPTION...]: $W/NAME.html of $W/NAME.tarry
page() {
	n=$1; shift
	"$TARRY" report --html "$W/$n.html" "$@" "$W/$n.tarry" >"$W/out" 2>&1 || { fail "page of $n: status $?: $(cat "$W/out")"; done_; }
	[ ! -s "$W/out" ] || fail "page of $n: said $(head -n 1 "$W/out")"
}
# drive SCRIPT ARGUMENT...: a script of this folder, which prints ok and FAIL lines
drive() {
	s=$1; shift
	NODE_PATH=$W/node_modules timeout 900 node "$TOP/tests/html/$s" "$@" || fail "$s: status $?"
}

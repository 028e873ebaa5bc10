# SPDX-License-Identifier: MIT
# Sourced by the tests of tarry export (sh), over what the end-to-end tests share.
. "$(dirname "$0")/../e2e/lib.sh"
# orders: $W/orders.tarry, a recording of some hundred requests on connections
orders() {
	$CC -std=gnu11 -O2 -g -D_GNU_SOURCE -pthread -o "$W/orders" "$TOP"/examples/orders/*.c -lm || { fail compile; done_; }
	"$TARRY" record -q -o "$W/orders.tarry" -- "$W/orders" --requests 60 --connections 7 >"$W/orders.out" 2>&1 ||
		{ fail "recording orders: $(tail -n 1 "$W/orders.out")"; done_; }
	[ -s "$W/orders.tarry" ] || { fail "no store"; done_; }
}
# marked: $W/marked.tarry, requests that the program marks, with classes
marked() {
	build op_marker && "$TARRY" record -q -o "$W/marked.tarry" -- "$W/op_marker" >/dev/null || { fail "recording markers"; done_; }
}
# npm_get PACKAGE@VERSION...: into $W/node_modules, or skips the test
npm_get() {
	command -v node >/dev/null && command -v npm >/dev/null || skip "no node or no npm"
	(cd "$W" && echo '{"private":true}' >package.json &&
		timeout 90 npm install --silent --ignore-scripts --no-audit --no-fund "$@") >"$W/npm.log" 2>&1 ||
		skip "npm cannot get $*: the registry is away ($(tail -n 1 "$W/npm.log"))"
}

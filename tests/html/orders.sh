#!/bin/sh
# SPDX-License-Identifier: MIT
# suite, timeout: 1000.  The page of a recording under load, in a real browser: its
# figures are those of the other commands, every part does what it says, nothing is
# fetched.  Screenshots are left in $B/html/.
. "$(dirname "$0")/lib.sh"
browser
$CC -std=gnu11 -O2 -g -D_GNU_SOURCE -pthread -o "$W/orders" "$TOP"/examples/orders/*.c -lm || { fail compile; done_; }
"$TARRY" record -q -o "$W/orders.tarry" -- "$W/orders" --seconds 5 --seed 1 >"$W/out" 2>&1 ||
	{ fail "recording orders: $(tail -n 1 "$W/out")"; done_; }
page orders
cd "$W" || exit 1 # the store's name is in the data
"$TARRY" report --html again.html "$W/orders.tarry" && cmp -s orders.html again.html && good "the same page again" || fail "another page"
"$TARRY" report --json "$W/orders.tarry" >report.json || fail "report"
"$TARRY" report --top 10 "$W/orders.tarry" >report.txt || fail "report"
"$TARRY" tree --json "$W/orders.tarry" >tree.json || fail "tree"
"$TARRY" tail --json --slowest 12 "$W/orders.tarry" >tail.json || fail "tail"
"$TARRY" blame --json --top 300 "$W/orders.tarry" >blame.json || fail "blame"
mkdir -p "$B/html"
drive orders.js "$W" "$B/html"
done_

#!/bin/sh
# SPDX-License-Identifier: MIT
# Every row of the table of wrapped functions is named by an "expect" line of a
# program in this folder, and none is said to be a wait that is not recorded.
. "$(dirname "$0")/lib.sh"
sed -n 's/^TY_W([^,]*, *\([A-Za-z0-9_]*\),.*/\1/p; s/^TY_SYS([^,]*, *"\([^"]*\)".*/\1/p' "$TOP/include/tarry/wrap.def" |
	sort >"$W/rows"
[ "$(wc -l <"$W/rows")" -gt 100 ] || fail "cannot read the table"
sed -n 's/.*expect("\([^"]*\)", *"\(waits\|fast\|wakes\|calls\|path\)[-" ].*/\1/p; s/.*expect \([A-Za-z0-9_:]*\) \(waits\|fast\).*/\1/p' \
	"$TOP"/tests/e2e/*.c | sort -u >"$W/tested"
comm -23 "$W/rows" "$W/tested" >"$W/missing"
if [ -s "$W/missing" ]; then
	fail "rows of wrap.def without a test in tests/e2e:" $(cat "$W/missing")
else
	good "$(wc -l <"$W/rows") rows, each with a test"
fi
sed -n '/^static const char \*const unwrapped_names/,/^};/p' "$TOP/recorder/coverage.c" |
	grep -o '"[^"]*"' | tr -d '"' | sort >"$W/unwrapped"
[ "$(wc -l <"$W/unwrapped")" -gt 40 ] || fail "cannot read the list of what is not wrapped"
comm -12 "$W/rows" "$W/unwrapped" >"$W/both"
if [ -s "$W/both" ]; then
	fail "wrapped, and listed as not wrapped:" $(cat "$W/both")
else
	good "no row is listed as not wrapped"
fi
done_

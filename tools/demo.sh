#!/bin/sh
# SPDX-License-Identifier: MIT
# make demo: records the order service of examples/orders under load, prints the
# report and what to look at.  Leaves the store in $B/demo for looking around, until
# the next demo or `make clean`.
set -u
B=${B:-build}
SECONDS_OF_LOAD=${SECONDS_OF_LOAD:-8}
D=$B/demo
rm -rf "$D"
mkdir -p "$D" || exit 1
S=$D/orders.tarry

echo "== $B/tarry record -o $S -- $B/orders --seconds $SECONDS_OF_LOAD --connections 16 --truth $D/truth.json"
"$B/tarry" record -o "$S" -- "$B/orders" --seconds "$SECONDS_OF_LOAD" --connections 16 --truth "$D/truth.json" ||
	{ echo "the recording failed" >&2; exit 1; }
echo
echo "== $B/tarry report --top 8 $S"
"$B/tarry" report --top 8 "$S" || exit 1
cat <<TEXT

== What to look at
1. Share, first column: how much of the variance of latency comes from waiting
   at this place.  All shares, "running" included, add up to 100 %.
2. Compare lock_row with payment_call: its part of the variance is much larger
   than its part of the time (total).  A wait that is the same for everybody
   makes nobody slow; one that is long for a few makes the tail.
3. The call path says which of the program's functions asked.
4. The service measured the same shares itself, without tarry:
TEXT
python3 - "$D/truth.json" <<'PY' 2>/dev/null || echo "   $D/truth.json"
import json, sys
f = json.load(open(sys.argv[1]))["functions"]
for n, v in sorted(f.items(), key=lambda x: -abs(x[1]["share"]))[:6]:
    print("      %6.1f %%  %s" % (100 * v["share"], n))
PY
cat <<TEXT

The store is $S; try
   $B/tarry report --by object $S
   $B/tarry info $S
   $B/tarry dump $S | head
TEXT

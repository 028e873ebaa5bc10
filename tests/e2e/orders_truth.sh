#!/bin/sh
# SPDX-License-Identifier: MIT
# suite, timeout: 180.  examples/orders measures its own waits; the report must find the same.
#   SECS=8 SEED=1
. "$(dirname "$0")/lib.sh"
SECS=${SECS:-8} SEED=${SEED:-1}
$CC -std=gnu11 -O2 -g -Wall -Wextra -D_GNU_SOURCE -pthread -o "$W/orders" "$TOP"/examples/orders/*.c -lm || { fail compile; done_; }
"$W/orders" --requests 7 --connections 3 --truth "$W/small.json" >/dev/null
check "runs bare" test $? = 0
"$TARRY" record -q -o "$W/s.tarry" -- "$W/orders" --seconds "$SECS" --seed "$SEED" --truth "$W/truth.json" >"$W/out" 2>&1
rc=$?
[ $rc = 0 ] && good "recorded" || fail "recorded: status $rc: $(tail -1 "$W/out")"
"$TARRY" report --json "$W/s.tarry" >"$W/report.json" || fail "tarry report: status $?"
$PY "$TOP/tests/e2e/orders_truth.py" "$W/truth.json" "$W/report.json" || FAILED=1
# exactly as many as asked for
"$TARRY" record -q -o "$W/n.tarry" -- "$W/orders" --requests 23 --connections 7 >"$W/out" 2>&1
n=$("$TARRY" report --json "$W/n.tarry" | $PY -c 'import json, sys; print(json.load(sys.stdin)["requests"]["count"])')
[ "$n" = 161 ] && good "161 requests" || fail "7 connections with 23 orders each are $n requests"
done_

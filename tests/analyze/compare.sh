#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: tarry compare of recorded programs: a recording with itself, with
# another command's, and what it cannot read.  Verdicts are in tests/unit/test_compare.c.
. "$(dirname "$0")/../e2e/lib.sh"
"$TARRY" record -q -o "$W/a.tarry" -- sleep 0.01 || fail "record"
"$TARRY" record -q -o "$W/b.tarry" -- sleep 0.02 || fail "record"
check "with itself" sh -c "'$TARRY' compare '$W/a.tarry' '$W/a.tarry' >'$W/self'"
check "no warning" sh -c "! grep -q warning: '$W/self'"
check "with another" sh -c "'$TARRY' compare '$W/a.tarry' '$W/b.tarry' >'$W/other'"
check "command differs" grep -q "warning: command differs: sleep 0.01  |  sleep 0.02" "$W/other"
"$TARRY" record -q --order eldest:cond -o "$W/o.tarry" -- sleep 0.01 || fail "record"
check "with an order" sh -c "'$TARRY' compare '$W/a.tarry' '$W/o.tarry' >'$W/ordered'"
check "orders differ" grep -q "warning: orders differ: (none)  |  eldest on cond" "$W/ordered"
"$TARRY" record -q -o "$W/q.tarry" -- sh -c 'sleep 0.01; : "it'"'"'s"' '' '$HOME' >/dev/null || fail "record"
"$TARRY" info "$W/q.tarry" | sed -n 's/^  command  *//p' >"$W/q"
check "info: the command as it was typed" [ "$(cat "$W/q")" = "sh -c 'sleep 0.01; : \"it'\\''s\"' '' '\$HOME'" ]
"$TARRY" compare "$W/a.tarry" "$W/q.tarry" >"$W/quoted"
check "compare: the command as it was typed" grep -qF "$(cat "$W/q")" "$W/quoted"
check "lines fit" awk 'length > 132 { exit 1 }' "$W/self" "$W/other"
check "json" sh -c "'$TARRY' compare --json '$W/a.tarry' '$W/b.tarry' | $PY -c '
import json, sys
d = json.load(sys.stdin)
assert d[\"worse\"] == 0 and d[\"judged\"] == 0
assert [p[\"key\"] for p in d[\"provenance\"]] == [\"command\"]'"
"$TARRY" compare "$W/a.tarry" "$W/none.tarry" 2>"$W/err" >/dev/null
[ $? = 1 ] && [ "$(wc -l <"$W/err")" = 1 ] || fail "a store that is not there: status 1, one line"
"$TARRY" compare "$W/a.tarry" 2>/dev/null
[ $? = 2 ] || fail "one store: status 2"
"$TARRY" compare --tolerance x "$W/a.tarry" "$W/b.tarry" 2>/dev/null
[ $? = 2 ] || fail "a tolerance that is none: status 2"
done_

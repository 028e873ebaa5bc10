#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: folded stacks: one line per call path, weights that add up to the
# waits of `tarry dump`, time inside requests that is the report's, windows and filters.
. "$(dirname "$0")/lib.sh"
orders
out() { n=$1; shift; "$TARRY" export --format folded "$@" "$W/orders.tarry" >"$W/$n" || fail "export $*: status $?"; }
"$TARRY" dump --json --paths "$W/orders.tarry" >"$W/dump" || fail dump
"$TARRY" report --json "$W/orders.tarry" >"$W/report" || fail report
out all
out waits --weight waits
out inside --in-requests
tid=$($PY -c 'import collections, json, sys
print(collections.Counter(json.loads(l)["tid"] for l in open(sys.argv[1])).most_common(1)[0][0])' "$W/dump")
out thread --weight waits --thread "$tid"
# the middle third of the events, as CLOCK_MONOTONIC
window=$($PY -c 'import json, sys
e = sorted(json.loads(l)["end_ns"] for l in open(sys.argv[1]))
print(e[len(e) // 3], e[len(e) * 2 // 3])' "$W/dump")
out window --from "${window% *}" --to "${window#* }"
"$TARRY" export --format folded --in-requests --requests none "$W/orders.tarry" >"$W/none" 2>"$W/err"
[ $? = 2 ] && grep -q 'no requests' "$W/err" && good "no requests: said" || fail "no requests: $(cat "$W/err")"
$PY - "$W" "$tid" $window <<'EOF' || FAILED=1
import collections, json, sys
W, tid = sys.argv[1], int(sys.argv[2])
bad = 0
def check(name, ok, what=""):
    global bad
    print(("ok   " if ok else "FAIL ") + name, "" if ok else what)
    bad += not ok
def lines(name):
    l = [x.rstrip("\n").rsplit(" ", 1) for x in open(f"{W}/{name}")]
    check(f"{name}: one line per path", len({x[0] for x in l}) == len(l) > 0)
    return {x[0]: int(x[1]) for x in l}
events = [json.loads(l) for l in open(W + "/dump")]
waits = [e for e in events if e["kind"] in ("wait", "open")]
report = json.load(open(W + "/report"))
def text(e):
    if e["path_kind"] == "not_taken":
        return "[path not taken];" + e["operation"]
    frames = [f["function"] or f"{f['module']}+{f['offset']}" for f in e["path"]]
    whole = [] if e["path_kind"] == "complete" else ["[path not complete]"]
    return ";".join(whole + frames[::-1] + [e["operation"]]) 
def expect(some, ns):
    c = collections.Counter()
    for e in some:
        c[text(e)] += ns(e)
    return c
full = expect(waits, lambda e: e["duration_ns"])
check("time of each path", lines("all") == {k: (v + 500) // 1000 for k, v in full.items() if v >= 500})
check("waits of each path", lines("waits") == expect(waits, lambda e: 1))
check("waits of a thread", lines("thread") == expect([e for e in waits if e["tid"] == tid], lambda e: 1))
lo, hi = int(sys.argv[3]), int(sys.argv[4])
cut = expect([e for e in waits if e["end_ns"] >= lo and e["begin_ns"] <= hi],
             lambda e: max(0, min(e["end_ns"], hi) - max(e["begin_ns"], lo)))
check("time inside a window", lines("window") == {k: (v + 500) // 1000 for k, v in cut.items() if v >= 500})
inside = lines("inside")
told = sum(s["total_ns"] for s in report["sites"]) + report["held_up"]["total_ns"]
check("time inside requests is the report's", abs(sum(inside.values()) * 1000 - told) <= 500 * (len(inside) + len(report["sites"])), (sum(inside.values()), told))
check("clients are not inside requests", not any("one_order" in k for k in inside) and any("lock_row" in k for k in inside))
sys.exit(bad != 0)
EOF
done_

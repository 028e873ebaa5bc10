#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: speedscope (npm) opens folded stacks, pprof and a Chrome trace, and
# finds in each what `tarry dump` says.
. "$(dirname "$0")/lib.sh"
npm_get speedscope@1.25.0
orders
for f in folded pprof chrome; do
	"$TARRY" export --format $f -o "$W/orders.$f" "$W/orders.tarry" || fail "export $f: status $?"
done
mv "$W/orders.chrome" "$W/orders.json"
"$TARRY" dump --json "$W/orders.tarry" >"$W/dump" || fail dump
node "$TOP/tests/export/speedscope.js" "$W" "$W/orders.folded" "$W/orders.pprof" "$W/orders.json" >"$W/seen" || fail "speedscope: status $?"
$PY - "$W/dump" "$W/seen" <<'EOF' || FAILED=1
import json, sys
events = [json.loads(l) for l in open(sys.argv[1])]
waits = [e for e in events if e["kind"] in ("wait", "open")]
total = sum(e["duration_ns"] for e in waits)
seen = [json.loads(l) for l in open(sys.argv[2])]
bad = 0
def check(name, ok, what=""):
    global bad
    print(("ok   " if ok else "FAIL ") + name, "" if ok else what)
    bad += not ok
check("three files", len(seen) == 3)
folded, pprof, chrome = seen
names = {"lock_row", "wal_flush", "payment_call", "serve", "pthread_cond_wait", "nanosleep", "[path not taken]"}
f = folded["profiles"][0]
check("folded: time of all waits", abs(f["total"] * 1000 - total) < 1e6, (f["total"], total))
check("folded: frames", names <= set(f["frames"]), names - set(f["frames"]))
p = [x for x in pprof["profiles"] if x["unit"] == "nanoseconds"][0]
check("pprof: time of all waits", p["total"] == total, (p["total"], total))
check("pprof: frames", names <= set(p["frames"]), names - set(p["frames"]))
# one profile a thread; its busy time is what is covered by its slices
threads = {(e["pid"], e["tid"]) for e in events}
c = chrome["profiles"]
check("chrome: a profile for each thread that waited", len(c) == len(threads), (len(c), len(threads)))
ops = set().union(*(x["frames"] for x in c))
used = {e["operation"] for e in events if e["kind"] != "mark"}
check("chrome: operations", used <= {o.split(" {")[0] for o in ops}, used - ops)
busy = sum(x["nonIdle"] for x in c) * 1000
check("chrome: time of all waits", abs(busy - total) < 0.001 * total + 1e5, (busy, total))
sys.exit(bad != 0)
EOF
done_

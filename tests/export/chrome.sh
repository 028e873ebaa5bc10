#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: the Chrome trace has every event of `tarry dump` once, a track for
# each thread, the report's requests as asynchronous events, and arrows from wakes
# to waits that they can have ended.
. "$(dirname "$0")/lib.sh"
orders
marked
"$TARRY" export --format chrome -o "$W/t.json" "$W/orders.tarry" || fail "export: status $?"
"$TARRY" export --format chrome "$W/marked.tarry" >"$W/m.json" || fail "export: status $?"
"$TARRY" dump --json "$W/orders.tarry" >"$W/dump" || fail dump
"$TARRY" info --json "$W/orders.tarry" >"$W/info" || fail info
"$TARRY" report --json "$W/orders.tarry" >"$W/report" || fail report
$PY - "$W" <<'EOF' || FAILED=1
import collections, json, sys
W = sys.argv[1]
t = json.load(open(W + "/t.json"))
events = [json.loads(l) for l in open(W + "/dump")]
report = json.load(open(W + "/report"))
start = report["tarry"]["start_ns"]
bad = 0
def check(name, ok, what=""):
    global bad
    print(("ok   " if ok else "FAIL ") + name, "" if ok else what)
    bad += not ok
def ns(us):
    return round(us * 1000)
by = collections.defaultdict(list)
for e in t["traceEvents"]:
    by[e["ph"]].append(e)
X = [e for e in by["X"] if e["cat"] != "wake"]
wakes = [e for e in by["X"] if e["cat"] == "wake"]
got = collections.Counter((e["pid"], e["tid"], e["name"], ns(e["ts"]), ns(e["dur"])) for e in X)
want = collections.Counter((e["pid"], e["tid"], e["operation"], e["begin_ns"] - start, e["duration_ns"])
    for e in events if e["kind"] in ("wait", "open"))
check("every wait once", got == want, (list((got - want).items())[:3], list((want - got).items())[:3]))
got = collections.Counter((e["pid"], e["tid"], e["name"], ns(e["ts"])) for e in wakes)
want = collections.Counter((e["pid"], e["tid"], e["operation"], e["end_ns"] - start) for e in events if e["kind"] == "wake")
check("every wake once", got == want and wakes)
named = {(e["pid"], e["tid"]) for e in by["M"] if e["name"] == "thread_name"}
check("every thread has a name", {(e["pid"], e["tid"]) for e in X} <= named)
begin = {e["id"]: e for e in by["b"]}
end = {e["id"]: e for e in by["e"]}
check("requests", len(begin) == len(by["b"]) == report["requests"]["count"] > 0 and begin.keys() == end.keys(), len(begin))
mean = sum(end[i]["ts"] - begin[i]["ts"] for i in begin) / len(begin) * 1000
check("their latency", abs(mean - report["requests"]["mean_ns"]) < 1, (mean, report["requests"]["mean_ns"]))
s = {e["id"]: e for e in by["s"]}
f = {e["id"]: e for e in by["f"]}
check("arrows have two ends", s.keys() == f.keys() and len(s) == len(by["s"]) == len(by["f"]) > 0)
at = {(e["pid"], e["tid"], ns(e["ts"])): e for e in wakes}
tracks = collections.defaultdict(list)
for e in X:
    tracks[e["pid"], e["tid"]].append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), e))
wrong, ended = 0, collections.Counter()
for i in s:
    wake = at.get((s[i]["pid"], s[i]["tid"], ns(s[i]["ts"])))
    w = [x for x in tracks[f[i]["pid"], f[i]["tid"]] if x[0] <= ns(f[i]["ts"]) <= x[1] and
         x[2]["args"].get("object") == (wake or {}).get("args", {}).get("object", 0)]
    ok = wake and len(w) == 1 and w[0][0] <= ns(s[i]["ts"]) <= w[0][1] and (s[i]["pid"], s[i]["tid"]) != (f[i]["pid"], f[i]["tid"])
    wrong += not ok
    if ok:
        ended[id(w[0][2])] += 1
check("an arrow goes from a wake to a wait of another thread on the same object", wrong == 0, wrong)
check("a wait has one arrow at most", max(ended.values()) == 1)
conds = [e for e in X if e["name"] == "pthread_cond_wait"]
have = sum(1 for e in conds if ended[id(e)])
check("nearly all condition waits have one", have >= 0.9 * len(conds), (have, len(conds)))
frames = t["stackFrames"]
check("call paths end", all("parent" not in v or v["parent"] in frames for v in frames.values()) and
      all(e["sf"] in frames for e in X if "sf" in e) and any(v["name"] == "lock_row" for v in frames.values()))
m = json.load(open(W + "/m.json"))["traceEvents"]
check("classes of requests", collections.Counter(e["name"] for e in m if e["ph"] == "b")["checkout"] == 5)
sys.exit(bad != 0)
EOF
done_

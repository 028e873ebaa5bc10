#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: python's csv module and sqlite3's import read the CSV, and the
# figures in it are those of `tarry dump` and `tarry report`, with names that hold commas,
# quotes and line ends.
. "$(dirname "$0")/lib.sh"
command -v sqlite3 >/dev/null || skip "no sqlite3"
orders
mkdir "$W/we, \"quote\""
cat >"$W/names.py" <<'EOF'
import os, sys
fd = os.open(sys.argv[1] + '/we, "quote"/two\nlines', os.O_RDWR | os.O_CREAT)
for i in range(23):
    os.write(fd, b"x" * 31)
    os.fsync(fd)
EOF
"$TARRY" record -q --min-path 0 -o "$W/names.tarry" -- $PY "$W/names.py" "$W" || fail "recording: status $?"
for what in events sites requests; do
	"$TARRY" export --format csv --what $what -o "$W/$what.csv" "$W/orders.tarry" || fail "export $what: status $?"
done
"$TARRY" export --format csv "$W/names.tarry" >"$W/names.csv" || fail "export names"
"$TARRY" dump --json "$W/orders.tarry" >"$W/dump" || fail dump
"$TARRY" report --json "$W/orders.tarry" >"$W/report" || fail report
$PY - "$W" <<'EOF' || FAILED=1
import collections, csv, json, math, sys
W = sys.argv[1]
bad = 0
def check(name, ok, what=""):
    global bad
    print(("ok   " if ok else "FAIL ") + name, "" if ok else what)
    bad += not ok
def rows(name):
    text = open(f"{W}/{name}.csv", newline="").read()
    check(f"{name}: rows end in CR LF", text.endswith("\r\n"))
    r = list(csv.reader(text.splitlines(keepends=True), strict=True))
    check(f"{name}: every row has all fields", len({len(x) for x in r}) == 1 and len(r) > 1)
    return [dict(zip(r[0], x)) for x in r[1:]]
events, sites, requests, names = map(rows, ("events", "sites", "requests", "names"))
dump = [json.loads(l) for l in open(W + "/dump")]
same = [(str(d["begin_ns"]), str(d["end_ns"]), str(d["pid"]), str(d["tid"]), d["kind"], d.get("operation"),
         d.get("object") or "", d.get("name") or "", d.get("error") or "") for d in dump]
mine = [(e["begin_ns"], e["end_ns"], e["pid"], e["tid"], e["kind"], e["operation"], e["object"], e["name"], e["error"]) for e in events]
check("events are those of the dump", mine == same, next((x for x in zip(mine, same) if x[0] != x[1]), len(mine)))
report = json.load(open(W + "/report"))
r = report["requests"]
lat = [int(x["latency_ns"]) for x in requests]
check("requests: number and mean", len(lat) == r["count"] and math.isclose(sum(lat) / len(lat), r["mean_ns"], rel_tol=1e-9))
check("requests: parts add up", all(int(x["waiting_ns"]) + int(x["held_up_ns"]) + int(x["running_ns"]) == int(x["latency_ns"]) for x in requests))
check("requests: waiting time is the report's", sum(int(x["waiting_ns"]) for x in requests) == sum(s["total_ns"] for s in report["sites"]))
listed = [s for s in sites if s["rank"]]
check("sites are the report's", [s["id"] for s in listed] == [s["id"] for s in report["sites"]])
check("sites: shares are the report's", all(math.isclose(float(a["share"]), b["share"], rel_tol=1e-6, abs_tol=1e-12) and
      int(a["total_ns"]) == b["total_ns"] and int(a["waits_all"]) == b["waits_all"] for a, b in zip(listed, report["sites"])))
check("sites: parts of the tail are the report's", all(math.isclose(float(a["tail_share"]), b["tail_share"], rel_tol=1e-6, abs_tol=1e-9)
      for a, b in zip(listed, report["sites"])) and any(s["tail_share"] for s in report["sites"]))
check("sites: shares add up to 1", abs(sum(float(s["share"]) for s in sites) - 1) < 1e-6)
odd = [e for e in names if e["name"].endswith('/we, "quote"/two\nlines')]
check("a name with comma, quotes and line end", sum(e["operation"] == "fsync" for e in odd) == 23, {e["name"] for e in names if e["operation"] == "fsync"})
check("result of a call", {e["result"] for e in odd if e["operation"].startswith("write")} == {"31"})
sys.exit(bad != 0)
EOF
cat >"$W/sql" <<EOF
.import --csv $W/events.csv events
.import --csv $W/names.csv names
.import --csv $W/requests.csv requests
select count(*), sum(duration_ns) from events;
select count(*) from names where operation = 'fsync' and name like '%two' || char(10) || 'lines';
select count(*) from requests where latency_ns + 0 > 0;
EOF
sqlite3 :memory: <"$W/sql" >"$W/sql.out" 2>"$W/sql.err" || fail "sqlite3: $(cat "$W/sql.err")"
[ -s "$W/sql.err" ] && fail "sqlite3: $(head -n 1 "$W/sql.err")"
n=$($PY -c 'import json, sys
e = [json.loads(l) for l in open(sys.argv[1])]
print("%d|%d" % (len(e), sum(x["end_ns"] - x["begin_ns"] for x in e)))' "$W/dump")
[ "$(sed -n 1p "$W/sql.out")" = "$n" ] && good "sqlite3: events" || fail "sqlite3: $(sed -n 1p "$W/sql.out") and not $n"
[ "$(sed -n 2p "$W/sql.out")" = 23 ] && good "sqlite3: names" || fail "sqlite3: $(sed -n 2p "$W/sql.out") calls of fsync"
[ "$(sed -n 3p "$W/sql.out")" = 420 ] && good "sqlite3: requests" || fail "sqlite3: $(sed -n 3p "$W/sql.out") requests"
done_

#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: a profile.proto that an independent decoder (npm: pprof-format) reads:
# sample types, labels, build-ids, inlined frames, times; request classes of a
# program that marks its requests.  Where there is Go, its own pprof reads it, too.
. "$(dirname "$0")/lib.sh"
npm_get pprof-format@2.3.2
orders
marked
"$TARRY" export --format pprof "$W/orders.tarry" >"$W/orders.pb.gz" || fail "export: status $?"
"$TARRY" export --format pprof -o "$W/marked.pb.gz" "$W/marked.tarry" || fail "export: status $?"
"$TARRY" dump --json --paths "$W/orders.tarry" >"$W/dump" || fail dump
"$TARRY" report --json "$W/orders.tarry" >"$W/report" || fail report
"$TARRY" export --format csv --what requests "$W/marked.tarry" >"$W/marked.csv" || fail "csv of marked requests"
id=$(readelf -n "$W/orders" | sed -n 's/.*Build ID: //p')
cat >"$W/decode.js" <<'EOF'
const { Profile } = require('pprof-format'), zlib = require('zlib'), fs = require('fs')
const p = Profile.decode(zlib.gunzipSync(fs.readFileSync(process.argv[2])))
const s = n => p.stringTable.strings[Number(n)]
const f = new Map(p.function.map(x => [x.id, x])), l = new Map(p.location.map(x => [x.id, x]))
console.log(JSON.stringify({
	types: p.sampleType.map(t => [s(t.type), s(t.unit)]), seconds: Number(p.timeNanos) / 1e9,
	duration: Number(p.durationNanos), default: s(p.defaultSampleType),
	mappings: p.mapping.map(m => ({ id: Number(m.id), file: s(m.filename), build: s(m.buildId),
		from: String(m.memoryStart), to: String(m.memoryLimit) })),
	inlined: p.location.filter(x => x.line.length > 1).length,
	addresses: p.location.filter(x => x.mappingId).map(x => [Number(x.mappingId), String(x.address)]),
	samples: p.sample.map(x => ({ waits: Number(x.value[0]), ns: Number(x.value[1]),
		labels: Object.fromEntries(x.label.map(y => [s(y.key), s(y.str)])),
		stack: x.locationId.flatMap(i => l.get(i).line.map(n => s(f.get(n.functionId).name))),
		lines: x.locationId.flatMap(i => l.get(i).line.map(n => [s(f.get(n.functionId).filename), Number(n.line)])) })),
}, (k, v) => typeof v === 'bigint' ? Number(v) : v))
EOF
for n in orders marked; do node "$W/decode.js" "$W/$n.pb.gz" >"$W/$n.json" || fail "pprof-format cannot read $n"; done
$PY - "$W" "$id" <<'EOF' || FAILED=1
import collections, csv, json, sys, time
W, build = sys.argv[1:]
p, m = json.load(open(W + "/orders.json")), json.load(open(W + "/marked.json"))
events = [json.loads(l) for l in open(W + "/dump")]
waits = [e for e in events if e["kind"] in ("wait", "open")]
bad = 0
def check(name, ok, what=""):
    global bad
    print(("ok   " if ok else "FAIL ") + name, "" if ok else what)
    bad += not ok
check("sample types", p["types"] == [["contentions", "count"], ["delay", "nanoseconds"]] and p["default"] == "delay", p["types"])
check("its time is now", abs(p["seconds"] - time.time()) < 300, p["seconds"])
want, count, got, gotn = collections.Counter(), collections.Counter(), collections.Counter(), collections.Counter()
for e in waits:
    want[e["operation"], e["tid"]] += e["duration_ns"]
    count[e["operation"], e["tid"]] += 1
for s in p["samples"]:
    k = s["labels"]["operation"], int(s["labels"]["thread"].split()[-1])
    got[k] += s["ns"]
    gotn[k] += s["waits"]
check("time by operation and thread", got == want, (got - want, want - got))
check("waits by operation and thread", gotn == count, (gotn - count, count - gotn))
own = [x for x in p["mappings"] if x["file"].endswith("/orders")]
check("build-id of the program", len(own) == 1 and own[0]["build"] == build, own)
ranges = {x["id"]: (int(x["from"]), int(x["to"])) for x in p["mappings"]}
check("addresses lie in their mappings", p["addresses"] and all(ranges[i][0] <= int(a) < ranges[i][1] for i, a in p["addresses"]))
order = sorted(ranges.values())
check("mappings do not overlap", all(a[1] <= b[0] for a, b in zip(order, order[1:])))
inl = any(f["inlined"] for e in waits for f in e["path"])
check("inlined frames", not inl or p["inlined"] > 0)
check("the operation is the leaf", all(s["stack"][0] == s["labels"]["operation"] for s in p["samples"]))
lines = {tuple(x) for s in p["samples"] for x in s["lines"]}
dumped = {(f["file"], f["line"]) for e in waits if e["path_kind"] != "not_taken" for f in e["path"] if f["line"]}
check("source lines", dumped and dumped <= lines, list(dumped - lines)[:3])
inside = sum(s["ns"] for s in p["samples"] if s["labels"].get("in_request"))
report = json.load(open(W + "/report"))
told = sum(s["total_ns"] for s in report["sites"]) + report["held_up"]["total_ns"]
check("time inside requests is the report's", inside == told, (inside, told))
rows = list(csv.DictReader(open(W + "/marked.csv", newline="")))
classes = {r["class"] for r in rows if int(r["waits"])}
seen = {s["labels"].get("request_class", "") for s in m["samples"] if s["labels"].get("in_request")}
check("request classes", "checkout" in {r["class"] for r in rows} and classes <= seen, (classes, seen))
ns = collections.Counter()
for s in m["samples"]:
    if s["labels"].get("in_request"):
        ns[s["labels"].get("request_class", "")] += s["ns"]
by = collections.Counter()
for r in rows:
    by[r["class"]] += int(r["waiting_ns"]) + int(r["held_up_ns"])
check("time by class of request", +ns == +by and sum(by.values()) > 0, (ns, by))
sys.exit(bad != 0)
EOF
if command -v go >/dev/null && go tool pprof -top "$W/orders.pb.gz" >"$W/top" 2>&1; then
	check "Go's pprof finds the operations" grep -q ' recv$' "$W/top"
	check "Go's pprof finds the build-id" grep -q "$id" "$W/top"
fi
done_

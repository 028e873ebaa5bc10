#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: tarry experiment with a real server: native against native, the
# samples and what they say about themselves, the verdict computed again, and a
# variant that its environment makes slower, found.  timeout: 300
. "$(dirname "$0")/lib.sh"

# ---- the same twice ----
cat >"$W/same.yaml" <<EOF
variants:
  - name: one
  - name: other
repetitions: 3
seed: 11
warmup: 1
$READY
$LOAD
EOF
REQUESTS=100
export REQUESTS
# A false alarm is possible, twice it is not.
for try in 1 2; do
	experiment 0 same -- "$ORDERS" --serve 0
	grep -q '^0 worse, 0 better, 7 without a difference shown$' "$W/out" && break
done
check "no difference" grep -q '^0 worse, 0 better, 7 without' "$W/out"
check "a row a run" [ "$(rows "$W/same.tsv")" = 8 ]
check "each with 1200 latencies" [ "$(grep -cE '^[0-9]+	(one|other)	[^	]*	[12]	1200	' "$W/same.tsv")" = 8 ]
check "p99.9 of 1200 is not judged" grep -qE '^ *p99\.9 .*not judged: few beyond it$' "$W/out"
for key in tarry date command file 'file xxh128' host kernel cpu cores 'load at start' variants base measure seed; do
	check "the file says $key" grep -q "^# $key: ." "$W/same.tsv"
done
check "and the experiment" sh -c "sed -n 's/^#| //p' '$W/same.tsv' | cmp - '$W/same.yaml'"
check "complete" [ "$(tail -n 1 "$W/same.tsv")" = "# end: complete" ]
cp "$W/out" "$W/first"
check "the verdict again" sh -c "'$TARRY' experiment --judge '$W/same.tsv' >'$W/again' && cmp '$W/first' '$W/again'"
check "lines fit" awk 'length > 132 { exit 1 }' "$W/first"
check "json" sh -c "'$TARRY' experiment --judge '$W/same.tsv' --json | $PY -c '
import json, math, statistics, sys
d = json.load(sys.stdin)
assert d[\"format\"] == 1 and d[\"complete\"] and d[\"failed\"] == [] and d[\"seed\"] == 11, d
assert [v[\"name\"] for v in d[\"variants\"]] == [\"one\", \"other\"] and d[\"variants\"][0][\"metrics\"] is None
rows = [l.split(\"\\t\") for l in open(sys.argv[1]) if l[0] in \"123\"]
x = {(r[0], r[1]): r for r in rows}
for name, column in ((\"mean\", 5), (\"variance\", 6), (\"p99\", 9), (\"throughput\", 12)):
    m = d[\"variants\"][1][\"metrics\"][name]
    logs = [math.log(float(x[r, \"other\"][column]) / float(x[r, \"one\"][column])) for r in \"123\"]
    assert abs(math.log(m[\"ratio\"]) - statistics.fmean(logs)) < 1e-9, name
    reach = 4.302653 * statistics.stdev(logs) / math.sqrt(3)
    assert abs(math.log(m[\"ratio_high\"] / m[\"ratio\"]) - reach) < 1e-5, name
    base = [float(x[r, \"one\"][column]) for r in \"123\"]
    assert abs(m[\"base_variation\"] - statistics.stdev(base) / statistics.fmean(base)) < 1e-9, name
' '$W/same.tsv'"
cp "$W/same.tsv" "$W/kept.tsv"
"$TARRY" experiment -c "$W/same.yaml" -o "$W/same.tsv" -- "$ORDERS" --serve 0 >"$W/out" 2>"$W/err"
rc=$?
check "samples are never overwritten" [ $rc = 1 ]
check "and that is said" grep -q 'same.tsv is already there' "$W/err"
check "nor touched" cmp "$W/same.tsv" "$W/kept.tsv"

# ---- one that is slower ----
cat >"$W/slow.yaml" <<EOF
variants:
  - name: slow
    env: {SLOTS: "1"}
  - name: normal
  - name: slow_by_arguments
    command: ["$ORDERS", --serve, "0"]
    arguments: [--slots, "1"]
base: normal
repetitions: 4
judge: [p50]
$READY
$LOAD
EOF
# On a machine that is disturbed meanwhile, the base varies by too much to tell.
for try in 1 2 3; do
	experiment 0 slow -q -- sh -c 'exec "$ORDERS" --serve 0 --slots "${SLOTS:-5}"'
	grep -q '^2 worse, 0 better' "$W/out" && break
	cat "$W/out"
done
check "one payment at a time is slower" grep -q '^2 worse, 0 better, 0 without' "$W/out"
check "quiet" [ ! -s "$W/err" ]
"$TARRY" experiment --judge "$W/slow.tsv" --fail-on-worse >"$W/out"
rc=$?
check "and status 1 if asked for" [ $rc = 1 ]
done_

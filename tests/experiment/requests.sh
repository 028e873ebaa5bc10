#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: variants that are recorded: tarry's own requests are the measure,
# and agree with the report of the same recording; a recording without requests
# fails its run; latencies of recorded against native runs.  timeout: 300
. "$(dirname "$0")/lib.sh"
echo 'min_path: 0' >"$W/all.yaml"
cat >"$W/rec.yaml" <<EOF
variants:
  - name: default
  - name: all_paths
    config: $W/all.yaml
repetitions: 2
warmup: 0
$READY
$LOAD
EOF
experiment 0 rec --keep "$W/kept" -- "$ORDERS" --serve 0
check "measured by default" grep -q '^# measure: requests$' "$W/rec.tsv"
for run in 1-default 1-all_paths 2-default 2-all_paths; do
	"$TARRY" report --json "$W/kept/$run/run.tarry" >"$W/report.json"
	check "$run: the report's numbers" $PY -c '
import json, sys
q = json.load(open(sys.argv[1]))["requests"]
n, v = sys.argv[3].split("-")
r = next(r for r in (l.rstrip("\n").split("\t") for l in open(sys.argv[2])) if r[:2] == [n, v])
assert int(r[4]) == q["count"] == 240, (r[4], q["count"])
for column, name in ((5, "mean_ns"), (6, "var_ns2"), (7, "l2_ns"), (11, "max_ns")):
    assert abs(float(r[column]) - q[name]) <= 1e-9 * q[name], name
for column, name in ((8, "p50_ns"), (9, "p99_ns"), (10, "p999_ns")):
    assert abs(float(r[column]) - q[name]) <= q[name] / 127, name
' "$W/report.json" "$W/rec.tsv" "$run"
done
"$TARRY" info --json "$W/kept/1-all_paths/run.tarry" >"$W/info.json"
check "its configuration was used" grep -q 'min_path: 0' "$W/info.json"

# One of two is recorded, and the load's own latencies are the measure.
sed 's/^warmup/measure: latencies\nwarmup/' "$W/rec.yaml" >"$W/cost.yaml"
experiment 0 cost --keep "$W/cost" -- "$ORDERS" --serve 0
check "recorded" [ -e "$W/cost/1-all_paths/run.tarry" ]
check "native" [ ! -e "$W/cost/1-default/run.tarry" ]
check "four runs of 240" [ "$(cut -f 5 "$W/cost.tsv" | grep -c '^240$')" = 4 ]

cat >"$W/none.yaml" <<EOF
variants: [{name: a}, {name: b}]
measure: requests
repetitions: 2
warmup: 0
EOF
experiment 1 none -- sleep 0.01
check "no requests, no numbers" [ "$(grep -c 'failed: no requests in the recording' "$W/none.tsv")" = 4 ]
done_

#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: a million latencies a run, in all units: the numbers are right, and
# memory does not grow with their number.
. "$(dirname "$0")/lib.sh"

# 1 ns to 1 ms, each once, mixed, in the unit that the line number chooses
cat >"$W/make.py" <<'EOF'
import sys
n = int(sys.argv[1])
with open(sys.argv[2], "w") as f:
    for i in range(n):
        ns = i * 7919 % n + 1
        f.write((f"{ns}\n", f"{ns}ns\n", f"{ns / 1000:.3f}us\n", f"{ns / 1000000:.6f} ms\n", f"{ns / 1000000000:.9f}s\n")[i % 5])
EOF
for n in 1000 1000000; do
	$PY "$W/make.py" $n "$W/latencies.$n"
	cat >"$W/n$n.yaml" <<EOF
variants: [{name: a}, {name: b}]
repetitions: 2
warmup: 0
load: cp "$W/latencies.$n" "\$TARRY_EXPERIMENT_LATENCIES"
EOF
	experiment 0 n$n -- sleep 1000
done
check "a million" [ "$(cut -f 5 "$W/n1000000.tsv" | grep -c '^1000000$')" = 4 ]
check "moments are exact, quantiles within 1/128" $PY -c '
import sys, math
n = 1000000
for line in open(sys.argv[1]):
    r = line.split("\t")
    if r[0] not in "12" or len(r) < 19: continue
    mean, variance, l2, p50, p99, p999, most = (float(x) for x in r[5:12])
    assert abs(mean - (n + 1) / 2) < 1e-6, mean
    assert abs(variance - (n * n - 1) / 12) / variance < 1e-12, variance
    assert abs(l2 - math.sqrt(n * (n + 1) * (2 * n + 1) / 6)) / l2 < 1e-12, l2
    for q, x in ((.5, p50), (.99, p99), (.999, p999)):
        assert abs(x - q * n) <= q * n / 128, (q, x)
    assert most == n
' "$W/n1000000.tsv"

# Two variances on both sides of a unit are shown in the same one: 1 ms^2 and 0.81 ms^2.
cat >"$W/units.yaml" <<'EOF'
variants: [{name: a}, {name: b}]
repetitions: 3
warmup: 0
load: |
  if [ $TARRY_EXPERIMENT_VARIANT = a ]; then printf '1ms\n3ms\n'; else printf '1ms\n2.8ms\n'; fi >"$TARRY_EXPERIMENT_LATENCIES"
EOF
experiment 0 units -- sleep 1000
check "variances in one unit" grep -qE '^ +variance +1 ms\^2 +0\.81 ms\^2 ' "$W/out"

# The largest size of tarry itself, not of what it starts: a bound of address space that a million would break.
size=$(stat -c %s "$W/latencies.1000000")
"$TARRY" experiment -c "$W/n1000.yaml" -o "$W/small.tsv" -- sleep 1000 >"$W/out" 2>"$W/err"
least=0
for kb in 30000 40000 60000 80000 120000 200000 400000; do
	rm -f "$W/limit.tsv"
	if (ulimit -v $kb; "$TARRY" experiment -c "$W/n1000.yaml" -o "$W/limit.tsv" -- sleep 1000) >"$W/out" 2>&1; then
		least=$kb
		break
	fi
done
rm -f "$W/limit.tsv"
if [ $least != 0 ] && [ "${SAN:-}" = "" ]; then
	check "a million in the memory of a thousand ($least KiB; the file has $size bytes)" sh -c \
		"ulimit -v $((least + 2000)); '$TARRY' experiment -c '$W/n1000000.yaml' -o '$W/limit.tsv' -- sleep 1000 >'$W/out' 2>&1"
fi
done_

#!/bin/sh
# SPDX-License-Identifier: MIT
# suite, timeout: 180.  The examples that check themselves: examples/wal, twologs and lru, bare and recorded, and
# that their checks find what is wrong.  Nothing is timed.
. "$(dirname "$0")/lib.sh"
compile() { # NAME SOURCE...
	n=$1
	shift
	$CC -std=gnu11 -O2 -g -Wall -Wextra -D_GNU_SOURCE -pthread -o "$W/$n" "$@" -lm || { fail "compile $n"; done_; }
}
compile wal "$TOP"/examples/wal/*.c
compile twologs "$TOP/examples/twologs/main.c" "$TOP/examples/wal/wal.c"
compile lru "$TOP"/examples/lru/*.c
TMPDIR=$W
TARRY_EXPERIMENT_LATENCIES=$W/latencies
export TMPDIR TARRY_EXPERIMENT_LATENCIES

# runs REQUESTS COMMAND...: it goes well, with as many latencies
runs() {
	n=$1
	shift
	rm -f "$W/latencies"
	"$@" --rate 20000 --seed 7 >"$W/out" 2>&1
	rc=$?
	lines=$(grep -cE '^[0-9]+$' "$W/latencies")
	name=$(echo "$*" | sed "s|$W/||g; s|$TARRY|tarry|g")
	[ $rc = 0 ] && [ "$lines" = "$n" ] && good "$name" || { fail "$name: status $rc, $lines latencies"; cat "$W/out"; }
}
for mode in each eager lazy-flush lazy-write; do
	runs 160 "$W/wal" --mode $mode --threads 8 --requests 20 --interval 5
done
for block in 512 4096 65536; do
	runs 160 "$W/wal" --mode eager --block $block --bytes 6000 --threads 8 --requests 20
done
for logs in 1 2 3; do
	runs 400 "$W/twologs" --logs $logs --threads 16 --requests 25
done
runs 2400 "$W/lru" --pages 256 --frames 96 --threads 24 --requests 100
runs 2400 "$W/lru" --pages 256 --frames 96 --threads 24 --requests 100 --lazy
runs 2400 "$W/lru" --pages 256 --frames 96 --threads 24 --requests 100 --lazy --bound 0 --cached --writes 0.5
runs 160 "$TARRY" record -q -o "$W/wal.tarry" -- "$W/wal" --mode each --threads 8 --requests 20
runs 1200 "$TARRY" record -q -o "$W/lru.tarry" -- "$W/lru" --pages 256 --frames 96 --threads 24 --requests 50 --lazy
check "nothing is left behind" test -z "$(find "$W" -name 'wal.[0-9]*' -o -name 'twologs.*.*' -o -name 'lru.[0-9]*')"

# ---- what the checks see ----
"$W/wal" --mode each --threads 4 --requests 25 --rate 20000 --log "$W/log" --acks "$W/acks" >"$W/out"
check "all that was acknowledged is there" "$W/wal" --check "$W/log" --acks "$W/acks"
size=$(stat -c %s "$W/log")
truncate -s $((size - 1)) "$W/log"
"$W/wal" --check "$W/log" --acks "$W/acks" >"$W/out"
[ $? = 1 ] && [ "$(tail -1 "$W/out")" = "100 acknowledged, 1 lost" ] && good "a cut record" || fail "a cut record: $(cat "$W/out")"
printf x | dd of="$W/log" bs=1 seek=40 conv=notrunc 2>/dev/null
"$W/wal" --check "$W/log" --acks "$W/acks" >"$W/out"
[ $? = 1 ] && [ "$(tail -1 "$W/out")" = "100 acknowledged, 2 lost" ] && good "a changed byte" || fail "a changed byte: $(cat "$W/out")"
for bad in "wal --mode lazy" "wal --block 1" "twologs --logs 9" "lru --frames 4" "lru x"; do
	"$W"/$bad >"$W/out" 2>"$W/err"
	check "usage: $bad" test $? = 2
done
done_

#!/bin/sh
# SPDX-License-Identifier: MIT
# suite, timeout: 180.  Policies for fsync: who shares which flush, and crash drills with examples/wal on a
# disk that loses power (tests/e2e/power.c) or dies: what was acknowledged must be on the platter.
. "$(dirname "$0")/lib.sh"
for so in gate power; do
	$CC -O2 -Wall -Wextra -D_GNU_SOURCE -shared -fPIC -o "$W/$so.so" "$TOP/tests/e2e/$so.c" || { fail "compile $so"; done_; }
done
build shared_flush || done_
$CC -std=gnu11 -O2 -g -Wall -Wextra -D_GNU_SOURCE -pthread -o "$W/wal" "$TOP"/examples/wal/*.c -lm || { fail "compile wal"; done_; }
echo "fsync: coalesce" >"$W/coalesce.yaml"
printf 'fsync: lazy_flush\nfsync_interval: 50ms\nunsafe: true\n' >"$W/lazy.yaml"

# under CONFIG BELOW COMMAND...: with the library above one that stands for the disk
under() {
	config=$1 below=$2
	shift 2
	rm -rf "$W/store" "$W/store.log"
	env "LD_PRELOAD=$LIB $W/$below.so" "TARRY_STORE=$W/store" "TARRY_CONFIG=$W/$config.yaml" "$@"
}

# ---- who shares what ----
if [ -r /proc/self/syscall ] && read -r first _ </proc/self/syscall && [ -n "$first" ]; then
	under coalesce gate "$W/shared_flush" "$W/file" >"$W/out" 2>&1
	rc=$?
	while read -r line; do
		case $line in all) ;; FAIL*) fail "${line#FAIL }" ;; *) good "$line" ;; esac
	done <"$W/out"
	check "shared flushes" test $rc = 0
else
	echo "skip shared flushes: no /proc/self/syscall"
fi

# ---- crash drills ----
# drill CONFIG VARIABLE SEED WAL-OPTION...
drill() {
	config=$1 fate=$2 seed=$3
	shift 3
	rm -f "$W/log" "$W/platter" "$W/acks"
	POWER_LOG=$W/log POWER_PLATTER=$W/platter POWER_SEED=$seed
	export POWER_LOG POWER_PLATTER POWER_SEED
	under $config power env $fate "$W/wal" --mode each --log "$W/log" --acks "$W/acks" --seed "$seed" "$@" >"$W/out" 2>&1
	rc=$?
	unset POWER_LOG POWER_PLATTER POWER_SEED
}
kept() { # NAME FILE: everything acknowledged is there
	"$W/wal" --check "$W/$2" --acks "$W/acks" >"$W/checked"
	check "$1: $(tail -1 "$W/checked")" test $? = 0
}
for seed in 1 2 3 4; do
	drill coalesce POWER_CUT=$((10 + 9 * seed)) $seed --threads 12 --rate 4000 --requests 500
	check "power fails, seed $seed" test $rc -gt 128
	kept "what was acknowledged is on the platter" platter
	kept "and, as the machine ran on, in the file" log
	drill coalesce POWER_DEAD=$((10 + 9 * seed)) $seed --threads 12 --rate 4000 --requests 500
	check "the disk dies, seed $seed" test $rc = 1
	kept "what was acknowledged is on the platter" platter
done
echo "$(wc -l <"$W/acks") acknowledged by fewer than 46 flushes" | tee "$W/shared"
check "flushes were shared" test "$(wc -l <"$W/acks")" -gt 46

# One thread: whatever is older than the interval when a call begins is flushed by it.  So what is lost was
# acknowledged at most the interval before the last call that came back, which began after the ack before it.
for seed in 1 2; do
	drill lazy POWER_CUT=$((4 + seed)) $seed --threads 1 --rate 2000 --requests 5000
	check "power fails under lazy_flush, seed $seed" test $rc -gt 128
	kept "the file itself lacks nothing" log
	"$W/wal" --check "$W/platter" --acks "$W/acks" >"$W/checked"
	check "the drill sees a loss, bounded by the interval: $(tail -1 "$W/checked")" $PY -c '
import sys
acks = [int(l.split()[2]) for l in open(sys.argv[1])]
lost = [int(l.split()[3]) for l in open(sys.argv[2]) if l.startswith("lost")]
sys.exit(not (lost and len(lost) < len(acks) and min(lost) > acks[-2] - 50_000_000))' "$W/acks" "$W/checked"
done
done_

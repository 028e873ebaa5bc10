#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: tarry top -b on running programs: the order service with its requests,
# a python program with a thread blocked in a lock for a known time, one with locks
# that are static variables, and one that marks nothing and serves nobody; usage, a finished store, an ended recording.
. "$(dirname "$0")/../e2e/lib.sh"
REC= STORES=
# end: the recorded programs (the order service does not obey SIGTERM), and so their recordings
end() {
	for s in $STORES; do
		p=$("$TARRY" top -b -n 1 "$s" 2>/dev/null | grep -oE '^ *[0-9]+ +[0-9]+  ' | awk '{ print $1 }' | sort -u)
		# shellcheck disable=SC2086 # a list
		[ -n "$p" ] && kill -KILL $p
	done
	STORES=
	for p in $REC; do wait "$p" 2>/dev/null; done
	REC=
}
CLEANUP=end
# start STORE COMMAND...: records in the background
start() { s=$1; shift; "$TARRY" record -q -o "$s" -- "$@" >"$s.out" 2>&1 & REC="$REC $!" STORES="$STORES $s"; }
# until_shown STORE TEXT FILE: frames until one has the text (a regular expression)
until_shown() {
	i=0
	while [ $i -lt 100 ]; do
		"$TARRY" top -b -n 1 "$1" >"$3" 2>"$3.err" && grep -qE "$2" "$3" && return 0
		i=$((i + 1))
		sleep 0.1
	done
	echo "never shown: $2"
	sed -n '1,40p' "$3" "$3.err"
	return 1
}
$CC -std=gnu11 -O2 -g -D_GNU_SOURCE -pthread -o "$W/orders" "$TOP"/examples/orders/*.c -lm || { fail compile; done_; }

start "$W/orders.tarry" "$W/orders" --seconds 60 --connections 6
check "requests of the order service" until_shown "$W/orders.tarry" '^requests [1-9][0-9.]*/s  p50 .*s  p99 .*socket\)' "$W/frame"
"$TARRY" top -b -n 2 -d 0.3 "$W/orders.tarry" >"$W/two" || fail "two frames: status $?"
[ "$(grep -c '^tarry top - ' "$W/two")" = 2 ] && good "two frames" || fail "$(grep -c '^tarry top' "$W/two") frames"
"$TARRY" report --json "$W/orders.tarry" >"$W/report" || fail report
$PY - "$W/two" "$W/report" <<'EOF' || FAILED=1
import json, re, sys
frames = open(sys.argv[1]).read().split("\n\ntarry top")
report = json.load(open(sys.argv[2]))
bad = 0
def check(name, ok, what=""):
    global bad
    print(("ok   " if ok else "FAIL ") + name, "" if ok else what)
    bad += not ok
for n, f in enumerate(frames):
    lines = f.split("\n")
    threads = [l for l in lines if re.match(r" *\d+ +\d+  ", l)]
    said = int(re.search(r"(\d+) threads in 2 processes", f).group(1))
    check(f"frame {n}: a line for each thread", len(threads) == said, (len(threads), said))
    check(f"frame {n}: main threads wait in pthread_join for seconds or ms", sum("pthread_join" in l for l in threads) == 2)
    ids = [tuple(l.split()[:2]) for l in threads]
    check(f"frame {n}: each once", len(set(ids)) == len(ids))
    check(f"frame {n}: requests' waits and their functions", any("payment_call" in l and "nanosleep" in l for l in lines), f)
    check(f"frame {n}: a connection's name", "tcp 127.0.0.1" in f)
    check(f"frame {n}: no line is too wide", max(map(len, lines)) <= 132)
    rate = float(re.search(r"requests ([\d.]+)/s", f).group(1))
    got = report["requests"]["count"]
    check(f"frame {n}: as many requests a second as can be", 0 < rate < got * 10, (rate, got))
sys.exit(bad != 0)
EOF
"$TARRY" top -b -n 1 >"$W/found" 2>"$W/err"
rc=$?
if [ $rc = 0 ]; then
	check "without a store: the recording that runs here" grep -q "orders.tarry" "$W/found"
else # others record on this machine, too
	check "without a store: says which there are" grep -q 'recordings are in progress' "$W/err"
fi
pid=$(grep -oE '^ *[0-9]+ +[0-9]+  ' "$W/two" | awk '{ print $1; exit }')
"$TARRY" top -b -n 1 --process "$pid" "$W/orders.tarry" >"$W/one" && grep -q ' in 1 process,' "$W/one" && good "one process" || fail "--process $pid"
"$TARRY" top -b -n 1 --sort id "$W/orders.tarry" | grep -oE '^ *[0-9]+ +[0-9]+  ' >"$W/ids"
sort -n -k1,1 -k2,2 -c "$W/ids" && good "sorted by id" || fail "not sorted by id"
check "a window" until_shown "$W/orders.tarry" 'last [0-9.]+ (s|ms), socket' "$W/frame"
# switched off
"$TARRY" ctl "$W/orders.tarry" off >/dev/null && "$TARRY" top -b -n 1 "$W/orders.tarry" | grep -q 'SWITCHED OFF' && good "says that recording is off" || fail "ctl off"
"$TARRY" ctl "$W/orders.tarry" on >/dev/null
# the recording ends while it is watched
"$TARRY" top -b -d 0.2 "$W/orders.tarry" >"$W/end" 2>"$W/end.err" &
top=$!
until grep -q '^tarry top' "$W/end" 2>/dev/null; do sleep 0.05; done
end
wait $top && grep -q 'recording has ended' "$W/end.err" && good "the end of the recording" || fail "end: $(cat "$W/end.err")"
"$TARRY" top -b -n 1 "$W/orders.tarry" >"$W/out" 2>"$W/err"
[ $? = 1 ] && [ "$(wc -l <"$W/err")" = 1 ] && grep -q 'is over; `tarry report' "$W/err" && good "a finished store" || fail "finished: $(cat "$W/err")"

# blocked for a known time
cat >"$W/lock.py" <<'EOF'
import sys, threading, time
lock = threading.Lock()
lock.acquire()
def blocked():
    open(sys.argv[1] + ".began", "w").write(str(time.monotonic()))
    lock.acquire()
t = threading.Thread(target=blocked)
t.start()
while True:
    time.sleep(30)
EOF
start "$W/lock.tarry" $PY "$W/lock.py" "$W/lock"
check "a thread in a lock, and who asked for it" until_shown "$W/lock.tarry" 's  (sem_wait|sem_clockwait|pthread_cond_(timed|clock)?wait) +0x[0-9a-f]+ +PyThread_acquire_lock_timed|python3?[.0-9]*\+0x' "$W/frame"
check "no requests: said" grep -q '^no requests: no accepted connection' "$W/frame"
before=$($PY -c 'import time; print(time.monotonic())')
"$TARRY" top -b -n 1 "$W/lock.tarry" >"$W/frame"
after=$($PY -c 'import time; print(time.monotonic())')
$PY - "$W/frame" "$(cat "$W/lock.began")" "$before" "$after" <<'EOF' || FAILED=1
import re, sys
began, before, after = map(float, sys.argv[2:])
units = {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60}
line = [l for l in open(sys.argv[1]) if re.search(r"sem_|pthread_cond", l) and re.match(r" *\d+ +\d+  ", l)][0]
value, unit = re.search(r"([\d.]+) (us|ms|s|min)  ", line).groups()
took = float(value) * units[unit]
ok = before - began - 1 < took * 1.01 and took * 0.99 < after - began
print("ok   it has waited as long as the program says" if ok else f"FAIL waited {took} s of {before - began} to {after - began}")
sys.exit(not ok)
EOF
# locks that have names: zeroed, initialized, in a table, and one that has none
cat >"$W/named.c" <<'EOF'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static struct { char pages[100000]; pthread_mutex_t m; } zeroed; /* beyond what the file's last page holds */
static struct { long n; pthread_mutex_t m[2]; } table = { 1, { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER } };
static void *take(void *m)
{
	pthread_mutex_lock(m);
	return m;
}
int main(void)
{
	pthread_mutex_t *heap = malloc(sizeof *heap), *all[] = { &zeroed.m, &table.m[1], heap };
	pthread_t t;
	pthread_mutex_init(heap, NULL);
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(all[i]);
		pthread_create(&t, NULL, take, all[i]);
	}
	while (!zeroed.pages[0])
		sleep(30);
	return 0;
}
EOF
for pie in -pie -no-pie; do
	$CC -O1 -g $pie -pthread -o "$W/named$pie" "$W/named.c" || { fail "compile $pie"; done_; }
	start "$W/named$pie.tarry" "$W/named$pie"
	check "$pie: a zeroed lock by its place" until_shown "$W/named$pie.tarry" 's  pthread_mutex_lock +zeroed\+0x186a0  ' "$W/frame"
	check "$pie: a place in a table" until_shown "$W/named$pie.tarry" 's  pthread_mutex_lock +table\+0x30  ' "$W/frame"
	check "$pie: one on the heap" until_shown "$W/named$pie.tarry" 's  pthread_mutex_lock +0x[0-9a-f]+  ' "$W/frame"
done
# wrong usage
for a in '--count 0' '--delay 0' '--delay x' '--window 0.5' '--sort foo' '--process x' '--requests foo -b'; do
	# shellcheck disable=SC2086 # options
	"$TARRY" top $a "$W/lock.tarry" >"$W/out" 2>"$W/err" </dev/null
	[ $? = 2 ] && [ -s "$W/err" ] && good "usage: $a" || fail "usage: $a: $(head -n 1 "$W/err")"
done
"$TARRY" top "$W/lock.tarry" >"$W/out" 2>"$W/err" </dev/null
[ $? = 1 ] && grep -q 'needs a terminal' "$W/err" && good "no terminal: said" || fail "no terminal: $(cat "$W/err")"
"$TARRY" top -b "$W/nothing" >"$W/out" 2>"$W/err"
[ $? = 1 ] && [ "$(wc -l <"$W/err")" = 1 ] && good "no store: said" || fail "no store: $(cat "$W/err")"
# a reader that goes away
(trap '' PIPE; "$TARRY" top -b -d 0.1 "$W/lock.tarry" 2>"$W/err"; echo $? >"$W/rc") | head -n 2 >/dev/null
[ "$(cat "$W/rc")" = 0 ] && [ ! -s "$W/err" ] && good "a reader that goes away" || fail "pipe: $(cat "$W/rc") $(cat "$W/err")"
done_

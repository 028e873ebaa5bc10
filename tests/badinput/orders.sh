#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: an unknown order, one for what cannot be ordered, too many rules, a flush
# policy that loses data without `unsafe`: one line and status 2 before the program is
# started; with it a warning at each start; an order that had nothing to do is named.
. "$(dirname "$0")/lib.sh"

option() { # ORDER PATTERN
	refused 2 "$2" "$TARRY" record --order "$1" -o o.tarry -- touch ran
	did_not_run "--order $1"
	[ ! -e o.tarry ] || fail "--order $1: a store was written"
}
option eldst "unknown order 'eldst'; did you mean 'eldest'"
option vats "unknown order 'vats'; the orders are native, fcfs, eldest"
option '' "unknown order ''"
option eldest:read "no order for 'read', only for cond, mutex, rwlock"
option eldest:cond,mutx "did you mean 'mutex'"
option eldest: "which operations"
set --
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do set -- "$@" --order fcfs; done
refused 2 'too many rules, at most 15' "$TARRY" record "$@" -o o.tarry -- touch ran
did_not_run 'too many rules'

config() { # TEXT PATTERN
	printf '%b' "$1" >c.yaml
	refused 2 "c.yaml:$2" "$TARRY" record -c c.yaml -o o.tarry -- touch ran
	did_not_run "$1"
}
config 'orders: [{order: eldst}]\n' "1:18: order: unknown order 'eldst'; did you mean 'eldest'"
config 'orders:\n  - order: eldest\n    pth: x\n' "3:5: orders: unknown key 'pth'; did you mean 'path'"
config 'fsync: lazy_flush\n' '1:8: fsync: lazy_flush loses data at a power failure .*unsafe'
config 'unsafe: false\nfsync: lazy_flush\n' '2:8: fsync: lazy_flush'
config 'fsync: lazy_write\n' "1:8: fsync: expected .*, not 'lazy_write'"
config 'order_age: idle\n' '1:12: order_age: idle needs'

# allowed, and said at each start, also when nothing else is
printf 'fsync: lazy_flush\nunsafe: true\n' >lazy.yaml
for n in 1 2; do
	"$TARRY" record -q -c lazy.yaml -o "lazy$n.tarry" -- true 2>err || fail "lazy: status $?"
	[ "$(grep -c 'lazy_flush, not durable: a power failure loses what' err)" = 1 ] || fail "start $n does not warn: $(cat err)"
done
printf 'fsync: coalesce\n' >coalesce.yaml
"$TARRY" record -q -c coalesce.yaml -o coalesce.tarry -- true 2>err || fail "coalesce: status $?"
[ ! -s err ] || fail "coalesce warns: $(cat err)"
env LD_PRELOAD="$LIB" TARRY_STORE="$W/plain.tarry" TARRY_CONFIG="$W/lazy.yaml" /bin/echo hello >out 2>err
[ "$(cat out)" = hello ] && [ ! -s err ] || fail "plain preload: the program was disturbed: $(cat out err)"
n=0
until grep -q 'not durable' plain.tarry.log 2>/dev/null || [ $n = 100 ]; do # the recorder is not our child
	sleep 0.05
	n=$((n + 1))
done
grep -q 'lazy_flush, not durable' plain.tarry.log || fail "plain preload: no warning in the log"

# a program without such objects: said at the end, and its status is returned
"$TARRY" record -q --order eldest:cond -o e.tarry -- sh -c 'exit 3' 2>err
[ $? = 3 ] || fail "the program's status is not returned"
[ "$(cat err)" = 'tarry: order 1 (eldest) matched no wait: the program waited for none of its operations' ] ||
	fail "an order without objects: $(cat err)"
"$TARRY" info e.tarry | grep -q '^  order 1 (eldest) matched no wait' || fail "info does not say so"

printf 'orders: [{order: eldest}]\n' >eldest.yaml
env LD_PRELOAD="$LIB" TARRY_STORE="$W/plain2.tarry" TARRY_CONFIG="$W/eldest.yaml" /bin/echo hello >out 2>err
[ "$(cat out)" = hello ] && [ ! -s err ] || fail "plain preload with an order: the program was disturbed: $(cat out err)"
n=0
until grep -q 'matched no wait' plain2.tarry.log 2>/dev/null || [ $n = 100 ]; do
	sleep 0.05
	n=$((n + 1))
done
grep -q 'order 1 (eldest) matched no wait' plain2.tarry.log || fail "plain preload: no line in the log"

"$TARRY" ctl e.tarry natve >out 2>err
[ $? = 2 ] && grep -q '"natve" is none of on, off, native, ordered, status' err || fail "ctl natve: $(cat out err)"
refused 1 'this recording is complete' "$TARRY" ctl e.tarry native
exit $FAILED

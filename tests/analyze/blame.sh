#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: tarry blame of a recorded program whose holders are known, and of
# what it cannot read.
. "$(dirname "$0")/../e2e/lib.sh"
$CC -std=gnu11 -O2 -g -fno-optimize-sibling-calls -D_GNU_SOURCE -pthread -o "$W/truth" "$TOP/tests/analyze/blame_truth.c" ||
	{ fail "compile"; done_; }
"$TARRY" record -q --min-path 0 -o "$W/run.tarry" -- "$W/truth" || { fail "record"; done_; }
check "text" sh -c "'$TARRY' blame '$W/run.tarry' >'$W/text'"
check "lines fit" awk 'length > 132 { exit 1 }' "$W/text"
check "names a holder" grep -q "held: pthread_mutex_unlock  lock_holder" "$W/text"
"$TARRY" blame --json "$W/run.tarry" >"$W/json" || fail "json"
$PY - "$W/json" <<'P' || FAILED=1
import json, sys
d = json.load(open(sys.argv[1]))
bad = 0
def check(name, ok):
    global bad
    print(("ok   " if ok else "FAIL ") + name)
    bad |= not ok
def pair(waiter, op, kind, holder, by):
    return [p for p in d["pairs"] if p["kind"] == kind and p["waiter"]["function"] == waiter
            and p["waiter"]["operation"] == op and p["holder"]
            and p["holder"]["function"] == holder and p["holder"]["operation"] == by]
ROUNDS = 7
def segments(what):
    return sum(p["segments"] for p in what)
check("a lock and its holder", segments(pair("lock_waiter", "pthread_mutex_lock", "held", "lock_holder", "pthread_mutex_unlock")) == ROUNDS)
check("a condition and its signaller", segments(pair("cond_waiter", "pthread_cond_wait", "signal", "cond_signaller", "pthread_cond_signal")) >= 1)
check("re-acquiring the mutex", segments(pair("cond_waiter", "pthread_cond_wait", "reacquire", "cond_signaller", "pthread_mutex_unlock")) >= 1)
check("a futex and its waker", segments(pair("futex_waiter", "futex_wait", "wake", "futex_waker", "futex_wake")) == ROUNDS)
check("a semaphore of two processes", segments(pair("sem_waiter", "sem_wait", "post", "sem_poster", "sem_post")) >= 1)
check("a poll and who sent it a signal", segments(pair("kill_waiter", "ppoll", "kill", "kill_sender", "kill")) == ROUNDS)
held = [p for p in d["pairs"] if p["waiter"]["function"] == "held_waiter" and p["waiter"]["operation"] == "pthread_mutex_lock"
        and p["kind"] in ("held", "owner")]
check("released by a condition's wait", segments(held) == ROUNDS)
chains = [c for c in d["chains"] if len(c["steps"]) == 2 and c["steps"][0]["waiter"]["function"] == "lock_waiter"
          and c["steps"][1]["waiter"]["function"] == "a_while" and c["end"] == "timer"]
check("a chain to the holder's sleep", sum(c["total_ns"] for c in chains) > 0)
for name in "mutex", "cond", "futex", "sem":
    c = d["classes"][name]
    kinds = sum(v for k, v in c.items() if k not in ("waits", "total_ns", "named_ns"))
    check("sum of " + name, kinds == c["total_ns"] and c["named_ns"] <= c["total_ns"])
for view in "pairs", "roots":
    check(view + " cover all waiting", sum(p["total_ns"] for p in d[view]) == sum(c["total_ns"] for c in d["classes"].values()))
sys.exit(bad)
P
for by in function operation; do
	check "by $by" sh -c "'$TARRY' blame --by $by -k 3 '$W/run.tarry' | grep -q 'Who waited'"
done
cat >"$W/two.c" <<'C'
#include <unistd.h>
#include "tarry/tarry.h"
#define NOINLINE __attribute__((noinline))
NOINLINE void pause_for(int us) { usleep((unsigned)us); __asm__ volatile(""); }
NOINLINE void first(int i) { pause_for(1000 + i * 10); __asm__ volatile(""); }
NOINLINE void second(int i) { pause_for(500 + i * 10); __asm__ volatile(""); }
int main(void)
{
	for (int i = 0; i < 50; i++) {
		tarry_request_begin((uint64_t)i, NULL);
		first(i);
		second(i);
		tarry_request_end((uint64_t)i);
	}
	return 0;
}
C
$CC -std=gnu11 -D_GNU_SOURCE -O1 -g -fno-optimize-sibling-calls -I"$TOP/include" -o "$W/two" "$W/two.c" -ldl || { fail "compile"; done_; }
"$TARRY" record -q -o "$W/two.tarry" -- "$W/two" || { fail "record"; done_; }
"$TARRY" blame "$W/two.tarry" >"$W/text" || fail "blame of two"
check "one function, two callers" [ "$(grep -c '  usleep  pause_for < \(first\|second\)$' "$W/text")" = 2 ]
check "and so among the root causes" [ "$(grep -c ': usleep  pause_for < \(first\|second\)$' "$W/text")" = 2 ]
check "what is no wait has a row" grep -q '%  *[0-9.]* .s  *running: on a CPU' "$W/text"
check "lines fit with requests, too" awk 'length > 132 { exit 1 }' "$W/text"
"$TARRY" blame "$W/none.tarry" 2>"$W/err"
[ $? = 1 ] && [ "$(wc -l <"$W/err")" = 1 ] || fail "a store that is not there: status 1, one line"
"$TARRY" blame --by colour "$W/run.tarry" 2>/dev/null
[ $? = 2 ] || fail "a mistake in an option: status 2"
"$TARRY" blame 2>/dev/null
[ $? = 2 ] || fail "no store: status 2"
done_

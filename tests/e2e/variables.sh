#!/bin/sh
# SPDX-License-Identifier: MIT
# suite, timeout: 60.  Objects that are static variables have names, wherever the program
# was mapped; without symbols they are places in their file.
. "$(dirname "$0")/lib.sh"
cat >"$W/plugin.c" <<'C'
#include <pthread.h>
long first = 1;
pthread_mutex_t plugin_lock = PTHREAD_MUTEX_INITIALIZER;
int plugin_take(pthread_mutex_t *m)
{
	int r = pthread_mutex_lock(m);
	__asm__ volatile("");
	return r;
}
C
$CC -O2 -fPIC -shared -o "$W/plugin.so" "$W/plugin.c" || { fail "compile plugin"; done_; }
build variables -ldl || done_
"$W/variables" "$W/plugin.so" >"$W/bare" 2>&1; rc=$?
record() { # NAME PROGRAM
	"$TARRY" record -q -o "$W/$1.tarry" -- "$2" "$W/plugin.so" >"$W/got" 2>&1
	same "$1" $rc "$W/bare" $? "$W/got" && good "$1: same output"
}
# names that dump has for the locks that were waited for, in the order of the waits
names() {
	"$TARRY" dump --json "$1" | $PY -c '
import json, sys
for l in sys.stdin:
    e = json.loads(l)
    if e["kind"] == "wait" and e["operation"] == "pthread_mutex_lock":
        print(e["name"] or "-", end=" ")'
}
record run "$W/variables"
check "names of variables" [ "$(names "$W/run.tarry")" = "named_lock shared_table+0x8 plugin_lock - named_lock " ]
"$TARRY" report --by object "$W/run.tarry" >"$W/text"
check "the report has them" grep -q "pthread_mutex_lock  on shared_table+0x8" "$W/text"
"$TARRY" export --format csv --what events "$W/run.tarry" >"$W/csv"
check "so has CSV" grep -q ",plugin_lock," "$W/csv"
strip -o "$W/stripped" "$W/variables"
at=$(nm "$W/variables" | sed -n 's/^0*\([0-9a-f]*\) . named_lock$/\1/p')
record stripped "$W/stripped"
check "stripped: a place in the file" [ "$(names "$W/stripped.tarry" | cut -d' ' -f1)" = "stripped+0x$at" ]
printf 'symbols: false\n' >"$W/conf.yaml"
"$TARRY" record -q -c "$W/conf.yaml" -o "$W/none.tarry" -- "$W/variables" "$W/plugin.so" >"$W/got" 2>&1
check "symbols: false: none" [ "$(names "$W/none.tarry")" = "- - - - - " ]
done_

#!/bin/sh
# SPDX-License-Identifier: MIT
# suite, timeout: 120.  Files that are not what they were: a module replaced on disk
# before it was looked at, a program deleted while it runs, stripped programs, a
# program that is gone when its store is read.
. "$(dirname "$0")/lib.sh"
for p in one:2 two:3; do
	$CC -O2 -g -fPIC -shared -Wl,--build-id -DNAME=plug_${p%:*} -DROUNDS=${p#*:} -o "$W/keep_${p%:*}.so" \
		"$TOP/tests/e2e/plugins/plug.c" || exit 1
done
build replaced -ldl || done_
cp "$W/keep_one.so" "$W/plug_one.so"; cp "$W/keep_two.so" "$W/plug_two.so"
"$W/replaced" >"$W/bare" 2>&1; rc=$?
cp "$W/keep_one.so" "$W/plug_one.so"; cp "$W/keep_two.so" "$W/plug_two.so"
"$TARRY" record -q -o "$W/r.tarry" -- "$W/replaced" >"$W/got" 2>&1
same "module replaced" $rc "$W/bare" $? "$W/got" && good "module replaced: same output"
check "module replaced: no name of the other file" expected "$W/r.tarry" "$W/bare"

# functions of the waits on fsync, one a line; a path that is not complete is said
paths() {
	"$TARRY" dump --json --paths "$1" | $PY -c '
import json, sys
for l in sys.stdin:
    e = json.loads(l)
    if e["operation"] == "fsync":
        print(e["path_kind"], *[f["function"] or "-" for f in e["path"]])' | sort | uniq -c
}
cat >"$W/p.c" <<'X'
#include <stdio.h>
#include <unistd.h>
#include <fcntl.h>
__attribute__((noinline)) void own_name(int fd) { if (fsync(fd)) _exit(1); __asm__ volatile(""); }
int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (argc > 2 && unlink(argv[0])) return 1;
	for (int i = 0; i < 7; i++) own_name(fd);
	puts("done");
	return 0;
}
X
printf 'min_path: 0\n' >"$W/c.yaml"
rec() { "$TARRY" record -q -c "$W/c.yaml" -o "$W/$1.tarry" -- "$W/p" "$W/data" $2 >"$W/got" 2>&1; }
$CC -O2 -g -o "$W/p" "$W/p.c" || exit 1
check "program deleted while it runs: recorded" rec gone x
check "program deleted: its names are there" sh -c 'echo "$1" | grep -q "7 complete own_name main"' sh "$(paths "$W/gone.tarry")"
$CC -O2 -s -o "$W/p" "$W/p.c" || exit 1
check "stripped program: recorded" rec stripped ""
check "stripped program: whole paths, no name that is not its own" \
	sh -c 'echo "$1" | grep -qE "7 complete - - "' sh "$(paths "$W/stripped.tarry")"
$CC -O2 -g -o "$W/p" "$W/p.c" && rec later "" || exit 1
rm "$W/p"
check "program gone when the store is read: names are in the store" \
	sh -c 'echo "$1" | grep -q "7 complete own_name main"' sh "$(paths "$W/later.tarry")"
done_

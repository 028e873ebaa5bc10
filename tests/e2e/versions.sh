#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 180.  A library of another build meets this recorder, and garbage where the
# arena should be: pass-through, one line, nothing else.
. "$(dirname "$0")/lib.sh"
build worker || done_
"$W/worker" 20 >"$W/bare" 2>&1

mkdir "$W/other"
cp -r "$TOP/Makefile" "$TOP/include" "$TOP/preload" "$TOP/policies" "$TOP/tools" "$W/other/" 2>/dev/null
sed -i 's/^#define TY_ABI .*/#define TY_ABI 99u/' "$W/other/include/tarry/arena.h"
grep -q 'TY_ABI 99u' "$W/other/include/tarry/arena.h" || fail "the version is defined elsewhere now"
make -C "$W/other" B=b b/libtarry.so >"$W/make" 2>&1 || { tail -3 "$W/make"; fail "build of another version"; done_; }

# a folder that looks installed, with tarry of one version and the library of another
mkdir -p "$W/mix"
cp "$TARRY" "$W/mix/tarry"
cp "$W/other/b/libtarry.so" "$W/mix/libtarry.so"
"$W/mix/tarry" record -o "$W/m.tarry" -- "$W/worker" 20 >"$W/got" 2>"$W/err" </dev/null
rc=$?
[ "$(cat "$W/got")" = "$(cat "$W/bare")" ] && good "another version: program undisturbed" || fail "another version: $(head -3 "$W/got")"
grep -ciE 'version' "$W/err" >/dev/null && good "one line says so: $(grep -iE version "$W/err" | head -1)" ||
	fail "nobody says that versions differ: status $rc, $(head -3 "$W/err")"

# garbage in the arena variable and behind it
head -c 16777216 /dev/urandom >"$W/garbage"
head -c 100 /dev/urandom >"$W/short"
: >"$W/empty"
for v in "$W/garbage:00112233445566778899aabbccddeeff" "$W/short:00112233445566778899aabbccddeeff" "$W/empty:" \
	"/proc/self/fd/0:x" "/nowhere:00112233445566778899aabbccddeeff" ":" "" "$W:00112233445566778899aabbccddeeff" \
	"/dev/zero:00000000000000000000000000000000" "$(head -c 60000 /dev/zero | tr '\0' a)"; do
	TARRY_ARENA=$v LD_PRELOAD=$LIB timeout 30 "$W/worker" 20 >"$W/got" 2>&1 </dev/null
	same "garbage arena ${v:0:30}" 3 "$W/bare" $? "$W/got" && good "garbage arena ${v:0:30}"
done
done_

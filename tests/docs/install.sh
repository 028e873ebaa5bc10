#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: make install puts everything under DESTDIR/PREFIX, the installed
# command finds its library there, and make uninstall takes all of it away.
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
W=$(mktemp -d "${TMPDIR:-/tmp}/tarry-install.XXXXXX") || exit 1
trap 'rm -rf "$W"' EXIT
FAILED=0
fail() { echo "wrong: $*"; FAILED=1; }

make -s B="$B" PREFIX=/opt/t DESTDIR="$W/d" install >"$W/log" 2>&1 || { cat "$W/log"; exit 1; }
P=$W/d/opt/t
for f in bin/tarry lib/tarry/libtarry.so include/tarry/tarry.h share/man/man1/tarry.1 \
	share/man/man1/tarry-record.1 share/tarry/configs/default.yaml share/tarry/configs/mariadb.yaml; do
	[ -f "$P/$f" ] || fail "$f is not installed"
done
[ "$(find "$W/d" -type f | grep -cv "^$P/")" = 0 ] || fail "files outside PREFIX"

# From another folder and moved: neither the build folder nor PREFIX is remembered.
mv "$W/d/opt/t" "$W/moved"
(cd / && "$W/moved/bin/tarry" record -o "$W/s.tarry" -- sleep 0.01) >"$W/log" 2>&1 ||
	fail "the installed command does not record: $(cat "$W/log")"
"$W/moved/bin/tarry" info "$W/s.tarry" 2>&1 | grep -q sleep || fail "the recording does not name its program"
"$W/moved/bin/tarry" dump "$W/s.tarry" 2>&1 | grep -q nanosleep || fail "the recording has no wait: library not found?"
mkdir -p "$W/d/opt" && mv "$W/moved" "$P"

make -s B="$B" PREFIX=/opt/t DESTDIR="$W/d" uninstall >"$W/log" 2>&1 || { cat "$W/log"; exit 1; }
left=$(find "$W/d" -type f)
[ -z "$left" ] || fail "left after uninstall: $left"
[ ! -d "$P/share/tarry" ] || fail "folders left after uninstall"
exit $FAILED

#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: make install puts everything under DESTDIR/PREFIX, the installed
# command finds its library there, pkg-config the header of the markers, and make
# uninstall takes all of it away.
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
	share/man/man1/tarry-record.1 share/tarry/configs/default.yaml share/tarry/configs/mariadb.yaml \
	share/pkgconfig/tarry.pc share/bash-completion/completions/tarry share/zsh/site-functions/_tarry \
	share/fish/vendor_completions.d/tarry.fish; do
	[ -f "$P/$f" ] || fail "$f is not installed"
done
[ "$(find "$W/d" -type f | grep -cv "^$P/")" = 0 ] || fail "files outside PREFIX"

# Programs find the header by pkg-config alone, C and C++, and run with and without us.
export PKG_CONFIG_LIBDIR="$P/share/pkgconfig"
pkg-config --validate tarry || fail "tarry.pc is not valid"
[ "$(pkg-config --modversion tarry)" = "$("$P/bin/tarry" --version | cut -d' ' -f2)" ] || fail "tarry.pc has another version"
[ "$(pkg-config --variable=prefix tarry)" = /opt/t ] || fail "tarry.pc has another prefix"
cat >"$W/app.c" <<'X'
#include <stdio.h>
#include <tarry/tarry.h>
#include <unistd.h>

int main(void)
{
	for (uint64_t id = 1; id <= 7; id++) {
		tarry_request_begin(id, "checkout");
		usleep(1000);
		tarry_request_end(id);
	}
	puts("done");
	return 0;
}
X
cp "$W/app.c" "$W/app.cc"
flags=$(pkg-config --define-variable=prefix="$P" --cflags --libs tarry)
for how in "${CC:-cc} -D_GNU_SOURCE -Wall -Wextra -Werror $W/app.c" "g++ -Wall -Wextra -Werror $W/app.cc"; do
	rm -f "$W/app" "$W/app.tarry"
	$how -o "$W/app" $flags || fail "does not compile: $how"
	[ "$("$W/app")" = "done" ] || fail "the program does not run by itself"
	"$P/bin/tarry" record -q -o "$W/app.tarry" -- "$W/app" >"$W/log" 2>&1 || fail "not recorded: $(cat "$W/log")"
	"$P/bin/tarry" report --requests marker "$W/app.tarry" 2>&1 | grep -q '^ *7 requests' || fail "the requests are not marked"
done

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

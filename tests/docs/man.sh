#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: every long option that --help prints stands in the command's man
# page and the other way round; every sub-command has a page with its sections;
# every configuration key stands in tarry-record(1); the pages format cleanly.
set -u
cd "$(dirname "$0")/../.." || exit 1
TARRY=${B:-build}/tarry
FAILED=0
fail() { echo "wrong: $*"; FAILED=1; }

[ -x "$TARRY" ] || { echo "build first: $TARRY is needed"; exit 1; }
commands=$(sed -n 's/^[[:space:]]*X(\([a-z]*\), ".*/\1/p' cli/cmd.h)
[ -n "$commands" ] || fail "no sub-command found in cli/cmd.h"
for c in $commands; do
	page=docs/man/tarry-$c.1
	[ -f "$page" ] || { fail "$page is missing"; continue; }
	"$TARRY" "$c" --help 2>&1 | grep -oE -- '--[a-z][a-z-]*' | sort -u >"/tmp/help.$$"
	sed 's/\\-/-/g' "$page" | grep -E '^\.(B|BR|BI|IP|OP)|^\.TP' | grep -oE -- '--[a-z][a-z-]*' | sort -u >"/tmp/page.$$"
	[ -s "/tmp/help.$$" ] || fail "tarry $c --help prints no option"
	for o in $(comm -23 "/tmp/help.$$" "/tmp/page.$$"); do
		fail "$page does not describe $o"
	done
	for o in $(comm -13 "/tmp/help.$$" "/tmp/page.$$"); do
		fail "$page describes $o, which tarry $c --help does not know"
	done
	for s in NAME SYNOPSIS DESCRIPTION OPTIONS OVERHEAD 'EXIT STATUS' EXAMPLES; do
		grep -qx "\.SH \"\{0,1\}$s\"\{0,1\}" "$page" || fail "$page has no section $s"
	done
	grep -q "tarry\\\\-$c (1)\|tarry-$c (1)" docs/man/tarry.1 || fail "tarry.1 does not mention tarry-$c(1)"
done
rm -f "/tmp/help.$$" "/tmp/page.$$"
for k in $(sed -n 's/^\([a-z_]*\):.*/\1/p' configs/default.yaml); do
	grep -qx "\.B $k" docs/man/tarry-record.1 || fail "tarry-record.1 does not describe the key $k"
done
if command -v groff >/dev/null 2>&1; then
	for p in docs/man/*.1; do
		groff -man -Tascii -ww "$p" 2>&1 >/dev/null | grep . && fail "$p does not format cleanly"
	done
fi
exit $FAILED

#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: what --help prints fits a terminal of 80 columns and 24 lines, one of
# which is the next prompt, for tarry and each of its commands.
set -u
cd "$(dirname "$0")/../.." || exit 1
TARRY=${B:-build}/tarry
unset ARGP_HELP_FMT
FAILED=0
n=0
for c in '' $("$TARRY" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
	n=$((n + 1))
	size=$("$TARRY" $c --help | awk '{ if (length($0) > w) w = length($0) } END { print NR, w }')
	[ "${size% *}" -le 23 ] && [ "${size#* }" -le 79 ] ||
		{ echo "wrong: tarry $c --help: ${size% *} lines of up to ${size#* } columns, at most 23 of 79"; FAILED=1; }
done
[ $n -gt 10 ] || { echo "wrong: tarry --help names $((n - 1)) commands"; FAILED=1; }
exit $FAILED

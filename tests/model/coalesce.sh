#!/bin/sh
# SPDX-License-Identifier: MIT
# suite, timeout: 300.  The queue of shared flushes, all ways in which callers can meet (tests/model/coalesce.pml).
. "$(dirname "$0")/../e2e/lib.sh"
command -v spin >/dev/null || skip "spin is not installed"
# model NAME FLAGS...: runs the checker; its report is in $W/NAME.out
model() {
	name=$1
	shift
	mkdir -p "$W/$name"
	(cd "$W/$name" && spin "$@" -a "$TOP/tests/model/coalesce.pml" && $CC -O2 -DSAFETY -DCOLLAPSE -o pan pan.c &&
		./pan -m10000) >"$W/$name.out" 2>&1 || fail "$name: $(tail -1 "$W/$name.out")"
}
sound() {
	if grep -q 'errors: 0$' "$W/$1.out" && ! grep -q 'max search depth too small' "$W/$1.out"; then
		good "$1: $(grep -o '^ *[0-9.e+]* states, stored' "$W/$1.out")"
	else
		fail "$1"
		tail -20 "$W/$1.out"
	fi
}
model "three callers, twice each" -DCALLERS=3 -DCALLS=2
sound "three callers, twice each"
model "four callers" -DCALLERS=4 -DCALLS=1
sound "four callers"
model mistake -DCALLERS=3 -DCALLS=1 -DMISTAKE
check "a group that is taken after the flush began is found" grep -q 'assertion violated.*served' "$W/mistake.out"
done_

# SPDX-License-Identifier: MIT
# For scripts that run a model through spin; sourced after MODEL is set to its name.
. "$(dirname "$0")/../e2e/lib.sh"
command -v spin >/dev/null || skip "spin is not installed"
# model NAME FLAGS...: runs the checker; its report is in $W/NAME.out
model() {
	name=$1
	shift
	mkdir -p "$W/$name"
	(cd "$W/$name" && spin "$@" -a "$TOP/tests/model/$MODEL.pml" && $CC -w -O2 -DSAFETY -DCOLLAPSE -o pan pan.c &&
		./pan -m100000) >"$W/$name.out" 2>&1 || fail "$name: $(tail -1 "$W/$name.out")"
}
sound() {
	if grep -q 'errors: 0$' "$W/$1.out" && ! grep -q 'max search depth too small' "$W/$1.out"; then
		good "$1: $(grep -o '^ *[0-9.e+]* states, stored' "$W/$1.out")"
	else
		fail "$1"
		tail -20 "$W/$1.out"
	fi
}

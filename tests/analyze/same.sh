#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: every reader says the same of one recording, whatever the memory held before.
. "$(dirname "$0")/../e2e/lib.sh"
"$TARRY" record -q -o "$W/run.tarry" -- "$B/orders" --seconds 3 --seed 1 >"$W/out" 2>&1 || { fail "record"; done_; }
n=0
for command in "report --json" "report --json --by object" "report --html /dev/stdout" "tree --json" "tail --json" \
	"blame --json --top 300" "info --json" "export --format csv -o -"; do
	n=$((n + 1))
	for fill in 85 170; do
		MALLOC_PERTURB_=$fill "$TARRY" $command "$W/run.tarry" >"$W/$fill" 2>"$W/err" ||
			fail "$command: $(tail -n 1 "$W/err")"
	done
	check "$command: not empty" test -s "$W/85"
	check "$command: the same" cmp -s "$W/85" "$W/170"
done
done_

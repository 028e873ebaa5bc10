#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 2400.  The programs of tests/e2e/run.sh with an order for everything that can have one: same output,
# same status, and a recording that holds the same facts.  Each program with one order, the programs in turn; with
# ALL_ORDERS=1 with all.
. "$(dirname "$0")/lib.sh"
# A wait that looks for itself early is one wait more, and the facts are exact.
printf 'order_bound: 10s\n' >"$W/conf.yaml"
programs=($(cd "$TOP/tests/e2e" && ls op_*.c | sed 's/\.c$//'))
orders=($ORDERS)
for i in "${!orders[@]}"; do
	mine=()
	for k in "${!programs[@]}"; do
		[ -n "${ALL_ORDERS:-}" ] || [ $((k % ${#orders[@]})) = "$i" ] || continue
		mine+=("${programs[k]}")
	done
	CONFIG=$W/conf.yaml ORDER=${orders[i]} bash "$TOP/tests/e2e/run.sh" "${mine[@]}" >"$W/out" 2>&1 || FAILED=1
	sed "s/^\(ok  \|FAIL\|skip\) /&${orders[i]}: /" "$W/out"
done
done_

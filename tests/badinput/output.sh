#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: output that cannot be written: status 1 and one line that says why.
. "$(dirname "$0")/lib.sh"
[ -c /dev/full ] || skip "no /dev/full here"
"$TARRY" record -o a.tarry -- sh -c 'for i in 1 2 3; do sleep 0.01; done' >out 2>&1 || fail "cannot record: $(cat out)"
for c in report "report --json" info "info --json" dump "dump --json" "export --format folded" "export --format csv" \
	"blame --requests none" "blame --requests none --json"; do
	refused 1 'cannot write' sh -c "exec \"\$0\" $c a.tarry >/dev/full" "$TARRY"
done
for c in --help --version; do
	refused 1 'cannot write' sh -c "exec \"\$0\" $c >/dev/full" "$TARRY"
done
refused 2 'output' "$TARRY" record --output= -- touch ran
did_not_run "an empty name"
exit $FAILED

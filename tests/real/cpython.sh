#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 240.  CPython with eight computing and eight reading threads: waits for the
# interpreter lock, and their paths.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3
for min in 10us 0; do
	printf 'self_check: 1/16\nmin_path: %s\n' "$min" >"$W/conf.yaml"
	rm -f "$STORE"*
	"$TARRY" record -q -c "$W/conf.yaml" -o "$STORE" -- /usr/bin/python3 "$CHECKS/gil.py" "$SECS" 8 >"$W/client.out" 2>&1
	rc=$?
	[ $rc = 0 ] && good "python, min_path $min: $(cat "$W/client.out")" || fail "python: status $rc: $(tail -2 "$W/client.out")"
	$PY "$CHECKS/check.py" "$TARRY" "$STORE" --paths-only --site pthread_cond_timedwait || FAILED=1
done
judge cpython "CPython $(version python3)" "8 threads compute, 8 use a pipe" --site pthread_cond_timedwait
exit $FAILED

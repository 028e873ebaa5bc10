#!/bin/sh
# SPDX-License-Identifier: MIT
# suite, timeout: 180.  A thousand threads at once, two hundred processes.
. "$(dirname "$0")/lib.sh"
build many || done_
for what in "threads 1000" "processes 200"; do
	"$W/many" $what >"$W/bare" 2>&1; rc=$?
	if [ $rc != 0 ]; then
		echo "skip $what: this machine does not allow it: $(tail -1 "$W/bare")"
		continue
	fi
	"$TARRY" record -q -o "$W/s.tarry" -- "$W/many" $what >"$W/got" 2>&1; rc2=$?
	same "$what" $rc "$W/bare" $rc2 "$W/got" && good "$what: same output"
	check "$what: nothing lost" expected "$W/s.tarry" "$W/bare"
	rm -f "$W"/s.tarry*
done
done_

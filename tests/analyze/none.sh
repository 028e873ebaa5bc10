#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: why there are no requests: because nothing that looks like one was seen, or
# because the configuration of the recording or an option says so.
. "$(dirname "$0")/../export/lib.sh"
echo 'requests: none' >"$W/conf.yaml"
"$TARRY" record -q -o "$W/auto.tarry" -- sleep 0.01 && "$TARRY" record -q -c "$W/conf.yaml" -o "$W/none.tarry" -- sleep 0.01 ||
	fail "recording: status $?"
says() { # STATUS TEXT COMMAND...
	want=$1 text=$2
	shift 2
	"$TARRY" "$@" >"$W/out" 2>&1
	rc=$?
	[ $rc = "$want" ] && grep -q -e "$text" "$W/out" && good "tarry $1: $text" || fail "tarry $*: status $rc, not '$text': $(head -n 5 "$W/out")"
}
says 0 '^rule none: no accepted connection and no marker was seen' report "$W/auto.tarry"
says 0 '^rule none: as asked for' report --requests none "$W/auto.tarry"
says 0 '^rule none: as the configuration of the recording says' report "$W/none.tarry"
says 0 '^rule none: as asked for' report --requests none "$W/none.tarry"
says 0 '^rule none: no accepted connection and no marker was seen' report --requests auto "$W/none.tarry"
says 1 'neither an accepted connection nor a marker was seen' tree "$W/auto.tarry"
says 1 'says requests: none; --requests auto looks for them' tree "$W/none.tarry"
says 2 'says requests: none; try --requests auto' tail --where 'latency > 1ms' "$W/none.tarry"
says 2 'with --requests none there are none' tail --requests none --where 'latency > 1ms' "$W/auto.tarry"
done_

#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: wrong command lines end with status 2 and one line, before
# anything is started or written.
. "$(dirname "$0")/lib.sh"

for c in record report info dump ctl; do
	refused 2 'no-such-option' "$TARRY" $c --no-such-option
done
refused 2 'nonsense' "$TARRY" nonsense
refused 2 'program|command' "$TARRY" record
refused 2 'program|command' "$TARRY" record -o a.tarry
refused 2 'program|command' "$TARRY" record -o a.tarry --
refused 2 'argument|option' "$TARRY" record -o
refused 2 'max-size|ten' "$TARRY" record --max-size ten -o a.tarry -- touch ran
refused 2 'keep|ten' "$TARRY" record --keep ten -o a.tarry -- touch ran
for c in report info dump; do
	refused 2 'store|STORE' "$TARRY" $c
done
refused 2 'on|STORE|store' "$TARRY" ctl
refused 2 'sideways|on' "$TARRY" ctl a.tarry sideways
did_not_run usage
[ ! -e a.tarry ] || fail "a.tarry was written"

# A store to point at, so that only the option can be what is wrong.
"$TARRY" record -o ok.tarry -- true >out 2>&1 || fail "cannot record true: $(cat out)"
refused 2 'by|nonsense' "$TARRY" report --by nonsense ok.tarry
refused 2 'top|x' "$TARRY" report --top x ok.tarry
refused 2 'tail|101' "$TARRY" report --tail 101 ok.tarry
refused 2 'from|x' "$TARRY" report --from x ok.tarry
refused 2 'to|x' "$TARRY" report --to x ok.tarry
refused 2 'requests|nonsense' "$TARRY" report --requests nonsense ok.tarry

# Asking for help is not an error.
for c in '' record report info dump ctl; do
	# shellcheck disable=SC2086 # '' is no word
	"$TARRY" $c --help >out 2>err </dev/null || fail "tarry $c --help: status $?"
	[ -s out ] && [ ! -s err ] || fail "tarry $c --help does not print to standard output"
done
"$TARRY" --version >out 2>err || fail "tarry --version: status $?"
grep -qE '[0-9]+\.[0-9]+' out || fail "tarry --version says no version"
exit $FAILED

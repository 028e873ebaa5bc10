#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: names are any bytes.  A store, a program and a file with an escape
# sequence, a line feed or no UTF-8 in their names, and a store that was made up so
# that every text in it has them: the terminal obeys none of it, one line stays one,
# JSON is whole and leaves nothing out.
. "$(dirname "$0")/lib.sh"
name=$(printf 'a\033[31m\nb\377')
mkdir "$name"
cp "$(command -v sleep)" "$name/program"
store=$name/run.tarry
"$TARRY" record -q -o "$store" -- "$name/program" 0.01 >out 2>&1 || fail "status $?: $(cat out)"
[ ! -s out ] || fail "record: $(cat out)"

# shown FILE: no control character but line feeds, and UTF-8
shown() {
	tr -d '\n\040-\176' <"$1" >rest
	[ ! -s rest ] || fail "$2: shows $(od -An -c rest | head -n 3)"
}
for c in report info dump "blame --requests none" "compare $W/plain.tarry" "export --format folded"; do
	[ "${c%% *}" = compare ] && { cp "$store" plain.tarry || fail "cp"; }
	# shellcheck disable=SC2086
	"$TARRY" $c "$store" >out 2>err || fail "$c: status $?: $(cat err)"
	shown out "$c"
	shown err "$c"
done
for c in report "blame --requests none"; do
	"$TARRY" $c "$store" >out
	head -n 1 out | grep -q "^tarry ${c%% *} of a?\[31m?b?/run.tarry$" || fail "$c: its title is $(head -n 1 out)"
done
"$TARRY" info --json "$store" >info.json || fail "info --json: status $?"
shown info.json "info --json"
grep -q '"tarry": null' info.json && fail "info --json: null for what tarry it was"
grep -q '"store": "a.*b?/run.tarry"' info.json || fail "info --json: no name of the store"
sed -n '/"coverage"/,/"unseen"/p' info.json | grep -q '"module": ".*/program"' ||
	fail "info --json: what the program imports was left out"

refused 1 'a\?\[31m\?b\?/missing' "$TARRY" report "$name/missing"
refused 127 'a\?\[31m\?b\?/missing' "$TARRY" record -o x.tarry -- "./$name/missing"
refused 1 'a\?\[31m\?b\?/run.tarry' "$TARRY" record -o "$store" -- touch ran
did_not_run "names"
printf 'variants: [{name: a}, {name: b}]\n' >"$name/x.yaml"
"$TARRY" experiment -n -c "$name/x.yaml" -- true >out 2>err || fail "experiment: status $?: $(cat err)"
shown out "experiment --dry-run"

# Every text of a store, also what only tarry writes: operations, losses, states.
CC=${CC:-cc}
$CC -O2 -g -D_GNU_SOURCE -pthread -o orders "$TOP"/examples/orders/*.c -lm || fail "compile orders"
$CC -D_GNU_SOURCE -o hostile "$TOP/tests/badinput/hostile.c" -llmdb -ljansson -lxxhash || fail "compile hostile"
"$TARRY" record -q --order eldest -o real.tarry -- ./orders --requests 60 --connections 4 >out 2>&1 ||
	fail "record: status $?: $(cat out)"
for how in "" class; do # classes, too: then no call is known for what it is
	cp real.tarry "made$how.tarry"
	# shellcheck disable=SC2086
	./hostile "made$how.tarry" $how || fail "hostile"
	for c in report "report --by object" "report --by function" "report --by operation" "report --requests none" info "info --all" \
		dump "dump --paths" blame "blame --requests none" tail tree "compare real.tarry" "export --format folded"; do
		"$TARRY" $c "made$how.tarry" >out 2>err
		rc=$?
		[ $rc = 0 ] || [ -s err ] || fail "$c of made$how.tarry: status $rc, and says nothing"
		[ $rc -le 2 ] || fail "$c of made$how.tarry: status $rc"
		shown out "$c of made$how.tarry"
		shown err "$c of made$how.tarry"
	done
	for c in "report --json" "info --json" "blame --json" "tail --json" "tree --json" "export --format chrome"; do
		"$TARRY" $c "made$how.tarry" >out 2>err
		rc=$?
		[ -n "$how" ] && [ $rc = 1 ] && continue # without classes there are no requests
		[ $rc = 0 ] || fail "$c of made$how.tarry: status $rc: $(cat err)"
		python3 -m json.tool <out >/dev/null 2>err || fail "$c of made$how.tarry: $(cat err)"
	done
done
"$TARRY" info made.tarry | grep -q '^  fdatasync"?\]0;owned' || fail "info: what an operation is called is gone"
exit $FAILED

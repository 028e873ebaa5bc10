#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: tarry export: files are not overwritten, a failed export leaves none,
# a reader that goes away is silent, wrong usage is status 2, a recording in progress
# can be exported, and memory does not grow with events.
. "$(dirname "$0")/lib.sh"
orders
S=$W/orders.tarry
# expect STATUS WORDS ARGUMENT...: status, and words in the error
expect() {
	want=$1 words=$2
	shift 2
	"$TARRY" export "$@" >"$W/out" 2>"$W/err"
	rc=$?
	[ $rc = "$want" ] && grep -q -- "$words" "$W/err" && good "$words" || fail "$*: status $rc: $(head -n 2 "$W/err")"
}
expect 2 'which store' --format csv
expect 2 'which format' "$S"
expect 2 'no format' --format svg "$S"
expect 2 'options of --format folded' --format csv --in-requests "$S"
expect 2 'options of --format folded' --format pprof --weight waits "$S"
expect 2 'option of --format csv' --format chrome --what sites "$S"
expect 2 'what: one of events, sites, requests is expected' --format csv --what else "$S"
expect 2 'thread: a whole number from 1' --format csv --thread x "$S"
expect 2 'force without' --format csv --force "$S"
expect 2 'no process' --format csv --process 1 "$S"
expect 2 'is not a time' --format csv --from soon "$S"
expect 2 'no rule' --format pprof --requests foo "$S"
expect 1 'cannot' --format csv "$W/nothing.tarry"
expect 1 'cannot create' --format csv -o "$W/no/such/folder" "$S"
sum=$(cksum <"$S")
expect 2 'the store itself' --format csv --force -o "$S" "$S"
[ "$sum" = "$(cksum <"$S")" ] && good "the store is untouched" || fail "the store was written to"
echo precious >"$W/kept"
expect 1 'exists; --force' --format csv -o "$W/kept" "$S"
[ "$(cat "$W/kept")" = precious ] && good "the file is untouched" || fail "the file was written to"
"$TARRY" export --format csv --force -o "$W/kept" "$S" && head -n 1 "$W/kept" | grep -q '^begin_ns' && good "--force overwrites" || fail "--force"
expect 2 'no requests' --format folded --in-requests --requests none -o "$W/empty" "$S"
[ -e "$W/empty" ] && fail "a failed export left a file" || good "a failed export leaves no file"
if [ -w /dev/full ]; then
	"$TARRY" export --format csv "$S" >/dev/full 2>"$W/err"
	[ $? = 1 ] && grep -q 'cannot write' "$W/err" && good "a full disk is said" || fail "full disk: $(cat "$W/err")"
fi
# the reader goes away: with the signal and where it is ignored
for f in csv chrome pprof folded; do
	(trap '' PIPE; "$TARRY" export --format $f "$S" 2>"$W/err"; echo $? >"$W/rc") | head -c 100 >/dev/null
	[ "$(cat "$W/rc")" = 0 ] && [ ! -s "$W/err" ] && good "$f: a reader that goes away" || fail "$f: $(cat "$W/rc") $(cat "$W/err")"
	"$TARRY" export --format $f "$S" 2>"$W/err" | head -c 100 >/dev/null
	[ ! -s "$W/err" ] && good "$f: silent" || fail "$f: $(cat "$W/err")"
done
# the same bytes each time
for f in csv chrome pprof folded; do
	"$TARRY" export --format $f "$S" >"$W/1" && "$TARRY" export --format $f "$S" >"$W/2" && cmp -s "$W/1" "$W/2" &&
		good "$f: the same bytes" || fail "$f: other bytes the second time"
done
# a terminal gets no binary, and no progress is mixed into its text
script -qec "$TARRY export --format pprof $S" /dev/null >"$W/tty" </dev/null
grep -q 'not for a terminal' "$W/tty" && good "no binary to a terminal" || fail "binary: $(head -c 200 "$W/tty")"
# a recording in progress
"$TARRY" record -q -o "$W/now.tarry" -- "$W/orders" --seconds 3 >/dev/null 2>&1 &
pid=$!
i=0
while [ $i -lt 200 ]; do
	"$TARRY" export --format folded "$W/now.tarry" >"$W/now" 2>/dev/null && grep -q 'lock_row;pthread_cond_wait' "$W/now" && break
	i=$((i + 1))
	sleep 0.05
done
kill -0 $pid 2>/dev/null && grep -q 'serve;.*lock_row;pthread_cond_wait [0-9]' "$W/now" && good "a recording in progress" || fail "in progress: $(head -n 3 "$W/now")"
wait $pid
done_

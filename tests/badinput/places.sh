#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: places where a store cannot or must not be written: status 1, one
# line, the program is not started, and what is there stays as it is.
. "$(dirname "$0")/lib.sh"

refused 1 '/nonexistent/a.tarry' "$TARRY" record -o /nonexistent/a.tarry -- touch ran
refused 1 'not-a-folder' "$TARRY" record -o /etc/passwd/not-a-folder -- touch ran
refused 1 '/sys/a.tarry' "$TARRY" record -o /sys/a.tarry -- touch ran
did_not_run "unwritable place"

# A folder that another user may not write into (root may).
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null 2>&1 &&
	setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$TARRY"; then
	chmod 755 "$W"
	refused 1 "$W/a.tarry" setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$TARRY" record -o "$W/a.tarry" -- true
fi

# A user who may have only so many processes and threads: whichever of ours cannot be started, no store is left.
if [ "$(id -u)" = 0 ] && command -v prlimit >/dev/null 2>&1 && mkdir -m 777 few &&
	setpriv --reuid 60123 --regid 60123 --clear-groups test -x "$TARRY"; then
	chmod 755 "$W"
	for n in 1 2 3; do # the search for leaks starts a thread of its own
		refused 1 'cannot start' env ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" setpriv --reuid 60123 --regid 60123 --clear-groups \
			prlimit --nproc=$n "$TARRY" record -o "$W/few/a.tarry" -- touch few/ran
		[ -z "$(ls few)" ] || fail "$n processes at most: left behind: $(ls few)"
		rm -f few/*
	done
fi

# What exists already is never overwritten: a store, a text, a folder, a device.
"$TARRY" record -o used.tarry -- true >out 2>&1 || fail "cannot record true: $(cat out)"
sum=$(cksum <used.tarry)
refused 1 'used.tarry' "$TARRY" record -o used.tarry -- touch ran
same used.tarry "$sum"
echo text >text
sum=$(cksum <text)
refused 1 'text' "$TARRY" record -o text -- touch ran
same text "$sum"
mkdir folder
refused 1 'folder' "$TARRY" record -o folder -- touch ran
refused 1 '/dev/null' "$TARRY" record -o /dev/null -- touch ran
[ -c /dev/null ] || fail "/dev/null is gone"
: >empty
refused 1 'empty' "$TARRY" record -o empty -- touch ran
ln -s elsewhere link
refused 1 'link' "$TARRY" record -o link -- touch ran
[ ! -e elsewhere ] || fail "a store was written through a link"
did_not_run "existing place"

# Two recorders on one store: the second is refused, the first ends well.
mkfifo go
"$TARRY" record -o two.tarry -- sh -c 'echo started >started; read -r line <go; exit 7' >first 2>&1 &
first=$!
n=0
until [ -e started ] || [ $n = 200 ]; do
	sleep 0.05
	n=$((n + 1))
done
refused 1 'two.tarry' "$TARRY" record -o two.tarry -- touch ran
did_not_run "second recorder"
echo >go
wait $first
rc=$?
[ $rc = 7 ] || fail "the first recorder ended with $rc, not its program's 7: $(cat first)"
"$TARRY" info two.tarry >out 2>&1 || fail "the first recorder's store does not open: $(cat out)"

# tarry itself where ld.so would not find the library by its name.
# shellcheck disable=SC2016
for place in 'with space' 'co:lon' '$ORIGIN' 'x${LIB}'; do
	mkdir "$place"
	cp "$TARRY" "$LIB" "$place"
	refused 1 'LD_PRELOAD cannot hold the path .*; install tarry in a folder without' \
		"$place/tarry" record -o "$W/p.tarry" -- touch "$W/ran"
	did_not_run "$place"
	rm -r "$place"
done
mkdir 'a$dollar'
cp "$TARRY" "$LIB" 'a$dollar'
'a$dollar/tarry' record -q -o dollar.tarry -- true >out 2>&1 || fail "a dollar sign that stands for nothing: $(cat out)"

# A plain preload on a place that cannot be written, or is taken: the program does not notice.
sum=$(cksum <used.tarry)
for place in /nonexistent/a.tarry "$W/used.tarry" /dev/null; do
	env LD_PRELOAD="$LIB" TARRY_STORE=$place /bin/echo hello >out 2>err
	[ $? = 0 ] && [ "$(cat out)" = hello ] && [ ! -s err ] || fail "preload at $place: $(cat out err)"
done
same used.tarry "$sum"
exit $FAILED

#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: tarry top on a terminal, in tmux: the frame, each key, another size,
# and the terminal as it was afterwards.
. "$(dirname "$0")/../e2e/lib.sh"
command -v tmux >/dev/null || skip "no tmux"
S=$W/tmux
t() { tmux -S "$S" "$@"; }
REC=
# end_recording: by ending the recorded program, which does not obey SIGTERM
end_recording() {
	[ -n "$REC" ] || return
	p=$("$TARRY" top -b -n 1 "$W/s.tarry" 2>/dev/null | grep -oE '^ *[0-9]+ +[0-9]+  ' | awk '{ print $1 }' | sort -u)
	# shellcheck disable=SC2086 # a list
	[ -n "$p" ] && kill -KILL $p
	wait "$REC" 2>/dev/null
	REC=
}
stop_all() { t kill-server 2>/dev/null; end_recording; }
CLEANUP=stop_all
screen() { t capture-pane -p -t top; }
# shown NAME TEXT: the screen has the text (a regular expression), by and by
shown() {
	i=0
	while [ $i -lt 100 ]; do
		screen >"$W/screen"
		grep -qE -- "$2" "$W/screen" && { good "$1"; return 0; }
		i=$((i + 1))
		sleep 0.1
	done
	fail "$1: no '$2' on the screen"
	sed 's/^/     | /' "$W/screen"
	return 1
}
press() { t send-keys -t top "$@"; }
first() { screen | awk 'on { print $1, $2; exit } / PID +TID /{ on = 1 }'; }
# first_is NAME OP IDS: the first thread listed is (=) or is not (!=) this one, by and by
first_is() {
	i=0
	while [ $i -lt 100 ]; do
		[ "$(first)" "$2" "$3" ] && { good "$1"; return 0; }
		i=$((i + 1))
		sleep 0.1
	done
	fail "$1: first is $(first)"
}
$CC -std=gnu11 -O2 -g -D_GNU_SOURCE -pthread -o "$W/orders" "$TOP"/examples/orders/*.c -lm || { fail compile; done_; }
"$TARRY" record -q -o "$W/s.tarry" -- "$W/orders" --seconds 100 --connections 16 >/dev/null 2>&1 &
REC=$!
i=0
until "$TARRY" top -b -n 1 "$W/s.tarry" 2>/dev/null | grep -q '^requests [1-9]'; do
	i=$((i + 1))
	[ $i -gt 200 ] && { fail "no requests are recorded"; done_; }
	sleep 0.1
done
t -f /dev/null new-session -d -s top -x 120 -y 30 "sh" || skip "tmux cannot start"
press "PS1='prompt> '; clear" Enter
shown "a shell" '^prompt>'
press "$TARRY top -d 60 $W/s.tarry; echo left with \$?" Enter
shown "a frame" '^requests [1-9].*/s +p50'
shown "sites" 'nanosleep +(client_run|payment_call)'
shown "the last line" 'sorted by time waited, every 60 s; h for help'
press s
shown "s: sorted by operation" 'sorted by operation'
press s
shown "s: sorted by name" "sorted by thread's name"
press s
shown "s: sorted by id" 'sorted by process and thread id'
top=$(first)
[ -n "$top" ] || fail "no thread on the screen"
press Down
first_is "arrow down scrolls" != "$top"
press Up
first_is "arrow up scrolls back" = "$top"
press NPage
first_is "page down scrolls" != "$top"
press PPage
first_is "page up scrolls back" = "$top"
press End
first_is "end" != "$top"
press Home
first_is "home" = "$top"
press h
shown "h: help" 'Keys of tarry top'
shown "help names the keys" 'd +seconds between refreshes'
press x
shown "any key goes back" 'sorted by process and thread id'
press d
shown "d: asks" 'seconds between refreshes \(now 60\)'
press 0 Enter
shown "d: refuses" 'is not a number of seconds'
press d
press 0.5 Enter
shown "d: takes" 'every 0.5 s'
was=$(screen | sed -n 's/^requests \([0-9.]*\).*/\1/p')
i=0
while [ $i -lt 100 ] && [ "$(screen | sed -n 's/^requests \([0-9.]*\).*/\1/p')" = "$was" ]; do i=$((i + 1)); sleep 0.1; done
[ $i -lt 100 ] && good "it refreshes by itself" || fail "the frame does not change"
press d
press 60 Enter
shown "d: slow again" 'every 60 s'
was=$(screen | sed -n 2,3p)
i=0
while [ $i -lt 50 ] && [ "$(screen | sed -n 2,3p)" = "$was" ]; do press Space; i=$((i + 1)); sleep 0.1; done
[ $i -lt 50 ] && good "space refreshes" || fail "space does not refresh"
t resize-window -t top -x 80 -y 30
shown "80 columns: all columns of threads but one" '^ +PID +TID +THREAD +FOR +WAITS IN +ASKED BY$'
shown "80 columns: no figure is cut" '^requests [0-9.]+/s  p50 [0-9.]+ .?s  p99 [0-9.]+ .?s  max [0-9.]+ .?s  \(last [0-9.]+ s, socket\)$'
t resize-window -t top -x 70 -y 16
shown "another size" 'sorted by process and thread id, every 60 s'
[ "$(screen | wc -L)" -le 70 ] && good "it fits" || fail "wider than the terminal"
press q
shown "q: leaves" 'left with 0'
shown "the terminal is as it was" '^prompt>$'
press "$TARRY top $W/s.tarry; echo left with \$?" Enter
shown "again" 'sorted by time waited'
end_recording
shown "the recording ends" 'the recording has ended'
shown "and it leaves" 'left with 0'
done_

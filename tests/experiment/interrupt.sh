#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: Ctrl-C ends the program and the load, cleans up, keeps what was
# measured and marks it incomplete; a second one does not wait; the status is 130.
. "$(dirname "$0")/lib.sh"

# The third run (seed 1, no warm-up: in any order) says that it is there, and stays.
cat >"$W/long.yaml" <<'EOF'
variants: [{name: a}, {name: b}]
repetitions: 3
warmup: 0
ready: grep -q listening "$TARRY_EXPERIMENT_DIR/program.log"
stop: TERM
stop_timeout: 1000s
cleanup: echo $TARRY_EXPERIMENT_REPETITION >>"$W/cleaned"
load: |
  echo 5us >"$TARRY_EXPERIMENT_LATENCIES"
  if [ $TARRY_EXPERIMENT_REPETITION = 2 ]; then
    echo $TARRY_EXPERIMENT_PID $$ >"$W/fifo"
    exec sleep 1000
  fi
EOF
gone() { [ ! -d "/proc/$1" ] || grep -q '^State:	Z' "/proc/$1/status"; }
mkfifo "$W/fifo"

"$TARRY" experiment -c "$W/long.yaml" -o "$W/long.tsv" -- "$ORDERS" --serve 0 >"$W/out" 2>"$W/err" &
tarry=$!
read -r program load <"$W/fifo"
check "program and load run" sh -c "kill -0 $program && kill -0 $load"
kill -INT $tarry
wait $tarry
rc=$?
check "status 130" [ $rc = 130 ]
check "the program is gone" gone "$program"
check "the load is gone" gone "$load"
check "what there is" [ "$(rows "$W/long.tsv")" = 2 ]
check "marked" [ "$(tail -n 1 "$W/long.tsv")" = "# end: incomplete: interrupted after 2 of 6 runs" ]
check "cleaned up" [ "$(tr -d '\n' <"$W/cleaned")" = 112 ]
check "said" grep -q 'The experiment is incomplete: interrupted after 2 of 6 runs' "$W/out"
"$TARRY" experiment --judge "$W/long.tsv" >"$W/again"
rc=$?
check "judged again: status 1" [ $rc = 1 ]
check "said again" grep -q 'The experiment is incomplete' "$W/again"
# without its last line, as a kill of tarry itself would leave it
sed '$d' "$W/long.tsv" >"$W/cut.tsv"
"$TARRY" experiment --judge "$W/cut.tsv" >"$W/again"
rc=$?
check "cut: status 1" [ $rc = 1 ]
check "cut: said" grep -q 'The experiment is incomplete: it ends without a last line' "$W/again"

# A program that does not listen: the first interrupt waits for it, the second kills.
# shellcheck disable=SC2016
DEAF='trap "echo >>\"\$W/asked\"" TERM; echo listening; while :; do sleep 0.01; done'
rm -f "$W/asked"
"$TARRY" experiment -c "$W/long.yaml" -o "$W/deaf.tsv" -- sh -c '
	[ $TARRY_EXPERIMENT_REPETITION = 2 ] || exec "$ORDERS" --serve 0
	'"$DEAF" >"$W/out" 2>"$W/err" &
tarry=$!
read -r program load <"$W/fifo"
kill -TERM $tarry
i=0
while [ ! -e "$W/asked" ] && [ $i -lt 500 ]; do sleep 0.02; i=$((i + 1)); done
check "it was asked to end" [ -e "$W/asked" ]
check "and is waited for" kill -0 "$program"
kill -INT $tarry
wait $tarry
rc=$?
check "status of the first signal" [ $rc = 143 ]
check "killed at the second" gone "$program"
check "still cleaned up" [ "$(tail -n 1 "$W/cleaned")" = 2 ]
check "still marked" grep -q '^# end: incomplete: interrupted after 2 of 6 runs$' "$W/deaf.tsv"

# During the wait for ready, too.
sed 's/^ready: .*/ready: echo $TARRY_EXPERIMENT_PID 0 >"$W\/fifo"; exec sleep 1000/' "$W/long.yaml" >"$W/ready.yaml"
"$TARRY" experiment -c "$W/ready.yaml" -o "$W/ready.tsv" -- "$ORDERS" --serve 0 >"$W/out" 2>"$W/err" &
tarry=$!
read -r program load <"$W/fifo"
kill -HUP $tarry
wait $tarry
rc=$?
check "hangup: status 129" [ $rc = 129 ]
check "hangup: the program is gone" gone "$program"
check "hangup: no run" [ "$(rows "$W/ready.tsv")" = 0 ]

# Who reads the messages leaves after the first one: no interrupt.  Program and load are not told to ignore that.
cat >"$W/pipe.yaml" <<'EOF'
variants: [{name: a}, {name: b}]
repetitions: 3
warmup: 0
cleanup: echo $TARRY_EXPERIMENT_REPETITION >>"$W/cleaned"
EOF
rm -f "$W/cleaned"
mkdir "$W/tmp"
mkfifo "$W/messages"
TMPDIR=$W/tmp "$TARRY" experiment -c "$W/pipe.yaml" -o "$W/pipe.tsv" -- \
	sh -c 'grep SigIgn: /proc/self/status >>"$W/ignored"' >"$W/out" 2>"$W/messages" &
tarry=$!
: <"$W/messages"
wait $tarry
rc=$?
check "without a reader: status 0" [ $rc = 0 ]
check "without a reader: complete" grep -q '^# end: complete$' "$W/pipe.tsv"
check "without a reader: cleaned up" [ "$(sort "$W/cleaned" | tr -d '\n')" = 112233 ]
check "without a reader: no folder is left" [ -z "$(ls "$W/tmp")" ]
sh -c 'grep SigIgn: /proc/self/status' >"$W/native" & # in the background, too
wait $!
check "the program ignores what it would without us" [ "$(sort -u "$W/ignored")" = "$(cat "$W/native")" ]

# A limit on the size of files: a line that says so, and no file is left in the way of the next try.
rm -f "$W/pipe.tsv"
{ (ulimit -f 0 && TMPDIR=$W/tmp "$TARRY" experiment -c "$W/pipe.yaml" -o "$W/pipe.tsv" -- true 2>&1); echo "status $?"; } |
	cat >"$W/err"
check "no room: said" grep -q '^tarry: .*/pipe.tsv: File too large$' "$W/err"
check "no room: status 1" grep -q '^status 1$' "$W/err"
check "no room: nothing is left" sh -c "[ ! -e '$W/pipe.tsv' ] && [ -z \"\$(ls '$W/tmp')\" ]"
done_

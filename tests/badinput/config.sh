#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: a wrong key, type or value in the configuration names file, line
# and column and ends with status 2 before the program is started; a plain
# preload runs the program undisturbed and says the same in STORE.log.
. "$(dirname "$0")/lib.sh"

try() { # NAME TEXT PATTERN
	printf '%b' "$2" >"$1.yaml"
	refused 2 "$1.yaml:$3" "$TARRY" record -c "$1.yaml" -o "$1.tarry" -- touch ran
	did_not_run "$1"
	[ ! -e "$1.tarry" ] || fail "$1: a store was written"
}
try key 'paused: false\nmin_pth: 1us\n' "2:1: .*min_path"
try type 'max_depth: [1]\n' '1:12: .*whole number'
try value 'max_depth: many\n' '1:12: .*whole number'
try range '\n\nmax_depth: 4000\n' '3:12: .*128'
try twice 'keep: 1s\nkeep: 2s\n' '2:1: .*twice'
try alias 'keep: *x\n' '1:7: '
try broken 'keep: [\n' '[0-9]+:[0-9]+: '
refused 2 'missing.yaml' "$TARRY" record -c missing.yaml -o m.tarry -- touch ran
refused 2 '\.: ' "$TARRY" record -c . -o m.tarry -- touch ran
refused 2 '1 MiB' "$TARRY" record -c /dev/zero -o m.tarry -- touch ran
did_not_run config
[ ! -e m.tarry ] || fail "m.tarry was written"

env LD_PRELOAD="$LIB" TARRY_STORE="$W/plain.tarry" TARRY_CONFIG="$W/key.yaml" /bin/echo hello >out 2>err
[ $? = 0 ] && [ "$(cat out)" = hello ] && [ ! -s err ] || fail "plain preload: the program was disturbed: $(cat out err)"
n=0
until [ -s plain.tarry.log ] || [ $n = 100 ]; do # the recorder is not our child: wait for its line
	sleep 0.05
	n=$((n + 1))
done
grep -q 'key.yaml:2:1: ' plain.tarry.log || fail "plain preload: no line in the log: $(cat plain.tarry.log)"
[ ! -e plain.tarry ] || fail "plain preload: a store was written"

# A named pipe that nobody writes into: neither the program nor the recorder waits for it.
mkfifo pipe.yaml
env LD_PRELOAD="$LIB" TARRY_STORE="$W/piped.tarry" TARRY_CONFIG="$W/pipe.yaml" /bin/echo hello >out 2>err
[ $? = 0 ] && [ "$(cat out)" = hello ] && [ ! -s err ] || fail "configuration in a pipe: the program was disturbed: $(cat out err)"
n=0
until [ -s piped.tarry.log ] || [ $n = 100 ]; do
	sleep 0.05
	n=$((n + 1))
done
grep -q 'pipe.yaml: a pipe' piped.tarry.log || {
	fail "configuration in a pipe: no line in the log: $(cat piped.tarry.log)"
	timeout 1 sh -c ': >pipe.yaml' # lets the recorder go
}
exit $FAILED

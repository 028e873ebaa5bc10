#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 900.  Programs in which preload libraries have gone wrong (the case files
# say how): each runs natively, under `tarry record` and under plain preload.
# It passes when it exits 0 within 20 s, prints exactly "ok" and nothing on
# standard error.
#   run.sh          all cases
#   run.sh 05 13    the cases whose names start so
set -u
here=$(cd "$(dirname "$0")" && pwd)
TOP=$(cd "$here/../.." && pwd)
B=${B:-build}
case $B in /*) ;; *) B=$TOP/$B ;; esac
TARRY=$B/tarry LIB=$B/libtarry.so
CC=${CC:-cc}
export CC
[ -x "$TARRY" ] && [ -f "$LIB" ] || { echo "build first: $TARRY and $LIB are needed"; exit 1; }
unset LD_PRELOAD CASE_PRELOAD TARRY_STORE TARRY_ARENA TARRY_CONFIG
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tarry-hazards.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
export TMPDIR=$tmp HAZARD_CLEAN_FDS=1
failed=0

verdict() { # mode, name, status
	local why=
	if [ "$3" -eq 124 ] || [ "$3" -eq 137 ]; then why="hung"
	elif [ "$3" -gt 128 ]; then why="killed by signal $(($3 - 128))"
	elif [ "$3" -ne 0 ]; then why="exit status $3"
	elif [ "$(cat "$tmp/out")" != ok ]; then why="stdout is not \"ok\""
	elif [ -s "$tmp/err" ]; then why="wrote to stderr"
	fi
	if [ -z "$why" ]; then
		echo "ok   $2, $1"
	else
		failed=1
		echo "FAIL $2, $1: $why"
		sed -n '1,3s/^/     | /p' "$tmp/err"
	fi
}

one() { # mode, name, command...
	local mode=$1 name=$2
	shift 2
	timeout -s KILL 30 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
	verdict "$mode" "$name" $?
}

for f in "$here"/[0-9][0-9]-*.*; do
	base=${f##*/} name=${f##*/} name=${name%.*}
	wanted=$(($# == 0))
	for w; do case $base in "$w"*) wanted=1 ;; esac; done
	[ $wanted = 1 ] || continue
	case $f in
	*.c)
		flags=$(sed -n 's|^ *\* flags: ||p; s|^   flags: ||p' "$f" | sed 's| *\*/||')
		$CC -O2 -pthread $flags -o "$tmp/$name" "$f" >"$tmp/cc" 2>&1 ||
			{ failed=1; echo "FAIL $name, build"; sed -n '1,3s/^/     | /p' "$tmp/cc"; continue; }
		cmd=("$tmp/$name")
		pre=(env "LD_PRELOAD=$LIB" "TARRY_STORE=$tmp/$name.p" "$tmp/$name") ;;
	*)
		cmd=(sh "$f")
		pre=(env "CASE_PRELOAD=$LIB" "TARRY_STORE=$tmp/$name.p" sh "$f") ;;
	esac
	one native "$name" "${cmd[@]}"
	one recorded "$name" "$TARRY" record -q -o "$tmp/$name.r" -- "${cmd[@]}"
	one preload "$name" "${pre[@]}"
	"$TARRY" info "$tmp/$name.r" >/dev/null 2>"$tmp/err" || { failed=1; echo "FAIL $name, store: $(head -1 "$tmp/err")"; }
	rm -f "$tmp/$name" "$tmp/$name".[rp]*
done
exit $failed

#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 2400.  Programs in which preload libraries have gone wrong (the case files
# say how): each runs natively, under `tarry record`, without and with captured bytes, under plain preload, and with
# an order for everything that can have one: each case with one order, the cases in turn; with ALL_ORDERS=1 with all.
# It passes when it exits 0 within 30 s, prints exactly "ok" and nothing on
# standard error; 77 skips it, what it prints is the reason.
#   run.sh          all cases
#   run.sh 05 13    the cases whose names start so
set -u
here=$(cd "$(dirname "$0")" && pwd)
TOP=$(cd "$here/../.." && pwd)
B=${B:-build}
case $B in /*) ;; *) B=$TOP/$B ;; esac
TARRY=$B/tarry LIB=$B/libtarry.so
CC=${CC:-cc}
export CC TARRY
[ -x "$TARRY" ] && [ -f "$LIB" ] || { echo "build first: $TARRY and $LIB are needed"; exit 1; }
unset LD_PRELOAD CASE_PRELOAD TARRY_STORE TARRY_ARENA TARRY_CONFIG
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tarry-hazards.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
export TMPDIR=$tmp HAZARD_CLEAN_FDS=1
printf 'capture_bytes: 32\n' >"$tmp/captured.yaml"
printf 'fsync: coalesce\n' >"$tmp/coalesced.yaml"
orders=($(sed -n 's/^TY_ORDER(\([a-z]*\),.*/\1/p' "$TOP/include/tarry/orders.def" | grep -vx native))
cases=0 failed=0

verdict() { # mode, name, status
	local why=
	if [ "$3" -eq 124 ] || [ "$3" -eq 137 ]; then why="hung"
	elif [ "$3" -eq 77 ]; then
		echo "skip $2, $1: $(tail -n 1 "$tmp/out")"
		return
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
	local mode=$1 name=$2 rc
	shift 2
	timeout -s KILL 30 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
	rc=$?
	# not every case waits for something that has an order, and that is said
	sed -i '/^tarry: order 1 ([^)]*) matched no wait/d' "$tmp/err"
	verdict "$mode" "$name" $rc
}

ordered() { # name, command...
	local name=$1 o
	shift
	for o in "${orders[@]}"; do
		[ -n "${ALL_ORDERS:-}" ] || [ "$o" = "${orders[cases % ${#orders[@]}]}" ] || continue
		one "$o" "$name" "$TARRY" record -q --order "$o" -o "$tmp/$name.$o" -- "$@"
		rm -f "$tmp/$name.$o"*
	done
}

# Cases that flush, also with flushes that are shared.
coalesced() { # file, name, command...
	grep -qE 'fsync|fdatasync' "$1" || return
	shift
	local name=$1
	shift
	one coalesced "$name" "$TARRY" record -q -c "$tmp/coalesced.yaml" -o "$tmp/$name.f" -- "$@"
}

for f in "$here"/[0-9][0-9]-*.*; do
	cases=$((cases + 1))
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
	one captured "$name" "$TARRY" record -q -c "$tmp/captured.yaml" -o "$tmp/$name.c" -- "${cmd[@]}"
	one preload "$name" "${pre[@]}"
	ordered "$name" "${cmd[@]}"
	coalesced "$f" "$name" "${cmd[@]}"
	"$TARRY" info "$tmp/$name.r" >/dev/null 2>"$tmp/err" || { failed=1; echo "FAIL $name, store: $(head -1 "$tmp/err")"; }
	rm -f "$tmp/$name" "$tmp/$name".[cfrp]*
done
exit $failed

#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the tests of a build and sums them up:
#   B=build T=name SUITES="unit model docs badinput e2e orders analyze export html top experiment bench hazards real" tests/run.sh
#
#   unit      every program in $B/tests/unit
#   fuzz      every program in $B/tests/fuzz, FUZZ_SECONDS each, two at a time
#   others    every executable tests/SUITE/*.sh but lib.sh; it gets B
#
# SUITES may name single scripts, such as e2e/run.
#
# A test exits 0 (passed), 77 (skipped; the last line of output is the reason)
# or else failed, and then its output is shown.  It is stopped after 120 s, or
# what a "timeout: N" comment in its source says, thrice that with SAN.  A script
# that runs several tests has "# suite" in its second or third line and prints
# "ok NAME" and "FAIL NAME" lines, which are counted.
#
# T selects the test of exactly that name or, when there is none, all whose names
# contain it, or else one program of tests/e2e/run.sh such as op_mutex or one case
# of tests/hazards/run.sh such as 12.
set -u
cd "$(dirname "$0")/.." || exit 1
B=${B:-build} SAN=${SAN:-}
case $B in /*) ;; *) B=$PWD/$B ;; esac
T=${T:-}
ALL="unit model docs badinput e2e orders analyze export html top experiment bench hazards real"
SUITES=${SUITES:-$ALL}
LOGS=$B/test-logs
export B
rm -rf "$LOGS"
mkdir -p "$LOGS"
passed=0 failed=0 skipped=0
failures=() # said again at the end: a log is long and often cut in the middle
wrap=()
# ThreadSanitizer's fixed places for its memory collide with more random addresses.
if [ "$SAN" = thread ] && [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28)" -gt 28 ] &&
	setarch "$(uname -m)" -R true 2>/dev/null; then
	wrap=(setarch "$(uname -m)" -R)
fi

list() { # -> NAME PATH, one a line
	local s f
	for s in $SUITES; do
		case $s in
		unit | fuzz)
			for f in tests/"$s"/*.c; do
				[ -f "$f" ] && echo "$s/$(basename "$f" .c) $B/${f%.c}"
			done ;;
		unit/* | fuzz/*) echo "$s $B/tests/$s" ;;
		*/*) echo "$s tests/$s.sh" ;;
		*)
			for f in tests/"$s"/*.sh; do
				[ -x "$f" ] && [ "${f##*/}" != lib.sh ] && echo "$s/$(basename "$f" .sh) $f"
			done ;;
		esac
	done
}

select_tests() {
	if [ -z "$T" ]; then
		cat
		return
	fi
	local all exact
	all=$(cat)
	exact=$(awk -v t="$T" '{ n = $1; sub(".*/", "", n) } $1 == t || n == t' <<<"$all")
	[ -n "$exact" ] && echo "$exact" || awk -v t="$T" 'index($1, t)' <<<"$all"
}

limit_of() { # PATH -> seconds
	local src=$1 n
	case $src in "$B"/*) src=${src#"$B"/}.c ;; esac
	n=$(grep -m1 -oE 'timeout: [0-9]+' "$src" 2>/dev/null)
	n=${n##* }
	echo $((${n:-120} * (${#SAN} > 0 ? 3 : 1))) # sanitized programs are slow
}

run_one() { # NAME PATH [ARGUMENT]: writes the log, returns the status
	local log limit rc
	log=$LOGS/${1//\//-}.log
	case $1 in
	fuzz/*)
		local corpus=$LOGS/corpus-${2##*/fuzz_} seeds=() seconds=${FUZZ_SECONDS:-60}
		case $2 in # what is read of others' files and memory; the rest is small
		*/fuzz_store | */fuzz_arena | */fuzz_conf) ;;
		*) seconds=$(((seconds + 2) / 3)) ;;
		esac
		mkdir -p "$corpus"
		[ -d "tests/fuzz/seeds-${2##*/fuzz_}" ] && seeds=("tests/fuzz/seeds-${2##*/fuzz_}")
		[ "${2##*/}" = fuzz_conf ] && seeds=(configs)
		timeout -k 5 $((seconds + 120)) "$2" -max_total_time="$seconds" -timeout=20 \
			-rss_limit_mb=2048 -artifact_prefix="$LOGS/" -print_final_stats=1 -error_exitcode=1 -timeout_exitcode=1 \
			"$corpus" "${seeds[@]}" >"$log" 2>&1 </dev/null ;;
	*)
		limit=$(limit_of "$2")
		timeout -k 10 "$limit" "${wrap[@]}" "$2" ${3:+"$3"} >"$log" 2>&1 </dev/null
		rc=$?
		[ $rc = 124 ] || [ $rc = 137 ] && echo "stopped after $limit s" >>"$log"
		return $rc ;;
	esac
}

report() { # NAME RC SECONDS
	local log=$LOGS/${1//\//-}.log
	case $2 in
	0) echo "ok $1 ($3 s)"; passed=$((passed + 1)) ;;
	77) echo "skip $1: $(tail -n 1 "$log")"; skipped=$((skipped + 1)) ;;
	*)
		echo "FAIL $1 (status $2, $3 s)"
		tail -n 200 "$log" | sed 's/^/    /'
		failures+=("$1 (status $2)")
		failed=$((failed + 1)) ;;
	esac
}

# A script that runs tests of its own: its lines count, one more if it fails without one.
report_suite() { # NAME RC SECONDS
	local log=$LOGS/${1//\//-}.log p f s
	p=$(grep -c '^ok ' "$log")
	f=$(grep -c '^FAIL ' "$log")
	s=$(grep -c '^skip ' "$log")
	grep -E '^(ok|skip) ' "$log"
	if [ "$2" = 77 ] && [ "$p$f" = 00 ]; then
		s=$((s + 1))
		echo "skip $1: $(tail -n 1 "$log")"
	elif [ "$2" != 0 ] && [ "$f" = 0 ]; then
		f=1
	fi
	if [ "$f" -gt 0 ]; then
		echo "FAIL $1 (status $2, $3 s)"
		tail -n 300 "$log" | grep -vE '^(ok|skip) ' | sed 's/^/    /'
		failures+=("$1 (status $2)")
		while read -r _ what; do
			failures+=("$1: $what")
		done < <(grep -m 20 '^FAIL ' "$log")
	fi
	[ "$p" = 0 ] && [ "$f" = 0 ] && [ "$s" = 0 ] && {
		echo "FAIL $1: it ran no test"
		failures+=("$1: it ran no test")
		f=1
	}
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

is_suite() { case $1 in *.sh) sed -n 2,3p "$1" | grep -q '# suite' ;; *) false ;; esac; }

fuzz_all() { # two at a time: reads NAME PATH
	local name path n=0 names=() start=$SECONDS
	while read -r name path; do
		(run_one "$name" "$path"; echo $? >"$LOGS/${name//\//-}.rc") &
		names+=("$name")
		n=$((n + 1))
		[ $((n % 2)) = 0 ] && wait
	done
	wait
	for name in "${names[@]}"; do
		report "$name" "$(cat "$LOGS/${name//\//-}.rc")" $((SECONDS - start))
	done
}

tests=$(list | select_tests)
if [ -z "$tests" ]; then
	ls "tests/hazards/$T"* >/dev/null 2>&1 && tests="hazards/$T tests/hazards/run.sh $T"
	[ -f "tests/e2e/$T.c" ] && tests="e2e/$T tests/e2e/run.sh $T"
fi
if [ -z "$tests" ]; then
	echo "no test is called or contains '$T'"
	echo "0 passed, 1 failed"
	exit 1
fi
while read -r name path argument <&3; do
	case $name in fuzz/*) continue ;; esac
	start=$SECONDS
	if is_suite "$path"; then
		run_one "$name" "$path" "$argument"
		report_suite "$name" $? $((SECONDS - start))
	else
		run_one "$name" "$path" "$argument"
		report "$name" $? $((SECONDS - start))
	fi
done 3<<<"$tests"
fuzzers=$(grep '^fuzz/' <<<"$tests")
[ -n "$fuzzers" ] && fuzz_all <<<"$fuzzers"

[ $failed -gt 0 ] && printf 'failed: %s\n' "${failures[@]}"
if [ $skipped -gt 0 ]; then
	echo "$passed passed, $failed failed, $skipped skipped"
else
	echo "$passed passed, $failed failed"
fi
[ $failed = 0 ]

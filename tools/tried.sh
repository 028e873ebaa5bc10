#!/bin/sh
# SPDX-License-Identifier: MIT
# The table of programs that tarry was tried on, from the last run of tests/real:
#   B=build tools/tried.sh [--short]
# --short: one row per program, as the README has it.
# Each script there leaves lines of tab-separated fields in $B/real (tests/real/program.py).
set -u
B=${B:-build}
ls "$B"/real/*.tsv >/dev/null 2>&1 || { echo "no figures in $B/real: run make test SUITES=real first" >&2; exit 1; }
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
libc=$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)
echo "$(uname -sr), glibc $libc, $(nproc) cores of $cpu, $(date -u +%Y-%m-%d)"
echo
GROUPED='
	function grouped(n,  s) {
		for (s = ""; length(n) > 3; n = substr(n, 1, length(n) - 3))
			s = " " substr(n, length(n) - 2) s
		return n s
	}
	function part(of, all) { return all ? sprintf("%.1f %%", int(1000 * of / all) / 10) : "none" }'

if [ "${1:-}" = --short ]; then
	echo '| program | `make test T=` | load | requests: client | seen | complete paths |'
	echo '|---|---|---|--:|--:|--:|'
	cat "$B"/real/*.tsv | sort -s -t"$(printf '\t')" -k1,1 | awk -F'\t' "$GROUPED"'
		function line() {
			if (program != "")
				print "| " program " | " test " | " load " | " (client ? grouped(client) : "") " | " \
					(client ? grouped(seen) : "") " | " part(complete, due) " |"
		}
		$1 != program { line(); program = $1; test = $12; load = ""; client = seen = complete = due = 0 }
		{
			gsub(/\|/, "\\|")
			load = load (load == "" ? "" : "; ") $2
			if ($3 != "") { client += $3; seen += $4 }
			complete += $8; due += $9
		}
		END { line() }'
	exit
fi
printf '| test | program | load | requests: client | seen | events | processes | threads '
echo '| complete paths | unseen | largest wait |'
echo '|---|---|---|--:|--:|--:|--:|--:|--:|--:|---|'
for f in "$B"/real/*.tsv; do
	n=${f##*/}
	awk -F'\t' -v id="${n%.tsv}" "$GROUPED"'
		{
			gsub(/\|/, "\\|")
			print "| " id " | " $1 " | " $2 " | " ($3 == "" ? "" : grouped($3)) " | " ($3 == "" && $4 == 0 ? "" : grouped($4)) \
				" | " grouped($5) " | " $6 " | " $7 " | " part($8, $9) " | " $10 " | " $11 " |"
		}' "$f"
done

#!/bin/sh
# SPDX-License-Identifier: MIT
# make lint: layout of the files given (BASE=REVISION: also clang-format over what
# changed since), then cppcheck, codespell and sh -n over the tree.  A checker
# that is not installed is named and left out.
set -u
rc=0
have() { command -v "$1" >/dev/null 2>&1 || { echo "lint: $1 is not installed, left out"; return 1; }; }

# Tables are laid out by hand, so a whole file need not be as clang-format has it.
for f in "$@"; do
	expand -t8 "$f" | awk -v f="$f" '
		length($0) > 132 { print "lint: " f ":" NR ": longer than 132 columns"; bad = 1 }
		/[ \t]$/ { print "lint: " f ":" NR ": blanks at the end"; bad = 1 }
		END { exit bad }' || rc=1
	grep -nE '^\t*        +[^ *]' "$f" | sed "s|^|lint: $f:|; s|\$| (indent with tabs)|" | grep . && rc=1
	[ -z "$(tail -c 1 "$f")" ] || { echo "lint: $f: no newline at the end"; rc=1; }
done
if [ -n "${BASE:-}" ] && have git-clang-format; then
	git clang-format --diff -q "$BASE" -- "$@" | grep . && rc=1
fi
if have cppcheck; then
	cppcheck -q --error-exitcode=1 --enable=warning,performance,portability --inline-suppr --std=c11 \
		--suppress=missingIncludeSystem -Iinclude -I. -D_GNU_SOURCE -D__x86_64__ -DTY_VERSION='""' \
		--library=tools/cppcheck.cfg \
		common recorder analyze experiment cli || rc=1
fi
if have codespell; then
	codespell -q 3 -S ./build,./build-*,./.git -L ist,wit,atleast,tha,bu,smove || rc=1
fi
for f in tools/*.sh tests/*.sh tests/*/*.sh .ci/run; do
	[ -f "$f" ] || continue
	shell=$(sed -n '1s/.*[/ ]\(bash\|sh\)$/\1/p' "$f")
	"${shell:-bash}" -n "$f" || rc=1
done
for f in $(git ls-files '*.c' '*.h' '*.def' '*.sh' 2>/dev/null); do
	[ ! -f "$f" ] || head -3 "$f" | grep -q 'SPDX-License-Identifier: MIT' || { echo "lint: $f: no SPDX line"; rc=1; }
done
exit $rc

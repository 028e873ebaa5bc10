#!/bin/sh
# SPDX-License-Identifier: MIT
# make lint: format of the files given, then cppcheck, codespell and sh -n over
# the tree.  A checker that is not installed is named and left out.
set -u
rc=0
have() { command -v "$1" >/dev/null 2>&1 || { echo "lint: $1 is not installed, left out"; return 1; }; }

if have clang-format; then
	for f in "$@"; do
		clang-format "$f" | cmp -s - "$f" || { echo "lint: $f: not formatted (make format)"; rc=1; }
	done
fi
if have cppcheck; then
	cppcheck -q --error-exitcode=1 --enable=warning,performance,portability --inline-suppr --std=c11 \
		--suppress=missingIncludeSystem -Iinclude -I. -D_GNU_SOURCE -D__x86_64__ -DTY_VERSION='""' \
		common recorder analyze cli || rc=1
fi
if have codespell; then
	codespell -q 3 -S ./build,./build-*,./.git -L 'ist,wit' || rc=1
fi
for f in tools/*.sh tests/*.sh tests/*/*.sh .ci/run; do
	[ -f "$f" ] || continue
	shell=$(sed -n '1s/.*[/ ]\(bash\|sh\)$/\1/p' "$f")
	"${shell:-sh}" -n "$f" || rc=1
done
for f in $(git ls-files '*.c' '*.h' '*.def' '*.sh' 2>/dev/null); do
	[ ! -f "$f" ] || head -3 "$f" | grep -q 'SPDX-License-Identifier: MIT' || { echo "lint: $f: no SPDX line"; rc=1; }
done
exit $rc

#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: each docs/HOWTO_ADD_*.md is right: its steps are taken in a copy of the
# tree, which builds without a warning, and the new test passes, and fails without the
# part that it tests.
# timeout: 900
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
b=${B##*/} # that of the copy, which need not compile everything again
W=$(mktemp -d "${TMPDIR:-/tmp}/tarry-howto.XXXXXX") || exit 1
trap 'rm -rf "$W"' EXIT
FAILED=0
fail() { echo "wrong: $*"; FAILED=1; }

mkdir "$W/tree"
tar c --exclude=./.git --exclude=./build --exclude='./build-*' --exclude='*.tarry*' . | tar x -C "$W/tree"
mkdir "$W/tree/$b"
tar c -C "$B" --exclude=./test-logs --exclude=./tests --exclude=./deb . | tar x -C "$W/tree/$b"
for doc in docs/HOWTO_ADD_*.md; do
	n=$(python3 tests/docs/howto.py "$doc" "$W/tree") || { fail "$doc: cannot be done"; exit 1; }
	[ "$n" -ge 2 ] || fail "$doc: only $n steps were found"
done
cd "$W/tree" || exit 1
# as the pages say: without the part that they test, the tests fail
B="$b" tests/e2e/run.sh op_truncate >/dev/null 2>&1 && fail "op_truncate passes without a wrapper"
B="$b" bash tests/e2e/order_lifo.sh >/dev/null 2>&1 && fail "order_lifo passes without the order"
make -s -j2 B="$b" EXTRA_CFLAGS=-Werror all "$b/tests/unit/test_half" "$b/orders" >"$W/log" 2>&1 ||
	{ tail -n 30 "$W/log"; fail "it does not build"; exit 1; }

B="$b" tests/e2e/run.sh op_truncate >"$W/log" 2>&1 && grep -q '^ok .*op_truncate' "$W/log" ||
	{ cat "$W/log"; fail "the wrapped function is not recorded as its test says"; }
"$b/tests/unit/test_half" >"$W/log" 2>&1 || { cat "$W/log"; fail "the pass does not pass its test"; }
"$b/tarry" record -q -o "$W/s.tarry" -- "$b/orders" --seconds 2 >/dev/null 2>"$W/log" || { cat "$W/log"; fail "cannot record"; }
"$b/tarry" report "$W/s.tarry" | grep -Eq '^half of the variance: [0-9]+ sites?$' || fail "the report does not print what the pass found"
"$b/tarry" report --json "$W/s.tarry" | grep -Eq '"half": [1-9]' || fail "nor does its JSON"

B="$b" bash tests/e2e/order_lifo.sh >"$W/log" 2>&1 || { cat "$W/log"; fail "the order does not grant as its test says"; }
"$b/tarry" record --order lif -- true 2>&1 | grep -q "did you mean 'lifo'" || fail "the command does not know the order"

sed -i 's/while (first->peer)/while (0)/' policies/lifo.c
sed -i 's/r->half = i + 1;/r->half = i;/' analyze/half.c
make -s B="$b" all "$b/tests/unit/test_half" >"$W/log" 2>&1 || { tail -n 30 "$W/log"; fail "it does not build again"; exit 1; }
"$b/tests/unit/test_half" >/dev/null 2>&1 && fail "test_half passes with a wrong pass"
B="$b" bash tests/e2e/order_lifo.sh >/dev/null 2>&1 && fail "order_lifo passes with a wrong order"
exit $FAILED

#!/bin/sh
# SPDX-License-Identifier: MIT
# suite, timeout: 1000.  Pages of recordings that have little to show, and of one
# whose names are hostile; files that cannot be written.
. "$(dirname "$0")/lib.sh"
browser
$CC -std=gnu11 -O2 -g -D_GNU_SOURCE -pthread -o "$W/orders" "$TOP"/examples/orders/*.c -lm || { fail compile; done_; }
$CC -std=gnu11 -O2 -g -Wall -Wextra -D_GNU_SOURCE -I"$TOP/include" -pthread -o "$W/<b>hostile" "$TOP/tests/html/hostile.c" ||
	{ fail compile; done_; }
record() { n=$1; shift; "$TARRY" record -q -o "$W/$n.tarry" -- "$@" >"$W/out" 2>&1 || fail "recording $n: $(tail -n 1 "$W/out")"; }
record none "$W/orders" --requests 3 --connections 2
record nothing sh -c :
record sleep sleep 0.01
record one "$W/orders" --requests 1 --connections 1
record few "$W/orders" --requests 5 --connections 2
record hostile "$W/<b>hostile" "$W" '</title><script>window.hacked=6</script>'
page none --requests none
for s in nothing sleep one few hostile; do page $s; done
"$TARRY" report --html "$W/where.html" --where 'latency>1us' "$W/few.tarry" || fail "a page with --where"
drive stores.js "$W"

# ---- files ----
P=$W/few.html S=$W/few.tarry
exits() { # STATUS NAME COMMAND...: with one line on standard error
	want=$1 what=$2; shift 2
	"$@" >"$W/o" 2>"$W/e"
	rc=$?
	[ $rc = "$want" ] && [ -s "$W/e" ] && good "$what" || fail "$what: status $rc, $(cat "$W/e")"
}
"$TARRY" report --html - "$S" >"$W/stdout.html" && cmp -s "$W/stdout.html" "$P" && good "standard output" || fail "standard output"
exits 2 "not with --json" "$TARRY" report --html "$P" --json "$S"
exits 2 "not with --by" "$TARRY" report --html "$P" --by function "$S"
exits 2 "not with --top" "$TARRY" report --html "$P" --top 3 "$S"
exits 2 "not over the store" "$TARRY" report --html "$S" "$S"
"$TARRY" info "$S" >/dev/null && good "which is still there" || fail "the store is gone"
exits 2 "no name" "$TARRY" report --html "" "$S"
exits 1 "a folder" "$TARRY" report --html "$W" "$S"
exits 1 "no such folder" "$TARRY" report --html "$W/no/such/page.html" "$S"
exits 1 "no such store" "$TARRY" report --html "$W/new.html" "$W/no.tarry"
[ ! -e "$W/new.html" ] && good "and no page" || fail "a page of nothing"
exits 1 "a full disk" "$TARRY" report --html /dev/full "$S"
"$TARRY" report --html - "$S" >/dev/full 2>"$W/e"
rc=$?
[ $rc = 1 ] && grep -q "No space" "$W/e" && good "a full disk behind standard output" || fail "full standard output: status $rc"
"$TARRY" report --html /dev/null "$S" && [ -c /dev/null ] && good "a device stays one" || fail "/dev/null"
# what stood there stays when the new page cannot be written: the process may write only 4 KiB
cp "$P" "$W/kept.html"
(ulimit -f 4; trap '' XFSZ; "$TARRY" report --html "$W/kept.html" "$S" 2>"$W/e") && fail "wrote beyond the limit" || good "a limit of file sizes"
cmp -s "$P" "$W/kept.html" && good "the old page stays" || fail "the old page is damaged"
[ "$(find "$W" -name 'kept.html?*' | wc -l)" = 0 ] && good "nothing is left behind" || fail "left: $(ls "$W"/kept.html?*)"
# a link stays one, modes stay, a new file has those of the umask
mkdir "$W/real" && ln -s real/page.html "$W/link.html"
echo old >"$W/real/page.html" && chmod 640 "$W/real/page.html"
"$TARRY" report --html "$W/link.html" "$S" && [ -L "$W/link.html" ] && cmp -s "$W/real/page.html" "$P" &&
	[ "$(stat -c %a "$W/real/page.html")" = 640 ] && good "through a link, same modes" || fail "through a link"
(umask 027; "$TARRY" report --html "$W/mode.html" "$S") && [ "$(stat -c %a "$W/mode.html")" = 640 ] && good "the umask's modes" ||
	fail "modes $(stat -c %a "$W/mode.html")"
done_

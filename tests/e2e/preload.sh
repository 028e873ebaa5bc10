#!/bin/sh
# SPDX-License-Identifier: MIT
# suite, timeout: 120.  Plain preload: LD_PRELOAD and TARRY_STORE, no `tarry record`.
. "$(dirname "$0")/lib.sh"
build worker || done_

"$W/worker" >"$W/bare" 2>&1; rc=$?
TARRY_STORE=$W/s.tarry LD_PRELOAD=$LIB "$W/worker" >"$W/got" 2>&1; rc2=$?
same "same output and status" $rc "$W/bare" $rc2 "$W/got" && good "same output and status"
check "recording ends by itself" until_ended "$W/s.tarry"
check "store holds what the program did" expected "$W/s.tarry" "$W/bare"

# a command substitution ends when the program does, not when the recorder does
x=$(TARRY_STORE=$W/x.tarry LD_PRELOAD=$LIB timeout 20 "$W/worker" 20); rc=$?
[ $rc = 3 ] && good "command substitution" || fail "command substitution: status $rc, '$x'"
until_ended "$W/x.tarry" >/dev/null

# neither variable of ours: nothing at all happens
LD_PRELOAD=$LIB "$W/worker" >"$W/got" 2>&1; rc2=$?
same "no store, no recording" 3 "$W/bare" $rc2 "$W/got" && good "no store, no recording"

# trouble goes to STORE.log, not to the program's streams
TARRY_STORE=/proc/nowhere/s.tarry LD_PRELOAD=$LIB "$W/worker" >"$W/got" 2>&1; rc2=$?
same "unwritable store" 3 "$W/bare" $rc2 "$W/got" && good "unwritable store"

# a store that is there is not touched
cp "$W/s.tarry" "$W/copy"
TARRY_STORE=$W/s.tarry LD_PRELOAD=$LIB "$W/worker" >"$W/got" 2>&1; rc2=$?
same "used store" 3 "$W/bare" $rc2 "$W/got" && cmp -s "$W/copy" "$W/s.tarry" && good "used store is left alone" ||
	fail "used store was changed"
check "and STORE.log says so" test -s "$W/s.tarry.log"

# an exec'd program with another preload before ours
TARRY_STORE=$W/y.tarry LD_PRELOAD=libm.so.6:$LIB sh -c "\"$W/worker\" 20; exit \$?" >"$W/got" 2>&1; rc2=$?
[ $rc2 = 3 ] && good "below a shell" || fail "below a shell: status $rc2"
check "the shell's recording ends" until_ended "$W/y.tarry"
done_

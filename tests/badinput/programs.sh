#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: programs that cannot be recorded or started: a static one, one
# without an interpreter like Go's, a 32-bit one, none, one that cannot be
# executed.  Each is refused before it runs, with a line that says why.
. "$(dirname "$0")/lib.sh"

# Static, by the linker.
cat >static.c <<'C'
#include <stdio.h>
int main(void) { FILE *f = fopen("ran", "w"); return f ? fclose(f) : 1; }
C
if cc -static -o static static.c 2>/dev/null; then
	refused 1 'static' "$TARRY" record -o s.tarry -- ./static
	did_not_run static
	[ ! -e s.tarry ] || fail "a store was left for a program that was not started"
else
	echo "no static libc here"
fi

# Static and position independent has a PT_DYNAMIC but no interpreter.
if cc -static-pie -o staticpie static.c 2>/dev/null; then
	refused 1 'static' "$TARRY" record -o sp.tarry -- ./staticpie
	did_not_run static-pie
fi

# No libc at all, which is how Go programs look.
cat >nolibc.c <<'C'
void _start(void)
{
#ifdef __x86_64__
	__asm__ volatile("syscall" : : "a"(231), "D"(0) : "rcx", "r11", "memory");
#endif
	for (;;) { }
}
C
if [ "$(uname -m)" = x86_64 ] && cc -nostdlib -static -o nolibc nolibc.c 2>/dev/null; then
	refused 1 'static' "$TARRY" record -o n.tarry -- ./nolibc
fi

# Debian's static busybox, found by PATH.
if command -v busybox >/dev/null 2>&1 && ! readelf -l "$(command -v busybox)" | grep -q INTERP; then
	refused 1 'static' "$TARRY" record -o bb.tarry -- busybox touch ran
	did_not_run busybox
fi

# 32 bits.
if cc -m32 -o prog32 static.c 2>/dev/null; then
	refused 1 '32-bit' "$TARRY" record -o p32.tarry -- ./prog32
	did_not_run 32-bit
else
	echo "no 32-bit compiler here"
fi

# With so few descriptors that tarry cannot look at itself: that is said, and nothing about the program.
refused 1 'Too many open files' sh -c 'exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; exec prlimit --nofile=4 "$@"' sh \
	"$TARRY" record -o few.tarry -- touch ran
did_not_run "few descriptors"

refused 127 'no-such-command' "$TARRY" record -o m.tarry -- no-such-command
refused 127 './missing' "$TARRY" record -o m2.tarry -- ./missing
echo 'not a program' >plain
chmod 644 plain
refused 126 'plain' "$TARRY" record -o x.tarry -- ./plain
mkdir folder
refused 126 'folder' "$TARRY" record -o d.tarry -- ./folder
# Executable by its mode, but of no format that the kernel knows.
printf '\177ELFgarbage' >garbage
chmod 755 garbage
refused 126 'garbage' "$TARRY" record -o g.tarry -- ./garbage

for f in s sp n bb p32 m m2 x d g; do
	[ ! -e $f.tarry ] || fail "$f.tarry was left behind"
done
exit $FAILED

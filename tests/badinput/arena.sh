#!/bin/bash
# SPDX-License-Identifier: MIT
# Description: garbage in TARRY_ARENA, and behind it: the library stays off and
# the program's output, status and standard error are as without it.
. "$(dirname "$0")/lib.sh"

bare=$(/bin/echo hello | md5sum)
undisturbed() { # VALUE
	env LD_PRELOAD="$LIB" TARRY_ARENA="$1" timeout 20 /bin/echo hello >out 2>err
	rc=$?
	[ $rc = 0 ] && [ "$(md5sum <out)" = "$bare" ] && [ ! -s err ] ||
		fail "TARRY_ARENA=${1:0:80}: status $rc, $(head -c 200 out) $(head -c 200 err)"
}
token=00112233445566778899aabbccddeeff
undisturbed ''
undisturbed x
undisturbed :
undisturbed "/proc/1/fd/0:$token"
undisturbed "/proc/self/fd/0:$token"
undisturbed "/proc/999999999/fd/3:$token"
undisturbed "/etc/passwd:$token"
undisturbed "/proc/self/fd/1"
undisturbed "/proc/self/mem:$token"
undisturbed "$(printf '%0100000d' 0)"
undisturbed "/proc/$$/fd/9999999999999999999999:$token"
undisturbed $'\001\377\n'

# A file that looks like an arena in ever more of its first words.
exec 9<>arena
place=/proc/$$/fd/9:$token
magic='\012\124\122\101\131\012\000\000' # not the magic
for head in '' "$magic" '\n\x54\x41\x52\x52\x59\n\0' '\n\x54\x41\x52\x52\x59\n\0\x01\0\0\0' \
	'\n\x54\x41\x52\x52\x59\n\0\x01\0\0\0\0\0\0\0\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff'; do
	for size in 0 10 4096 100000 20000000; do
		truncate -s 0 arena
		truncate -s $size arena
		# shellcheck disable=SC2059 # escapes are meant
		[ $size = 0 ] || printf "$head" | dd of=arena conv=notrunc 2>/dev/null
		undisturbed "$place"
		# the same with noise behind it
		[ $size -lt 100 ] || head -c $((size - 100)) /dev/urandom |
			dd of=arena bs=65536 oflag=seek_bytes seek=100 conv=notrunc 2>/dev/null
		undisturbed "$place"
	done
done
exit $FAILED

#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 240.  Beside other libraries that replace libc's functions: allocators, linked and
# preloaded; fakeroot, whose commands talk to a daemon; faketime, which changes the clocks.
. "$(dirname "$0")/lib.sh"
find_library() { ldconfig -p | awk -v n="$1" '$1 == n { print $NF; exit }'; }

${CC:-cc} -std=gnu11 -O2 -g -pthread -o "$W/churn" "$CHECKS/programs/churn.c" || give_up "churn.c"
for package in libjemalloc2/libjemalloc.so.2 libtcmalloc-minimal4/libtcmalloc_minimal.so.4 \
	libmimalloc2.0/libmimalloc.so.2; do
	name=${package##*/}
	lib=$(find_library "$name")
	[ -n "$lib" ] || { echo "skip $name: it is not installed"; continue; }
	short=${name%%.so*} short=${short#lib}
	says="$short $(version "${package%/*}")"
	${CC:-cc} -std=gnu11 -O2 -g -pthread -o "$W/linked" "$CHECKS/programs/churn.c" -Wl,--no-as-needed "$lib" ||
		give_up "churn.c with $name"
	both "$short, linked" "$W/linked"
	judge "$short" "$says" "6 threads free each other's blocks, fork; linked" \
		--site pthread_mutex_lock --processes 2 --complete 0.99
	export LD_PRELOAD=$lib
	both "$short, preloaded" "$W/churn"
	unset LD_PRELOAD
	judge "$short-preloaded" "$says" "6 threads free each other's blocks, fork; preloaded" \
		--site pthread_mutex_lock --processes 2 --complete 0.99
done

if command -v fakeroot >/dev/null; then
	mkdir "$W/tree"
	echo x >"$W/tree/a"
	cat >"$W/fake" <<-'S'
		id -u
		cp -r "$1" t && chown -R 12:34 t && chmod 4711 t/a
		stat -c '%u %g %a' t/a
		tar cf t.tar t && tar tvf t.tar --numeric-owner | awk '{ print $1, $2, $NF }'
		/usr/bin/python3 -c 'import threading, os
		ts = [threading.Thread(target=os.chown, args=("t/a", 5, 6)) for _ in range(8)]
		[t.start() for t in ts]; [t.join() for t in ts]; print(os.stat("t/a").st_uid)'
	S
	both fakeroot fakeroot sh "$W/fake" "$W/tree"
	judge fakeroot "fakeroot $(version fakeroot)" "chown, tar, 8 threads" --processes 10
else
	echo "skip fakeroot: it is not installed"
fi
if command -v faketime >/dev/null; then
	cat >"$W/clock" <<-'S'
		date -u +%F
		perl -MPOSIX -e 'print strftime("%Y\n", gmtime); select(undef, undef, undef, 0.02); print time - $^T < 100, "\n"'
		sleep 0.05
	S
	both faketime faketime '2001-02-03 04:05:06' sh "$W/clock"
	judge faketime "libfaketime $(version libfaketime)" "a clock of 2001: date, perl, sleep" --processes 3
else
	echo "skip faketime: it is not installed"
fi
exit $FAILED

#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 240.  Rust and C++ programs, linked by GNU ld and by LLD, whose layout of segments
# and unwind tables is another.  libunwind 1.6 stops early in LLD's ("shorter").  No stack may differ.
. "$(dirname "$0")/lib.sh"
printf 'self_check: 1/8\nmin_path: 0\n' >"$CONF"
for linker in bfd lld; do
	command -v ld.$linker >/dev/null || { echo "skip $linker: ld.$linker is not installed"; continue; }
	if command -v rustc >/dev/null; then
		rustc -O -g -C link-arg=-fuse-ld=$linker -o "$W/rust" "$CHECKS/programs/waits.rs" >"$W/cc" 2>&1 ||
			give_up "waits.rs: $(tail -3 "$W/cc")"
		both "Rust by $linker" "$W/rust"
		judge rust-$linker "Rust $(rustc --version | cut -d' ' -f2)" "channels, Mutex, Condvar, RwLock; linked by $linker" \
			--top futex_wait --site fdatasync --checked 200
	else
		echo "skip Rust: rustc is not installed"
	fi
	${CXX:-g++} -std=gnu++20 -O2 -g -pthread -fuse-ld=$linker -o "$W/cxx" "$CHECKS/programs/waits.cc" >"$W/cc" 2>&1 ||
		give_up "waits.cc: $(tail -3 "$W/cc")"
	both "C++ by $linker" "$W/cxx"
	judge cxx-$linker "libstdc++ $(version libstdc++6)" "queue, shared_mutex, futures, atomics; linked by $linker" \
		--site pthread_cond_wait --site futex_wait --checked 50
done
exit $FAILED

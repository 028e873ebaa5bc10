#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 240.  Runtimes that wait in ways of their own: the master locks of OCaml and Ruby,
# Erlang's schedulers, and libgomp, whose futexes do not pass through libc and which the recording
# must say it cannot see.
. "$(dirname "$0")/lib.sh"
if command -v ocamlfind >/dev/null || command -v ocamlopt >/dev/null; then
	cp "$CHECKS/programs/waits.ml" "$W"
	(cd "$W" && ocamlopt -g -I +threads unix.cmxa threads.cmxa -o ocaml waits.ml) >"$W/cc" 2>&1 ||
		give_up "waits.ml: $(tail -3 "$W/cc")"
	both OCaml "$W/ocaml"
	judge ocaml "OCaml $(ocamlopt -version)" "6 threads: compute, condition, pipe" \
		--top pthread_cond_wait,select --checked 20
else
	echo "skip OCaml: ocamlopt is not installed"
fi
${CC:-cc} -std=gnu11 -O2 -g -fopenmp -o "$W/openmp" "$CHECKS/programs/openmp.c" >"$W/cc" 2>&1 &&
	{
		export OMP_WAIT_POLICY=passive
		both OpenMP "$W/openmp"
		judge openmp "libgomp $(version libgomp1)" "loops, barriers, critical, tasks on 6 threads" \
			--complete 0.99 --checked 10 --says "OpenMP (libgomp)"
	} || echo "skip OpenMP: $(tail -1 "$W/cc")"
if command -v ruby >/dev/null; then
	both Ruby ruby "$CHECKS/programs/waits.rb"
	judge ruby "Ruby $(ruby -e 'print RUBY_VERSION')" "11 threads, fibers, a child" --processes 2 \
		--site pthread_cond_wait --checked 20
else
	echo "skip Ruby: it is not installed"
fi
if command -v erlc >/dev/null; then
	erlc -o "$W" "$CHECKS/programs/waits.erl" >"$W/cc" 2>&1 || give_up "waits.erl: $(tail -3 "$W/cc")"
	both Erlang erl -noshell -pa "$W" -run waits main
	judge erlang "Erlang/OTP $(version erlang-base)" "8 processes: timers, messages, files" --site futex_wait --checked 20
else
	echo "skip Erlang: it is not installed"
fi
exit $FAILED

#!/bin/sh
# SPDX-License-Identifier: MIT
# suite, timeout: 300.  The queue before a mutex's gate, all ways in which threads can meet (tests/model/gate.pml).
MODEL=gate
. "$(dirname "$0")/lib.sh"
model "three callers, twice each" -DCALLERS=3 -DCALLS=2
sound "three callers, twice each"
model "four callers" -DCALLERS=4 -DCALLS=1
sound "four callers"
for m in 1 2 3; do
	model "mistake $m" -DCALLERS=3 -DCALLS=1 -DMISTAKE=$m
	check "a queue that mistake $m leaves without a head is found" grep -q 'invalid end state (at' "$W/mistake $m.out"
done
done_

#!/bin/sh
# SPDX-License-Identifier: MIT
# suite, timeout: 300.  The queue of shared flushes, all ways in which callers can meet (tests/model/coalesce.pml).
MODEL=coalesce
. "$(dirname "$0")/lib.sh"
model "three callers, twice each" -DCALLERS=3 -DCALLS=2
sound "three callers, twice each"
model "four callers" -DCALLERS=4 -DCALLS=1
sound "four callers"
model mistake -DCALLERS=3 -DCALLS=1 -DMISTAKE
check "a group that is taken after the flush began is found" grep -q 'assertion violated.*served' "$W/mistake.out"
done_

#!/bin/sh
# SPDX-License-Identifier: MIT
# suite.  What the library's ELF file says: dependencies, TLS, stack, exported names against
# the table, and the table against libc's own names.
. "$(dirname "$0")/lib.sh"
$PY "$TOP/tests/e2e/exports.py" "$LIB" "$TOP/include/tarry/wrap.def" || FAILED=1
done_

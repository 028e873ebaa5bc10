#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 400.  captured.c, and those of op_*.c that receive, send or hand descriptors on, with captured bytes.
CONFIG=$(mktemp "${TMPDIR:-/tmp}/tarry-conf.XXXXXX") || exit 1
trap 'rm -f "$CONFIG"' EXIT
export CONFIG
printf 'capture_bytes: 32\n' >"$CONFIG"
[ $# -gt 0 ] || set -- captured op_accept op_copy op_dup_close op_eventfd op_exec op_fork op_fork_handler op_fortify op_lfs op_poll \
	op_read op_socket op_thread_names op_write
"$(dirname "$0")/run.sh" "$@"

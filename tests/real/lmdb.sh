#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 120.  Writers of one LMDB environment in one process and in two.
. "$(dirname "$0")/lib.sh"
${CC:-cc} -std=gnu11 -O2 -g -o "$W/lmdb_writers" "$CHECKS/programs/lmdb_writers.c" -llmdb -pthread ||
	give_up "lmdb_writers.c"
for processes in 1 2; do
	both "LMDB, $processes processes" "$W/lmdb_writers" . "$processes" 4 250
	judge lmdb-$processes "LMDB $(version liblmdb0)" "4 writers in each of $processes processes" --top pthread_mutex_lock \
		--site fdatasync --processes "$processes" --complete 0.999 --checked 50
	explain
done
exit $FAILED

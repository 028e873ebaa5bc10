#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 180.  A JVM: monitors, parking, sleeping and a file.  What the JIT compiled has no
# unwind tables, so paths are cut there.
. "$(dirname "$0")/lib.sh"
need java javac
javac -d "$W" "$CHECKS/programs/Waits.java" || give_up "Waits.java"
both java java -cp "$W" -Xmx64m Waits
judge java "OpenJDK $(version openjdk-17-jre-headless)" "monitors, parking, sleep, sync" \
	--top pthread_cond_wait,pthread_cond_timedwait --site fsync --checked 50
exit $FAILED

#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 120.  A thread's times are read once more when its process has ended: the
# recorded waits of the window are then all its waits, also the last ones.
. "$(dirname "$0")/lib.sh"
threads() { "$TARRY" info --json "$1" 2>/dev/null | $PY -c 'import json, sys; print(len(json.load(sys.stdin)["threads"]))' 2>/dev/null; }
mkfifo "$W/fifo"
for round in 1 2 3 4 5 6; do
	"$TARRY" record -q -o "$W/$round.tarry" -- cat "$W/fifo" >/dev/null 2>"$W/err" &
	i=0
	until [ "$(threads "$W/$round.tarry")" = 1 ]; do # it waits in open, which is no recorded wait
		i=$((i + 1))
		[ $i -lt 300 ] || { fail "round $round: no thread is seen: $(head -1 "$W/err")"; done_; }
		sleep 0.05
	done
	for n in 1 2 3 4 5; do echo $n; sleep 0.01; done >"$W/fifo"
	wait $! || fail "round $round: $(head -1 "$W/err")"
	check "round $round: the last waits are in the thread's window" $PY - "$TARRY" "$W/$round.tarry" <<-'P'
		import json, subprocess, sys
		out = lambda *a: subprocess.run([sys.argv[1], *a, sys.argv[2]], check=True, stdout=subprocess.PIPE).stdout
		thread, = json.loads(out("info", "--json"))["threads"]
		waits = [e for e in map(json.loads, out("dump", "--json").splitlines()) if e.get("kind") == "wait"]
		total = sum(e["duration_ns"] for e in waits)
		print(len(waits), "waits,", total, "ns; in the window", thread["waits_ns"])
		sys.exit(len(waits) < 6 or thread["waits_ns"] != total)
	P
done
done_

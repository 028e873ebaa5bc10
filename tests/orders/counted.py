# SPDX-License-Identifier: MIT
# usage: tarry info --json STORE | counted.py ORDER
# Of a recording of the stress test: did the order choose, of each kind of object,
# and was nobody missed?  "ok" and "FAIL" lines.
import json
import sys

order = sys.argv[1]
kinds = {"pthread_cond": "cond", "cnd": "cond", "pthread_mutex": "mutex", "mtx": "mutex", "pthread_rwlock": "rwlock"}
sums = {kind: dict.fromkeys(("waits", "grants", "choices", "reordered", "forced", "bounded", "native"), 0)
        for kind in ("cond", "mutex", "rwlock")}
for o in json.load(sys.stdin)["orders"]["objects"]:
    kind = kinds[o["operation"].rsplit("_", 1)[0]]
    for what in sums[kind]:
        sums[kind][what] += o[what]


def check(what, right):
    print(f"{'ok  ' if right else 'FAIL'} {order}: {what}")


for kind, n in sums.items():
    check(f"{kind}: {', '.join(f'{count} {what}' for what, count in n.items())}",
          n["grants"] > 0 and n["choices"] > 0 and (n["reordered"] > 0) == (order != "fcfs"))
check("nobody was missed", not any(n["bounded"] for n in sums.values()))

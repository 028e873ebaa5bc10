# SPDX-License-Identifier: MIT
# What explains a real recording must hold together: who ended the waits, the tree, the tail.
#   explain.py TARRY STORE [least part of the contended waits whose ender is named]
import json
import subprocess
import sys

TARRY, STORE = sys.argv[1:3]
NAMED = float(sys.argv[3]) if len(sys.argv) > 3 else 0.9
failed = 0


def check(ok, what):
    global failed
    print(("ok   " if ok else "FAIL ") + what)
    failed |= not ok


def tarry(*args):
    return json.loads(subprocess.run([TARRY, *args, "--json", STORE], check=True, stdout=subprocess.PIPE).stdout)


def near_one(x):
    return x is not None and abs(x - 1) < 1e-9


blame = tarry("blame")
for name in "mutex", "sem", "futex":
    c = blame["classes"].get(name)
    if c and c["total_ns"]:
        part = c["named_ns"] / c["total_ns"]
        check(part >= NAMED, f"who ended it is named for {100 * part:.1f} % of {c['total_ns'] / 1e9:.3g} s in {c['waits']} waits: {name}")
requests = blame["requests"] and blame["requests"]["count"]
if requests:
    check(near_one(blame["requests"]["share_sum"]), f"shares of waiters and holders sum to {blame['requests']['share_sum']:.12f}")
    tree = tarry("tree")
    check(tree["checked"] > 0 and abs(tree["residual"]) < 1e-9,
          f"tree: {tree['checked']} parents are the sum of their parts, to {tree['residual']:.1e} of the root's variance")
    tail = tarry("tail")
    check(tail["share_sum"] is None or near_one(tail["share_sum"]), f"causes of the tail sum to {tail['share_sum']}")
sys.exit(failed)

# SPDX-License-Identifier: MIT
# usage: expect.py TARRY STORE <FACTS
# Checks the "expect" lines of a test program (e2e.h) against the store; other
# lines are ignored.  "expect OP count 0" prints the number of waits instead.
import json
import subprocess
import sys

TARRY, STORE = sys.argv[1:3]


def lines(*args):
    return subprocess.run([TARRY, *args, STORE], check=True, stdout=subprocess.PIPE).stdout.decode()


info = json.loads(lines("info", "--json"))
events = [json.loads(l) for l in lines("dump", "--json", "--paths").splitlines()]
fast = {o["operation"]: o["fast_calls"] for o in info["operations"]}
by_op = {}
for e in events:
    if e["kind"] != "mark":
        by_op.setdefault(e["operation"], []).append(e)
marks = [e for e in events if e["kind"] == "mark"]
failed = 0


def functions(e):
    return {f["function"] for f in e["path"]} | {e["function"]}


def store_fact(what, arg):
    if what == "thread":
        return int(any(t["name"] == arg for t in info["threads"])), 1
    return len(info[what]), int(arg)


def fact(op, what, args):
    """-> found, wanted"""
    waits = [e for e in by_op.get(op, []) if e["kind"] == "wait"]
    want = int(args[-1])
    if what == "waits":
        return len(waits), want
    if what == "fast":
        return fast.get(op, 0), want
    if what in ("waits+fast", "calls"):
        return len(waits) + fast.get(op, 0), want
    if what == "wakes":
        return sum(e["kind"] == "wake" for e in by_op.get(op, [])), want
    if what == "objects":
        return len({(e["fd"], e["object"]) for e in waits}), want
    if what == "errno":
        return sum(e["error"] == args[0] for e in waits), want
    if what == "sum":
        return sum(e["aux"] for e in waits if not e["errno"]), want
    if what == "path":
        return sum(args[0] in functions(e) for e in by_op.get(op, [])), want
    if what == "atleast":
        return sum(e["duration_ns"] >= int(args[0]) for e in waits), want
    if what == "shared":
        return sum("shared" in e["flags"] for e in waits), want
    if op == "mark":
        return sum(e["mark"] == what for e in marks), want
    raise ValueError(f"unknown fact {op} {what}")


for line in sys.stdin:
    word = line.split()
    if not word or word[0] != "expect":
        continue
    op, what, args = word[1], word[2], word[3:]
    if what == "count":
        print(sum(e["kind"] == "wait" for e in by_op.get(op, [])))
        continue
    # a machine may hold any call up, so more may be long than must be
    at_least = what.endswith("-from") or what == "atleast"
    what = what.removesuffix("-from")
    if op == "store":
        found, want = store_fact(what, args[0])
    elif op == "class":
        name = " ".join(word[2:-1])
        found, want = sum(e["mark"] == "begin" and e["label"] == name for e in marks), int(word[-1])
    elif op == "found":
        name = " ".join(word[2:-1])
        found, want = sum(e["mark"] == "class" and e["label"] == name for e in marks), int(word[-1])
    else:
        found, want = fact(op, what, args)
    if found < want if at_least else found != want:
        print(f"{line.strip()}: found {found}")
        failed = 1

bad = {k: v for k, v in info["losses"].items()
       if v and k in ("ring_full", "path_dropped", "bad_record", "no_memory", "store_full", "store_behind", "clock", "no_slot")}
if bad:
    print(f"losses {bad}")
    failed = 1
for e in events:
    if e["kind"] != "mark" and e["end_ns"] < e["begin_ns"]:
        print("ends before it begins:", e)
        failed = 1
sys.exit(failed)

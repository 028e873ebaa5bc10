# SPDX-License-Identifier: MIT
# What a recording of any program must hold, and what it adds to the table of
# programs that tarry was tried on: one line of tab-separated fields (tools/tried.sh).
import argparse
import json
import os
import subprocess
import sys

NO_LOSS = {"open_waits", "open_ns", "nested", "stragglers", "stack_dropped"}  # the last: samples of the self-check
OF_PATHS = {"no_stack", "cut", "miss"}  # printed as paths that are not complete

arg = argparse.ArgumentParser()
arg.add_argument("tarry")
arg.add_argument("store")
arg.add_argument("--row", help="file to write")
arg.add_argument("--test", default="", help="name of the test that does this")
arg.add_argument("--program", required=True, help="name and version")
arg.add_argument("--load", default="")
arg.add_argument("--window", nargs=2, type=int, help="FROM TO, CLOCK_MONOTONIC ns, of what the client counted")
arg.add_argument("--client", type=int, help="requests that the client counted")
arg.add_argument("--extra", type=int, default=0, help="requests beyond: TLS handshakes, greetings")
arg.add_argument("--extra-most", type=int, help="the client does not know exactly how many: up to so many beyond")
arg.add_argument("--batch", action="store_true", help="pipelined: requests are batches, at most as many")
arg.add_argument("--rule", default="auto")
arg.add_argument("--top", default="", help="operations, with commas, one of which must be the largest")
arg.add_argument("--in-requests", action="store_true", help="largest by time inside requests")
arg.add_argument("--site", action="append", default=[], help="operation that must be among the ten largest by time")
arg.add_argument("--complete", type=float, help="least part of the paths that is complete")
arg.add_argument("--processes", type=int, help="least number")
arg.add_argument("--checked", type=int, default=0, help="least number of stacks that the self-check compared")
arg.add_argument("--says", help="what must be among the parts that cannot be seen")
A = arg.parse_args()
failed = 0


def check(ok, what):
    global failed
    print(("ok   " if ok else "FAIL ") + f"{A.program}, {A.load}: {what}")
    failed |= not ok


def tarry(*args):
    return json.loads(subprocess.run([A.tarry, *args, A.store], check=True, stdout=subprocess.PIPE).stdout)


def check_losses(info, report):
    lost = {k: v for d in (info["losses"], report["losses"]) for k, v in d.items() if v and k not in NO_LOSS | OF_PATHS}
    check(not lost, f"losses {lost}" if lost else "nothing lost")


def check_requests(report):
    n, want = report["requests"]["count"], A.client + A.extra
    most = want + (A.extra_most or 0)
    slack = 0.001 * A.client
    least = 1 if A.batch else want - slack
    off = 100 * (n - A.client) / A.client if A.client else 0
    check(least <= n <= most + slack, f"requests {n}, client {A.client} ({off:+.3f} %)")
    check(report["requests"]["overlap"] == 0, f"overlap {report['requests']['overlap']}")


def largest(report):
    """The site that a reader sees first, and its time."""
    key = "total_ns" if A.in_requests else "total_all_ns"
    if not report["sites"]:
        return "no waits"
    s = max(report["sites"], key=lambda x: x[key])
    return f"{s['operation']} in {s['function'] or '?'}, {s[key] / 1e9:.3g} s"


def by_operation(report, key):
    sums = {}
    for s in report["sites"]:
        sums[s["operation"]] = sums.get(s["operation"], 0) + s[key]
    ops = sorted(sums, key=lambda k: -sums[k])[:10]
    return ops, ", ".join(f"{k} {sums[k] / 1e9:.3g} s" for k in ops[:5])


def check_sites(report):
    if A.top:
        ops, said = by_operation(report, "total_ns" if A.in_requests else "total_all_ns")
        check(ops and ops[0] in A.top.split(","), f"largest waits{' of requests' * A.in_requests}: {said}")
    ops, said = by_operation(report, "total_all_ns")
    for name in A.site:
        check(name in ops, f"{name} is among the largest waits: {said}")
    return largest(report)


def check_paths(report, info):
    p = report["coverage"]["paths"]
    due = p["complete"] + p["cut"] + p["leaf"] + p["miss"]
    what = f"{p['complete']} of {due} paths are complete, {p['cut']} cut, {p['leaf']} leaf, {p['miss']} miss"
    check(A.complete is None or due > 0 and p["complete"] >= A.complete * due, what)
    c = info["self_check"]
    check(c["differ"] == 0 and c["agree"] + c["shorter"] >= A.checked,
          f"self-check: {c['agree']} agree, {c['shorter']} shorter, {c['differ']} differ, "
          f"{info['losses'].get('stack_dropped', 0)} more found no room")
    return p["complete"], due


info = tarry("info", "--json")
span = ("--from", str(A.window[0]), "--to", str(A.window[1])) if A.window else ()
report = tarry("report", "--json", "--requests", A.rule, *span)
running = [p["command"] for p in info["processes"] if not p["ended"]]
check(info["state"] == "complete" and not running,
      f"recording of {len(info['processes'])} processes is {info['state']}{', not ended: ' * bool(running)}{running or ''}")
if A.processes:
    check(len(info["processes"]) >= A.processes, f"{len(info['processes'])} processes, at least {A.processes} wanted")
check_losses(info, report)
if A.says:
    said = "; ".join(info["coverage"]["unseen"])
    check(A.says in said, f"cannot be seen: {said}")
if A.client is not None:
    check_requests(report)
top = check_sites(report)
complete, due = check_paths(report, info)
u = report["coverage"]["unseen"]
unseen = f"{100 * u['unseen_ns'] / u['wall_ns']:.1f} %" if u["threads"] else "not known"
print(f"     unseen waiting: {unseen} of {u['wall_ns'] / 1e9:.3g} s in {u['threads']} threads")
if A.row:
    os.makedirs(os.path.dirname(A.row), exist_ok=True)
    row = (A.program, A.load, "" if A.client is None else A.client, report["requests"]["count"], info["events"],
           len(info["processes"]), len(info["threads"]), complete, due, unseen, top, A.test)
    with open(A.row, "w") as f:
        f.write("\t".join(map(str, row)) + "\n")
sys.exit(failed)

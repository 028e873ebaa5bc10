# SPDX-License-Identifier: MIT
# What a recording of a real program must hold.  Times are CLOCK_MONOTONIC ns.
import argparse
import json
import os
import subprocess
import sys
from kernel import inside, kernel_calls, whole

arg = argparse.ArgumentParser()
arg.add_argument("tarry")
arg.add_argument("store")
arg.add_argument("--few", nargs=3, type=int, help="FROM TO COUNT: a short run with the same number of connections")
arg.add_argument("--main", nargs=3, type=int, help="FROM TO COUNT: the run that counts")
arg.add_argument("--failed", nargs=2, type=int, default=[0, 0], help="statements that failed, which the client does not count")
arg.add_argument("--top", help="operation that must have the largest share of the variance")
arg.add_argument("--site", action="append", default=[], help="operation that must be among the ten largest by time")
arg.add_argument("--paths-only", action="store_true")
arg.add_argument("--trace", help="the kernel's trace of the server in the main window")
A = arg.parse_args()
failed = 0
SETTLED = 2000000000  # ns after which every module's rows are published


def check(ok, what):
    global failed
    print(("ok   " if ok else "FAIL ") + what)
    failed |= not ok


def tarry(*args):
    return json.loads(subprocess.run([A.tarry, *args, A.store], check=True, stdout=subprocess.PIPE).stdout)


def report(a, b):
    return tarry("report", "--json", "--from", str(a), "--to", str(b))


def check_paths(r, what):
    p = r["coverage"]["paths"]
    due = p["complete"] + p["cut"] + p["leaf"] + p["miss"]
    check(due > 0 and p["complete"] >= 0.999 * due, f"{what}: {p['complete']} of {due} paths are complete {p}")


def check_selfcheck(info):
    c = info["self_check"]
    check(c["agree"] > 0 and c["differ"] == 0, f"self-check {c}")


def check_losses(r):
    lost = {k: v for k, v in r["losses"].items() if v and k not in ("open_waits", "open_ns", "nested", "stragglers")}
    lost.pop("stack_dropped", 0)  # samples of the self-check, for which others leave no room
    bad = {k: v for k, v in lost.items() if k not in ("no_stack", "cut", "miss")}
    check(not bad, f"losses {lost}")


def check_requests():
    few, main = report(*A.few[:2]), report(*A.main[:2])
    extra = few["requests"]["count"] - A.few[2] - A.failed[0]
    n, want = main["requests"]["count"], A.main[2] + A.failed[1] + extra
    check(extra >= 0, f"{extra} requests of all connections are not statements")
    slack = 0.001 * A.main[2]
    check(want - slack <= n <= want + slack,
          f"requests {n}, client {A.main[2]} + {A.failed[1]} failed + {extra} ({100 * (n - want) / A.main[2]:+.3f} %)")
    check(main["requests"]["overlap"] == 0, f"overlap {main['requests']['overlap']}")
    total = sum(s["share"] for s in main["sites"]) + main["running"]["share"] + main["held_up"]["share"]
    check(abs(total - 1) < 1e-9, f"shares sum to {total:.12f}")
    by_op = {}
    for s in main["sites"]:
        by_op[s["operation"]] = by_op.get(s["operation"], 0) + s["share"]
    top = sorted(by_op.items(), key=lambda kv: -kv[1])[:5]
    check(top[0][0] == A.top, "largest shares: " + ", ".join(f"{k} {100 * v:.1f} %" for k, v in top))
    deep = max((s for s in main["sites"] if s["operation"] == A.top), key=lambda s: s["share"])
    names = [f["function"] or f"{os.path.basename(f['module'] or '?')}+{f['offset']}" for f in deep["path"]]
    check(len(names) >= 5 and deep["path_kind"] == "complete", f"its path has {len(names)} frames: " + " < ".join(names[:12]))
    check_paths(main, "main run")
    check_losses(main)


# ---- the kernel's totals ----
LOCKS = {"mutex", "rwlock", "cond", "sem", "barrier", "thread", "futex"}
CALL = {  # system call -> our operations
    "fsync": {"fsync", "syscall:fsync"}, "fdatasync": {"fdatasync", "syscall:fdatasync"},
    "pwrite64": {"pwrite", "pwrite64", "__pwrite64"}, "pread64": {"pread", "pread64", "__pread64", "__pread_chk", "__pread64_chk"},
    "write": {"write", "__write", "eventfd_write"}, "read": {"read", "__read", "__read_chk", "eventfd_read"},
    "sendto": {"send", "__send", "sendto"}, "recvfrom": {"recv", "__recv_chk", "recvfrom", "__recvfrom_chk"},
    "poll": {"poll", "__poll", "__poll_chk"}, "ppoll": {"ppoll", "__ppoll_chk"}, "epoll_wait": {"epoll_wait"},
    "clock_nanosleep": {"nanosleep", "__nanosleep", "clock_nanosleep", "usleep", "sleep", "thrd_sleep"},
}
WAY = 40000  # ns a call that the caller may see more of than the kernel's tracepoints; way.sh measures them against its own clock


def our_calls(a, b):
    name_of = {op: call for call, ops in CALL.items() for op in ops}
    p = subprocess.Popen([A.tarry, "dump", "--json", "--from", str(a), "--to", str(b), A.store], stdout=subprocess.PIPE)
    for line in p.stdout:
        e = json.loads(line)
        if e.get("kind") != "wait":
            continue
        name = "futex" if e["class"] in LOCKS else name_of.get(e["operation"])
        if name:
            yield name, e["begin_ns"], e["end_ns"]
    check(p.wait() == 0, "tarry dump")


def check_kernel():
    if not A.trace or not os.path.exists(A.trace):
        return
    if not whole(A.trace):
        return
    calls = list(kernel_calls(A.trace))
    if not calls:
        print("skip kernel's totals: the trace is empty")
        return
    a = max(min(c[1] for c in calls), A.main[0]) + 300000000  # well inside of both
    b = min(max(c[2] for c in calls), A.main[1]) - 300000000
    edge = 200000
    n, ns = inside(calls, a, b)
    alone = inside(kernel_calls(A.trace, False), a, b)[1]
    least, most = inside(calls, a + edge, b - edge)[0], inside(calls, a - edge, b + edge)[0]
    m, ms = inside(our_calls(a, b), a, b)
    all_ns = sum(ns.values())
    for name in sorted(ns, key=lambda k: -ns[k]):
        if ns[name] < 0.01 * all_ns:
            continue
        ours = ms.get(name, 0)
        off = ours - ns[name]
        # a switch soon after the end may belong to the call or to what the program did next: the truth lies between
        between = alone.get(name, 0) <= ours <= ns[name]
        check(between or abs(off) <= 0.02 * ns[name] or 0 <= off <= WAY * n[name],
              f"{name}: {ours / 1e9:.3f} s, kernel {alone.get(name, 0) / 1e9:.3f} s, with switches on the way back "
              f"{ns[name] / 1e9:.3f} s ({100 * off / ns[name]:+.2f} %, {off / n[name] / 1e3:+.1f} us a call)")
        if name != "futex":  # a lock may sleep several times
            check(least.get(name, 0) <= m.get(name, 0) <= most.get(name, 0),
                  f"{name}: {m.get(name, 0)} calls, kernel {n[name]} ({least.get(name, 0)} to {most.get(name, 0)})")


info = tarry("info", "--json")
check_selfcheck(info)
if A.paths_only:
    whole = tarry("report", "--json")
    start = whole["tarry"]["start_ns"]
    r = report(start + SETTLED, whole["tarry"]["to_ns"])
    check_paths(r, "after two seconds")
    check_losses(r)
    ops = sorted(whole["operations"], key=lambda o: -o["total_ns"])[:10]
    for name in A.site:
        check(any(o["operation"] == name for o in ops), f"{name} is among {', '.join(o['operation'] for o in ops)}")
else:
    check_requests()
    check_kernel()
sys.exit(failed)

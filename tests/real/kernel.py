# SPDX-License-Identifier: MIT
# What the kernel's tracepoints say about system calls (trace_begin in lib.sh).
import os
import re

LINE = re.compile(r"-(\d+)\s+\[\d+\].*?\s(\d+)\.(\d{6}): (?:sys_(\w+?)(\(| -> )|sched_switch: )(.*)$")
SWITCH = re.compile(r"prev_pid=(\d+) .*==> .*next_pid=(\d+) ")
WAITING = {0, 6, 9, 11, 13}  # futex operations that may sleep
ON_THE_WAY = 20000  # ns from the end of a call to a switch that belongs to the return from it


def kernel_calls(path, way_back=True):
    """Finished system calls as the caller sees them: (name, begin, end), times in ns.

    The kernel gives the CPU away after the point where it traces the end of a
    call and before it returns: a thread that wakes another one by send() comes
    back when that one has run.  So the time until it runs again belongs to it;
    way_back=False leaves it out.
    """
    begun, ended = {}, {}  # by thread; ended: [name, begin, end, switched out]
    for line in open(path, errors="replace"):
        m = LINE.search(line)
        if not m:
            continue
        tid, sec, us, name, kind, rest = m.groups()
        when = (int(sec) * 1000000 + int(us)) * 1000
        if name is None:
            s = SWITCH.search(rest)
            out, into = s.groups() if s else ("", "")
            if way_back and out in ended and when - ended[out][2] <= ON_THE_WAY:
                ended[out][3] = True
            if into in ended and ended[into][3]:
                ended[into][2:] = [when, False]
        elif kind == "(":
            if tid in ended:
                yield tuple(ended.pop(tid)[:3])
            op = re.search(r"op: ([0-9a-f]+)", rest) if name == "futex" else None
            begun[tid] = (name, when, int(op.group(1), 16) & 0x7f if op else None)
        elif tid in begun and begun[tid][0] == name:
            _, from_, op = begun.pop(tid)
            if op is None or op in WAITING:
                ended[tid] = [name, from_, when, False]
    for e in ended.values():
        yield tuple(e[:3])


def inside(calls, a, b):
    n, ns = {}, {}
    for name, x, y in calls:
        if a <= x and y <= b:
            n[name] = n.get(name, 0) + 1
            ns[name] = ns.get(name, 0) + y - x
    return n, ns


def whole(path):
    """False, and says so, when the trace's buffer was too small."""
    lost = open(os.path.join(os.path.dirname(path), "trace.lost")).read()
    if re.search(r"overrun: [1-9]", lost):
        print("skip kernel's totals: its buffer was too small")
        return False
    return True

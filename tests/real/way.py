#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Three clocks on the same send calls: the program's own, tarry's, the kernel's tracepoints.

    way.py PROGRAM'S-OUTPUT [--tarry TARRY STORE] [--trace FILE]

What the program sees must be what tarry says.  The kernel's totals are printed
beside it: what they leave out is on the way from its last tracepoint to the caller.
"""
import argparse
import json
import subprocess
import sys
from kernel import inside, kernel_calls, whole

arg = argparse.ArgumentParser()
arg.add_argument("program")
arg.add_argument("--tarry", nargs=2)
arg.add_argument("--trace")
A = arg.parse_args()
failed = 0
calls, own = [int(x) for x in open(A.program).read().split("send ")[1].split()]
print(f"     the program: {calls} sends, {own / 1e9:.3f} s, {own / calls / 1e3:.2f} us a call")
if A.tarry:
    p = subprocess.run([A.tarry[0], "report", "--by", "operation", "--json", A.tarry[1]], stdout=subprocess.PIPE, check=True)
    op = next(o for o in json.loads(p.stdout)["operations"] if o["operation"] == "send")
    off = op["total_ns"] - own
    near = abs(off) <= 0.02 * own or abs(off) <= 600 * calls  # our own work before and after, which the program sees
    good = near and op["waits"] == calls
    failed |= not good
    print(f"{'ok  ' if good else 'FAIL'} tarry: {op['waits']} sends, {op['total_ns'] / 1e9:.3f} s, "
          f"{100 * off / own:+.2f} %, {off / calls / 1e3:+.2f} us a call")
if A.trace and whole(A.trace) and not any(kernel_calls(A.trace)):
    print("skip kernel's totals: the trace is empty")  # in a PID namespace of its own, the kernel knows others' numbers
elif A.trace and whole(A.trace):
    for way in (False, True):
        n, ns = inside(kernel_calls(A.trace, way), 0, 1 << 63)
        off = own - ns["sendto"]
        good = n["sendto"] == calls
        failed |= not good
        print(f"{'ok  ' if good else 'FAIL'} kernel{', with switches on the way back' if way else ', tracepoints alone'}: "
              f"{n['sendto']} sends, {ns['sendto'] / 1e9:.3f} s; the program saw {100 * off / ns['sendto']:+.2f} %, "
              f"{off / calls / 1e3:+.2f} us a call more")
sys.exit(failed)

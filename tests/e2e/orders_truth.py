# SPDX-License-Identifier: MIT
# usage: orders_truth.py TRUTH.json REPORT.json
import json
import sys

truth, report = (json.load(open(a)) for a in sys.argv[1:3])
failed = 0


def check(ok, what):
    global failed
    print(("ok   " if ok else "FAIL ") + what)
    failed |= not ok


def functions(site):
    return {f["function"] for f in site["path"]} | {site["function"]}


requests = report["requests"]
check(requests["count"] == truth["client"]["count"] == truth["requests"]["count"],
      f"requests: report {requests['count']}, client {truth['client']['count']}, service {truth['requests']['count']}")
check(truth["client"]["errors"] == 0, "no failed orders")
check(requests["overlap"] == 0, f"overlap {requests['overlap']}")
for key in ("mean_ns", "sd_ns"):
    a, b = requests[key], truth["requests"][key]
    check(abs(a - b) <= 0.02 * b, f"{key}: report {a:.0f}, truth {b:.0f}")

found = {name: [0.0, 0, 0] for name in truth["functions"] if name != "running"}
other = 0.0
for site in report["sites"]:
    names = functions(site) & found.keys()
    check(len(names) <= 1, f"site {site['id']} belongs to {names}") if len(names) > 1 else None
    if names:
        f = found[names.pop()]
        f[0] += site["share"]
        f[1] += site["total_ns"]
        f[2] += site["waits"]
    else:
        other += site["share"]
total = sum(s["share"] for s in report["sites"]) + report["running"]["share"] + report["held_up"]["share"]
check(abs(total - 1) <= 1e-9, f"shares, running and held up sum to {total:.12f}")
for name, f in sorted(found.items(), key=lambda kv: -truth["functions"][kv[0]]["share"]):
    t = truth["functions"][name]
    check(abs(f[0] - t["share"]) <= 0.02, f"{name:14} report {100 * f[0]:6.2f} %  truth {100 * t['share']:6.2f} %  "
          f"time {f[1] / 1e6:.0f} / {t['total_ns'] / 1e6:.0f} ms")
r = report["running"]["share"] + report["held_up"]["share"]
t = truth["functions"]["running"]["share"]
check(abs(r - t) <= 0.02, f"{'running':14} report {100 * r:6.2f} %  truth {100 * t:6.2f} %")
check(abs(other) <= 0.02, f"{'other sites':14} report {100 * other:6.2f} %")
# Else the comparison says nothing.  Not by figures of their own: which wait varies most
# is the machine's affair.
shares = {n: truth["functions"][n]["share"] for n in found}
top = max(shares, key=shares.get)
small = [n for n in found if 0.001 < shares[n] < shares[top] / 3]
check(shares[top] > 0.1 and bool(small), f"the example still has large ({top}) and small shares ({', '.join(small)})")
if report["requests"]["blocks"]:
    ranked = [s for s in report["sites"] if s["share_se"] is not None]
    check(ranked and all(s["share_se"] >= 0 for s in ranked), "every share has a standard error")
lost = {k: v for k, v in report["losses"].items() if v and k in ("ring_full", "path_dropped", "stragglers", "clock")}
check(not lost.get("ring_full"), f"losses {lost}")
sys.exit(failed)

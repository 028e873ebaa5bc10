# SPDX-License-Identifier: MIT
# Shares of the variance against what the example service measured itself of the
# same requests: the largest difference over all its functions.
import json

import stats
from bench import Figure

REPS = 5
SECONDS = 8


def largest_difference(truth, report):
    found = {name: 0.0 for name in truth["functions"]}
    other = 0.0
    for site in report["sites"]:
        names = ({f["function"] for f in site["path"]} | {site["function"]}) & found.keys()
        if len(names) == 1:
            found[names.pop()] += site["share"]
        else:
            other += site["share"]
    found["running"] = report["running"]["share"] + report["held_up"]["share"]
    return max([abs(other)] + [abs(found[n] - f["share"]) for n, f in truth["functions"].items()])


def run(b):
    orders, truth = b.bin("orders"), b.path("truth.json")
    for rep in range(b.reps):
        b.record(orders, "--seconds", str(SECONDS), "--seed", str(b.seed + rep), "--truth", truth)
        report = json.loads(b.run(b.tarry, "report", "--json", b.store))
        points = 100 * largest_difference(json.load(open(truth)), report)
        b.sample("new", rep, points, report["requests"]["count"], "points")


def figures(groups):
    v = [s.value for s in groups[("shares", "points", "new")].values()]
    worst = stats.mean_interval(v)
    ok = stats.verdict(worst, 2) if max(v) <= 2 else "not met"
    return [Figure("largest difference of a share from the planted truth", worst, "percentage points", ok, "<= 2",
                   f"worst of {len(v)} runs {max(v):.2f}")]

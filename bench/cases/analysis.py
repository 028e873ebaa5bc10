# SPDX-License-Identifier: MIT
# The report's passes over a recording of 16 threads with 200 and 2000 wait sites,
# events a second of one core, against a fixed piece of work (bench/reference.h).
import json

import stats
from bench import Figure

REPS = 8
EVENTS = 5000000
SITES = (200, 2000)


def run(b):
    analyze = b.bin("bench/analyze")
    for rep in range(b.reps):
        for n in b.shuffled(*SITES):
            r = json.loads(b.run(analyze, str(EVENTS), "16", str(n), b.path(f"store{n}")))
            b.sample("base", rep, r["reference_per_s"], r["events"], "events/s", f"sites{n}")
            b.sample("new", rep, r["report_per_s"], r["events"], "events/s", f"sites{n}")


def figures(groups):
    out = []
    for n in SITES:
        rate = stats.mean_interval([s.value for s in groups[(f"analysis.sites{n}", "events/s", "new")].values()])
        out.append(Figure(f"analysis on one core, {n} sites", rate, "events/s", stats.verdict(rate, 5e6, at_least=True),
                          ">= 5 M"))
    return out

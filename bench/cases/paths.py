# SPDX-License-Identifier: MIT
# Call paths against libunwind: tests/real/samples.sh records CPython and RocksDB
# until 100 000 stacks are checked.
import os
import re
import subprocess

from bench import TOP, Figure, Skip

REPS = 1
CHECKS = 100000


def run(b):
    b.need("db_bench")
    for rep in range(b.reps):
        p = subprocess.run(["bash", os.path.join(TOP, "tests/real/samples.sh")], stdout=subprocess.PIPE, text=True,
                           timeout=500, env=dict(b.environment, B=b.build, SAMPLES=str(CHECKS)))
        good = re.search(r"none of (\d+) checked stacks differs", p.stdout)
        bad = re.search(r"(\d+) of (\d+) checked stacks differ", p.stdout)
        if not good and not bad:
            raise Skip(p.stdout.strip().splitlines()[-1] if p.stdout.strip() else f"samples.sh: status {p.returncode}")
        differ, checked = (0, int(good.group(1))) if good else (int(bad.group(1)), int(bad.group(2)))
        b.sample("new", rep, differ, checked, "paths")


def figures(groups):
    g = groups[("paths", "paths", "new")].values()
    differ, checked = sum(s.value for s in g), sum(s.count for s in g)
    # 95 %: rule of three, or the normal bound of a Poisson count
    high = 3.0 if differ == 0 else differ + 1.96 * differ**0.5 + 2
    met = differ == 0 and checked >= CHECKS
    interval = (differ, max(0, differ - 1.96 * differ**0.5), high)
    return [Figure("paths that differ from libunwind's", interval, f"of {checked}",
                   "met" if met else "not met" if differ else "not resolved", f"0 in {CHECKS}",
                   f"so at most {high / checked * 1e5:.1f} in 100 000")]

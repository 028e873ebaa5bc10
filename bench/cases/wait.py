# SPDX-License-Identifier: MIT
# One recorded wait with a known path of 10 frames, beyond the call itself,
# recorded against bare: hot, which is a lock call that ends without the kernel,
# and, as wait.kernel, a futex call that ends at once.
import json

import stats
from bench import Figure

REPS = 20
WAITS = 2000 * 200
FRAMES = 10
KINDS = (("", "hot"), ("kernel", "wait"))


def depth_for(b, micro):
    """Frames below main that make the path FRAMES long, whatever libc adds"""
    b.record(micro, "wait", "1")
    report = json.loads(b.run(b.tarry, "report", "--json", "--requests", "none", b.store))
    site = max(report["sites"], key=lambda s: s["waits"])
    return 1 + FRAMES - sum(not f["inlined"] for f in site["path"])


def run(b):
    micro = b.bin("bench/micro")
    depth = str(depth_for(b, micro))
    for rep in range(b.reps):
        for part, what in KINDS:
            for variant in b.shuffled("base", "new"):
                if variant == "base":
                    b.sample("base", rep, float(b.run(micro, what, depth)), WAITS, "ns", part)
                    continue
                out, info = b.record(micro, what, depth)
                b.sample("new", rep, float(out), info["events"], "ns", part)
                b.sample("new", rep, info["losses"]["ring_full"], info["events"], "records", f"{part}_dropped".strip("_"))


def figures(groups):
    over = stats.difference_interval(stats.pairs(groups, "wait", "ns", "base", "new"))
    kernel = stats.difference_interval(stats.pairs(groups, "wait.kernel", "ns", "base", "new"))
    dropped = sum(s.value for s in groups[("wait.dropped", "records", "new")].values())
    return [Figure(f"one recorded wait, known path of {FRAMES} frames, beyond the call, hot", over, "ns",
                   stats.verdict(over, 150), "<= 150",
                   f"{dropped:.0f} records dropped; after a call into the kernel {kernel[0]:.0f} "
                   f"({kernel[1]:.0f} to {kernel[2]:.0f}) ns")]

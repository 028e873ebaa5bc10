# SPDX-License-Identifier: MIT
# Events a second without a drop: two threads paced together wait for three
# seconds at a rate a little above the figure, the recorder beside them on the
# same cores.  What is dropped is counted by thread.
import stats
from bench import Figure

REPS = 8
PER_THREAD = 525000


def run(b):
    micro = b.bin("bench/micro")
    for rep in range(b.reps):
        out, info = b.record(micro, "rate", str(PER_THREAD))
        b.sample("new", rep, float(out), info["events"], "events/s")
        waiting = [t for t in info["threads"] if t["events"] > 1000]
        for i, t in enumerate(sorted(waiting, key=lambda t: t["tid"])):
            b.sample("new", rep, t["losses"].get("ring_full", 0), t["events"], "records", f"dropped{i + 1}")
        cpu = info["meta"]["recorder"]["drain_cpu_s_per_million_events"]
        b.sample("new", rep, cpu, info["events"], "s/Mevent", "recorder")


def figures(groups):
    rate = [s.value for s in groups[("rate", "events/s", "new")].values()]
    dropped = {k[0]: sum(s.value for s in g.values()) for k, g in groups.items() if k[0].startswith("rate.dropped")}
    clean = sum(dropped.values()) == 0 and len(dropped) == 2
    speed = stats.mean_interval(rate)
    recorder = stats.mean_interval([s.value for s in groups[("rate.recorder", "s/Mevent", "new")].values()])
    return [
        Figure("sustained, two threads on two cores, recorder included", speed, "events/s",
               stats.verdict(speed, 1e6, at_least=True) if clean else "not met", ">= 1 M",
               "dropped by thread: " + ", ".join(f"{n:.0f}" for n in dropped.values())),
        Figure("recorder's own CPU at that rate", recorder, "s per 1 M events", stats.verdict(recorder, 1), "<= 1"),
    ]

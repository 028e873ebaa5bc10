# SPDX-License-Identifier: MIT
# Uncontended pthread_mutex_lock + unlock in a process with two threads: recorded,
# against a preload that only forwards both calls.
import stats
from bench import Figure

REPS = 30
PAIRS = 200000 * 50


def run(b):
    micro, forward = b.bin("bench/micro"), b.bin("bench/passthrough.so")
    for rep in range(b.reps):
        for variant in b.shuffled("base", "new"):
            if variant == "base":
                ns = float(b.run(micro, "pair", preload=forward))
            else:
                ns = float(b.record(micro, "pair")[0])
            b.sample(variant, rep, ns, PAIRS, "ns")


def figures(groups):
    over = stats.difference_interval(stats.pairs(groups, "lock", "ns", "base", "new"))
    return [Figure("uncontended lock + unlock, over a pass-through preload", over, "ns", stats.verdict(over, 3), "<= 3")]

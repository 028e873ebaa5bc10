# SPDX-License-Identifier: MIT
# What an order costs, recorded with it against recorded without: an uncontended
# lock + unlock of a mutex that has a gate, and a grant, from unlock until one of N
# sleeping threads has the mutex.  Meanwhile no CPU sleeps: waking one that does takes up
# to 100 us on a virtual machine, now and then, and is none of an order's affairs.
import contextlib
import os
import subprocess

import stats
from bench import Figure

REPS = 30
PAIRS = 200000 * 50
GRANTS = 2000
KINDS = {"grant1": (1, 40), "grant4": (4, 40), "grant4_long": (4, 200)}  # waiters, us that it is held
ORDER = ("--order", "eldest:mutex")


@contextlib.contextmanager
def awake():
    """On each CPU something runs whenever nothing else does (SCHED_IDLE)."""
    def idle(cpu):
        os.sched_setaffinity(0, {cpu})
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))

    spinners = [subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=lambda cpu=cpu: idle(cpu))
                for cpu in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for p in spinners:
            p.kill()
            p.wait()


def run(b):
    micro = b.bin("bench/micro")
    for rep in range(b.reps):
        for variant in b.shuffled("off", "on"):
            options = ORDER if variant == "on" else ()
            b.sample(variant, rep, float(b.record(micro, "pair", options=options)[0]), PAIRS, "ns")
        with awake():
            for part, (n, hold) in KINDS.items():
                for variant in b.shuffled("off", "on"):
                    options = ORDER if variant == "on" else ()
                    ns = float(b.record(micro, "grant", str(n), str(hold), options=options)[0])
                    b.sample(variant, rep, ns, GRANTS, "ns", part)


def over(groups, case):
    return stats.difference_interval(stats.pairs(groups, case, "ns", "off", "on"))


def figures(groups):
    pair = over(groups, "orders")
    out = [Figure("uncontended lock + unlock with a gate, over without", pair, "ns", stats.verdict(pair, 4), "<= 4")]
    for part, (n, hold) in KINDS.items():
        if (f"orders.{part}", "ns", "on") not in groups:
            continue  # an older file
        one = over(groups, f"orders.{part}")
        out.append(Figure(f"a grant to one of {n} waiting for a lock held {hold} us, over libc's", one, "ns",
                          stats.verdict(one, 500), "<= 500"))
    return out

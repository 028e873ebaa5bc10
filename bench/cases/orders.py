# SPDX-License-Identifier: MIT
# What an order costs, recorded with it against recorded without: an uncontended
# lock + unlock of a mutex that has a gate, and a grant, from unlock until one of N
# sleeping threads has the mutex.  Held for less time than it takes to wake a thread,
# the mutex is free before its next owner has come to sleep at it.
import stats
from bench import Figure

REPS = 30
PAIRS = 200000 * 50
GRANTS = 5000
KINDS = {"grant1": (1, 40), "grant4": (4, 40), "grant4_long": (4, 200)}  # waiters, us that it is held
ORDER = ("--order", "eldest:mutex")


def run(b):
    micro = b.bin("bench/micro")
    for rep in range(b.reps):
        for variant in b.shuffled("off", "on"):
            options = ORDER if variant == "on" else ()
            b.sample(variant, rep, float(b.record(micro, "pair", options=options)[0]), PAIRS, "ns")
        for part, (n, hold) in KINDS.items():
            for variant in b.shuffled("off", "on"):
                options = ORDER if variant == "on" else ()
                b.sample(variant, rep, float(b.record(micro, "grant", str(n), str(hold), options=options)[0]), GRANTS, "ns", part)


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

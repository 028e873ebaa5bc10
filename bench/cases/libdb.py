# SPDX-License-Identifier: MIT
# Berkeley DB in bench/load_libdb.c, transactions on few keys: CPU per transaction.
import os

import cost

REPS = cost.BLOCKS


def run(b):
    s = cost.Server(b)
    program = b.bin("bench/load_libdb")
    os.mkdir(b.path("db"))
    s.start(program, b.path("db"), s.counter)
    cost.measure(b, s)


def figures(groups):
    return cost.figures(groups, "libdb", "Berkeley DB transactions", 1.06)

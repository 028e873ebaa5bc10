# SPDX-License-Identifier: MIT
# RocksDB in bench/load_rocksdb.c, nine reads to a write: CPU per call.
import cost

REPS = cost.BLOCKS


def run(b):
    s = cost.Server(b)
    program = b.bin("bench/load_rocksdb")
    s.start(program, b.path("db"), s.counter)
    cost.measure(b, s)


def figures(groups):
    return cost.figures(groups, "rocksdb", "RocksDB, 90 % reads", 1.06)

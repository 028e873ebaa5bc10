# SPDX-License-Identifier: MIT
# The block codec: events packed and unpacked a second of one core, against a
# fixed piece of work (bench/reference.h) that tells how fast the core was.
import json

REPS = 10
EVENTS = 1 << 19


def run(b):
    codec = b.bin("bench/codec")
    for rep in range(b.reps):
        r = json.loads(b.run(codec, str(EVENTS)))
        for part in ("pack", "unpack"):
            b.sample("base", rep, r["reference_per_s"], r["events"], "events/s", part)
            b.sample("new", rep, r[part + "_per_s"], r["events"], "events/s", part)


def figures(groups):
    return []

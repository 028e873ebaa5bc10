# SPDX-License-Identifier: MIT
# memcached with four threads under sets of bench/load_memcached.c: CPU per command.
import getpass

import cost

REPS = cost.BLOCKS


def run(b):
    b.need("memcached")
    client = b.bin("bench/load_memcached")
    s, port = cost.Server(b), cost.free_port()
    try:
        s.start("memcached", "-u", getpass.getuser(), "-l", "127.0.0.1", "-p", str(port), "-t", "4", "-m", "64")
        s.wait_until(lambda: cost.port_answers(port), "memcached does not answer")
        s.load(client, str(port), s.counter)
    except Exception:
        s.stop()
        raise
    cost.measure(b, s)


def figures(groups):
    return cost.figures(groups, "memcached", "memcached set", 1.06)

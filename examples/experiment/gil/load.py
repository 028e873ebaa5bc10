# SPDX-License-Identifier: MIT
# usage: load.py PORT CONNECTIONS RATE SECONDS SEED LATENCIES
# Requests come at random times, RATE a second, whether or not the ones before
# have been answered, and go out on any connection that is free.  The latency of
# each, from when it came, goes into the file LATENCIES in ns.
import collections
import random
import selectors
import socket
import sys
import time

port, connections, rate, seconds, seed = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
chance = random.Random(seed)
selector = selectors.DefaultSelector()
free, waiting, came = collections.deque(), collections.deque(), {}
for _ in range(connections):
    s = socket.create_connection(("127.0.0.1", port))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    selector.register(s, selectors.EVENT_READ)
    free.append(s)
now = time.monotonic_ns()
end = now + int(seconds * 1e9)
coming = now + int(chance.expovariate(rate) * 1e9)
with open(sys.argv[6], "w") as out:
    while coming < end or waiting or came:
        now = time.monotonic_ns()
        while coming <= now and coming < end:
            waiting.append(coming)
            coming += int(chance.expovariate(rate) * 1e9)
        while waiting and free:
            s = free.popleft()
            came[s] = waiting.popleft()
            s.sendall(b"request\n")
        for key, _ in selector.select(max(0, coming - time.monotonic_ns()) / 1e9 if coming < end else 1):
            s = key.fileobj
            if s.recv(100) != b"request\n":
                sys.exit("a wrong answer")
            print(time.monotonic_ns() - came.pop(s), file=out)
            free.append(s)

# SPDX-License-Identifier: MIT
# usage: gil.py SECONDS N: N threads that compute, N that write to a pipe and read from it
import os
import sys
import threading
import time

secs, n = float(sys.argv[1]), int(sys.argv[2])
end = time.time() + secs
done = [0] * (2 * n)


def compute(i):
    while time.time() < end:
        x = 0
        for k in range(2000):
            x += k * k
        done[i] += 1


def pipe(i):
    r, w = os.pipe()
    while time.time() < end:
        os.write(w, b"x" * 100)
        os.read(r, 100)
        done[i] += 1


threads = [threading.Thread(target=compute if i < n else pipe, args=(i,)) for i in range(2 * n)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print("computed", sum(done[:n]) > 0, "piped", sum(done[n:]) > 0)

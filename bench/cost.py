# SPDX-License-Identifier: MIT
# What recording costs inside one server.  The server runs recorded from start to
# end; bench/slices.c switches recording on and off under a constant load, every
# 250 ms, and reads the CPU clocks of its processes.  A block has one slice on
# and two off, in random order; the second off is the A/A row.
import glob
import math
import os
import shutil
import signal
import socket
import subprocess
import time

import stats
from bench import Figure, Skip

BLOCKS = 204  # 200 have to be left when some had a slice without requests
SLICE_MS, GAP_MS = 250, 10
WARM_UP = 2  # seconds of load before the first slice
WIDE = 0.02  # an A/A interval that is wider resolves nothing


class Server:
    """A program below `tarry record`, paused until the first slice."""

    def __init__(self, b, user=None):
        self.b, self.user, self.clients = b, user, []
        self.folder = b.path("server")
        os.mkdir(self.folder)
        if user:
            shutil.chown(self.folder, user)
        for name in ("tarry", "libtarry.so"):  # another user may not reach the build folder
            shutil.copy(b.bin(name), b.path(name))
        self.store, self.counter = os.path.join(self.folder, "run.tarry"), b.path("count")
        with open(self.counter, "wb") as f:
            f.write(bytes(4096))
        self.log = open(b.path("log"), "w+")
        self.recorder = None

    def as_user(self, *command):
        if not self.user:
            return list(command)
        return ["setpriv", "--reuid", self.user, "--regid", self.user, "--clear-groups", *command]

    def call(self, *command):
        try:
            return self.b.run(*command, PGCONNECT_TIMEOUT="5")
        except subprocess.CalledProcessError as e:
            raise RuntimeError(f"{command[0]}: status {e.returncode}: {self.last_line()}") from None

    def last_line(self):
        return (open(self.log.name).read().strip().splitlines() or ["no output"])[-1]

    def start(self, *command):
        self.recorder = subprocess.Popen(
            self.as_user(self.b.path("tarry"), "record", "-q", "--paused", "-o", self.store, "--", *command),
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=dict(self.b.environment, HOME=self.folder))

    def load(self, *command):
        """A client, which has to go on until it is stopped; it counts its requests."""
        env = dict(self.b.environment)
        if command[-1] != self.counter:  # no program of ours, which counts itself
            env.update(LD_PRELOAD=self.b.bin("bench/count.so"), TARRY_BENCH_COUNT=self.counter)
        self.clients.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=env))

    def wait_until(self, ready, what):
        for _ in range(600):
            if ready():
                return
            if self.recorder.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"{what}: {self.last_line()}")

    def requests(self):
        return int.from_bytes(open(self.counter, "rb").read(8), "little")

    def slices(self):
        """Lines of bench/slices.c once the load is under way"""
        self.wait_until(lambda: self.requests() > 1000, "no requests")
        time.sleep(WARM_UP)
        blocks = max(1, self.b.reps)
        out = self.b.run(self.b.bin("bench/slices"), self.store, self.counter, str(self.recorder.pid), str(blocks),
                         str(SLICE_MS), str(self.b.seed), timeout=60 + blocks * 3 * SLICE_MS / 500)
        for p in self.clients:
            if p.poll() is not None:
                raise RuntimeError(f"the client ended early, status {p.returncode}: {self.last_line()}")
        return [line.split() for line in out.splitlines()]

    def stop(self, sig=signal.SIGTERM):
        """The clients, then the server; its recorder completes the store."""
        for p in self.clients + ([self.recorder] if self.recorder else []):
            if p.poll() is None:
                p.send_signal(sig if p is self.recorder else signal.SIGTERM)
            try:
                p.wait(60)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        self.log.close()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def port_answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def postgres_folder():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda p: float(p.split("/")[-2]))
    if not found:
        raise Skip("postgresql is not installed")
    return found[-1]


def measure(b, server, stop=signal.SIGTERM):
    """Slices of a server under load; then what its store holds.  Stops the server."""
    try:
        lines = server.slices()
    finally:
        server.stop(stop)
    own_cpu = {"on": 0, "off": 0, "aa": 0}
    blocks = {}
    for block, state, requests, cpu, own in lines:
        blocks.setdefault(int(block), []).append((state, int(requests), int(cpu)))
        own_cpu[state] += int(own)
    idle = [n for n, block in blocks.items() if any(requests == 0 or cpu == 0 for _, requests, cpu in block)]
    if 20 * len(idle) > len(blocks):
        raise RuntimeError(f"{len(idle)} of {len(blocks)} blocks have a slice without requests")
    for n, block in blocks.items():
        for state, requests, cpu in block if n not in idle else []:
            b.sample(state, n, cpu / requests, requests, "ns/request")
    b.store = server.store
    info = b.info()
    whole = SLICE_MS / (SLICE_MS - GAP_MS) / 1e3 / max(1, info["events"])
    b.sample("new", 0, own_cpu["on"] * whole, info["events"], "s/Mevent", "recorder")
    b.sample("new", 0, (own_cpu["on"] - (own_cpu["off"] + own_cpu["aa"]) / 2) * whole, info["events"], "s/Mevent",
             "recorder_events")
    b.sample("new", 0, info["bytes"] / max(1, info["events"]), info["events"], "bytes/event", "store")
    b.sample("new", 0, info["losses"]["ring_full"], info["events"], "records", "dropped")


def aa_note(aa):
    return f"A/A {aa[0]:.4f} ({aa[1]:.4f} to {aa[2]:.4f})"


def figures(groups, case, what, limit):
    unit = "ns/request"
    ratio = stats.ratio_interval(stats.pairs(groups, case, unit, "off", "on"))
    aa = stats.ratio_interval(stats.pairs(groups, case, unit, "off", "aa"))
    n = len(groups[(case, unit, "on")])
    resolved = n >= 200 and aa[2] - aa[1] <= WIDE
    recorder = groups[(case + ".recorder", "s/Mevent", "new")][0]
    dropped = groups[(case + ".dropped", "records", "new")][0].value
    own = (recorder.value, math.nan, math.nan)
    events = groups[(case + ".recorder_events", "s/Mevent", "new")][0].value
    return [
        Figure(f"CPU per request, on against off, {what}", ratio, "x", stats.verdict(ratio, limit, resolved=resolved),
               f"<= {limit}", f"{n} pairs, {aa_note(aa)}, {dropped:.0f} records dropped"),
        Figure(f"recorder's own CPU there, {recorder.count} events", own, "s per 1 M events", stats.verdict(own, 1), "<= 1",
               f"{events:.2f} beyond what it takes with recording off"),
    ]

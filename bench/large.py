#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs every reader over a large recording, each on one core, and says how long it took, how much memory it had,
whether it showed its progress, and whether Ctrl-C ended it and left nothing behind.

    bench/large.py [--build DIR] [--store FILE] [--events N] [--waits N] [--sites N] [--out FILE] [COMMAND ...]

The recording is made by bench/analyze if it is not there (100 M events, 1 M requests, 2000 sites: about 0.7 GB) and
stays. A figure is met if the command needs at most 60 s of CPU and wall time and 1 GB of anonymous memory, which is
sampled every 10 ms. Standard error is a terminal: progress is met if it says how far it is, or takes less than 2 s.
Ctrl-C is sent to a second run after 2 s. COMMAND: only those of which this is a part. --out: rows with provenance.
Not a test, and no part of make bench: it takes minutes.
"""
import argparse
import os
import pty
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
from run import provenance  # noqa: E402

SECONDS, MEMORY, SOON, CTRL_C = 60, 1 << 30, 2, 2
COLUMNS = ("case", "unit", "variant", "repetition", "value", "count")


def commands(tarry, store, folder):
    """Name and command; what is written goes to the folder."""
    def one(*words):
        return " ".join(w for w in words if w not in ("-o", "--format") and not w.startswith(folder)), [tarry, *words, store]

    def export(form, *words):
        return one("export", "--format", form, *words, "-o", f"{folder}/export")

    return [
        one("info"), one("report"), one("report", "--json"), one("report", "--by", "object"),
        one("report", "--html", f"{folder}/page.html"),
        one("tree"), one("tail"), one("blame"), one("blame", "--where", "latency>1ms"),
        ("compare", [tarry, "compare", store, store]),
        export("folded"), export("pprof"), export("csv", "--what", "sites"), export("csv", "--what", "requests"),
        ("export csv events", [tarry, "export", "--format", "csv", store]),
        ("export chrome", [tarry, "export", "--format", "chrome", store]),
        ("dump", [tarry, "dump", store]),
    ]


def anonymous(pid):
    """Bytes of it now."""
    try:
        for line in open(f"/proc/{pid}/status"):
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


def collect(fd, said):
    while True:
        try:
            data = os.read(fd, 4096)
        except OSError:  # the other end is closed
            return
        if not data:
            return
        said.append(data)


def run(argv, folder, ctrl_c=None):
    """Status (below 0: signal), CPU s, wall s, most anonymous bytes, what it said on its terminal."""
    master, slave = pty.openpty()
    said = []
    reader = threading.Thread(target=collect, args=(master, said))
    reader.start()
    start, most, sent = time.monotonic(), 0, False
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=slave, env=dict(os.environ, TMPDIR=folder),
                             preexec_fn=lambda: os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]}))
    os.close(slave)
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            break
        most = max(most, anonymous(child.pid))
        if ctrl_c and not sent and time.monotonic() - start >= ctrl_c:
            child.send_signal(signal.SIGINT)
            sent = True
        time.sleep(0.01)
    wall = time.monotonic() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    reader.join()
    os.close(master)
    return child.returncode, usage.ru_utime + usage.ru_stime, wall, most, b"".join(said).decode(errors="replace")


def empty(folder):
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))


def interrupted(argv, folder):
    """Does Ctrl-C end it within 5 s, by the signal or with 130, and leave no file?  None: it was done before."""
    empty(folder)
    code, _, wall, _, _ = run(argv, folder, CTRL_C)
    if code == 0 and wall < CTRL_C + 0.1:
        return None
    return code in (-signal.SIGINT, 130) and wall < CTRL_C + 5 and not os.listdir(folder)


def verdict(ok):
    return "done before" if ok is None else "met" if ok else "not met"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--store", default="/var/tmp/tarry-large.store")
    p.add_argument("--events", type=int, default=100_000_000)
    p.add_argument("--waits", type=int, default=98)
    p.add_argument("--sites", type=int, default=2000)
    p.add_argument("--out")
    p.add_argument("command", nargs="*")
    a = p.parse_args()
    if not os.path.exists(a.store):
        subprocess.run([f"{a.build}/bench/analyze", str(a.events), "16", str(a.sites), a.store, str(a.waits), "make"], check=True)
    out = open(a.out, "w") if a.out else None
    if out:
        about = provenance(a.build, 0, ["large"])
        about.update(store=f"{a.events} events, {a.waits} waits a request, {a.sites} sites, {os.path.getsize(a.store)} bytes")
        out.write("".join(f"# {k}: {v}\n" for k, v in about.items()) + "\t".join(COLUMNS) + "\n")
    print(f"# {a.store}: {os.path.getsize(a.store) / 1e9:.2f} GB; load average {os.getloadavg()[0]:.2f}")
    print(f"{'command':34s}{'CPU s':>8s}{'wall s':>8s}{'anonymous MB':>14s}  {'figure':9}{'progress':13}Ctrl-C")
    missed = 0
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(a.store))) as folder:
        for name, argv in commands(f"{a.build}/tarry", a.store, folder):
            if a.command and not any(c in name for c in a.command):
                continue
            empty(folder)
            code, cpu, wall, memory, said = run(argv, folder)
            met = code == 0 and cpu <= SECONDS and wall <= SECONDS and memory <= MEMORY
            shown = True if "%" in said else None if wall < SOON else False
            ended = interrupted(argv, folder)
            missed += not met or shown is False or ended is False
            print(f"{name:34s}{cpu:8.1f}{wall:8.1f}{memory / 1e6:14.0f}  {verdict(met):9}{verdict(shown):13}{verdict(ended)}"
                  + (f"  status {code}: {said.strip()[-200:]}" if code else ""), flush=True)
            if out:
                for unit, value in (("CPU s", cpu), ("wall s", wall), ("anonymous MB", memory / 1e6), ("status", code),
                                    ("progress", verdict(shown)), ("Ctrl-C", verdict(ended))):
                    value = f"{value:.2f}" if isinstance(value, float) else value
                    out.write(f"large.{name}\t{unit}\tnew\t0\t{value}\t1\n")
                out.flush()
    if out:
        out.write(f"# load at end: {os.getloadavg()[0]:.2f}\n")
        out.close()
    return missed > 0


sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
# make bench: runs the cases, writes every sample, prints medians and figures.
#   bench/run.py [--case NAME,...] [--reps N] [--out FILE] [--seed N] [--build FOLDER]
#   bench/run.py --again FILE...   prints the medians and figures of a file, or of several of one revision and machine
#                                  as if they were one: each has repetitions of its own
#   bench/run.py --list
# A case is a file in bench/cases; "micro" and "server" stand for several.
import argparse
import importlib
import math
import os
import signal
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import stats  # noqa: E402
from bench import TOP, Bench, Skip  # noqa: E402

MICRO = ["lock", "wait", "rate", "codec", "analysis", "paths", "shares", "orders"]
SERVER = ["mariadb_rw", "pgbench", "mariadb_select", "memcached", "rocksdb", "libdb"]
ALL = MICRO + SERVER


def fail(status, text):
    print(f"bench: {text}", file=sys.stderr)
    sys.exit(status)


def output(*command):
    try:
        return subprocess.run(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
    except OSError:
        return ""


def cpu_model():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return os.uname().machine


def load_average():
    return open("/proc/loadavg").read().split()[:3]


def provenance(build, seed, names):
    dirty = output("git", "status", "--porcelain", "--untracked-files=no", "--", ":!bench/results", ":!docs")
    return {
        "tarry": output(os.path.join(build, "tarry"), "--version"),
        "revision": output("git", "rev-parse", "--short=12", "HEAD") + (" dirty" if dirty else ""),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "compiler": output(os.environ.get("CC") or "cc", "--version").partition("\n")[0],
        "kernel": f"{os.uname().sysname} {os.uname().release} {os.uname().machine}",
        "cpu": cpu_model(), "cores": len(os.sched_getaffinity(0)),
        "seed": seed, "cases": ",".join(names), "load at start": " ".join(load_average()),
    }


def summary(meta, samples, modules):
    groups = stats.group(samples)
    print(f"{'case':26} {'unit':11} {'':4} {'n':>4} {'median':>12} {'min':>12} {'max':>12}")
    for (case, unit, variant), g in groups.items():
        v = [s.value for s in g.values()]
        print(f"{case:26} {unit:11} {variant:4} {len(v):4} {number(statistics.median(v)):>12} {number(min(v)):>12} "
              f"{number(max(v)):>12}")
    print()
    for name, module in modules.items():
        if any(s.case == name or s.case.startswith(name + ".") for s in samples):
            for f in module.figures(groups):
                show(f)


def number(x):
    a = abs(x)
    if a >= 1e6:
        return f"{x / 1e6:.3f} M"
    return f"{x:.0f}" if a >= 10000 else f"{x:.1f}" if a >= 100 else f"{x:.3f}"


def show(f):
    value, low, high = f.interval
    within = "" if math.isnan(low) else f" (95 %: {number(low)} to {number(high)})"
    note = f"; {f.note}" if f.note else ""
    print(f"{f.verdict + ':':13} {f.what}: {number(value)}{within} {f.unit}, figure {f.limit}{note}")


def choose(text):
    names = []
    for name in text.split(",") if text else ALL:
        names += MICRO if name == "micro" else SERVER if name == "server" else [name]
    for name in names:
        if name not in ALL:
            fail(2, f"no case '{name}': there are micro, server, {', '.join(ALL)}")
    return names


def run_case(name, module, a, emit):
    print(f"{name} ...", file=sys.stderr, flush=True)
    start = time.monotonic()
    b = None
    try:
        b = Bench(a.build, name, a.reps or module.REPS, a.seed, emit)
        module.run(b)
    except Skip as e:
        print(f"bench: {name} left out: {e}", file=sys.stderr)
    except (subprocess.SubprocessError, OSError, LookupError, ValueError, RuntimeError) as e:
        print(f"bench: {name} failed: {type(e).__name__}: {e}", file=sys.stderr)
        return False
    finally:
        if b:
            b.close()
    print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    return True


def measure(a, modules):
    meta = provenance(a.build, a.seed, modules)
    samples, ok = [], True
    with open(a.out, "w") as out:
        for k, v in meta.items():
            print(f"# {k}: {v}", file=out)
        print(stats.HEADER, file=out, flush=True)

        def emit(*fields):
            s = stats.Sample(*fields)
            samples.append(s)
            print(s.case, s.unit, s.variant, s.repetition, f"{s.value:.9g}", s.count, sep="\t", file=out, flush=True)

        for name, module in modules.items():
            ok = run_case(name, module, a, emit) and ok
        meta["load at end"] = " ".join(load_average())
        print(f"# load at end: {meta['load at end']}", file=out)
    if samples:
        summary(meta, samples, modules)
    print(f"\nload {meta['load at start']} at the start, {meta['load at end']} at the end; samples in {a.out}")
    return 0 if ok and samples else 1


def main():
    p = argparse.ArgumentParser(prog="bench/run.py")
    p.add_argument("--case", default="")
    p.add_argument("--reps", type=int, default=0)
    p.add_argument("--out", default="")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--build", default=os.path.join(TOP, "build"))
    p.add_argument("--again", nargs="+", metavar="FILE")
    p.add_argument("--list", action="store_true")
    a = p.parse_args()
    a.build = os.path.join(TOP, a.build)
    if a.reps < 0:
        fail(2, "--reps: a positive number")
    if a.list:
        print("\n".join(ALL))
        return 0
    if a.again:
        try:
            meta, samples = stats.read_all(a.again)
        except (OSError, ValueError) as e:
            fail(2, str(e))
        names = [n for n in ALL if any(s.case.split(".")[0] == n for s in samples)]
        summary(meta, samples, {n: importlib.import_module("cases." + n) for n in names})
        return 0
    # a run takes long: the next one must not overwrite it
    a.out = a.out or os.path.join(a.build, time.strftime("bench-%Y-%m-%dT%H%M%S.tsv"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    return measure(a, {n: importlib.import_module("cases." + n) for n in choose(a.case)})


if __name__ == "__main__":
    sys.exit(main())

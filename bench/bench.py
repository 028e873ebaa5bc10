# SPDX-License-Identifier: MIT
# What the cases of make bench have in common: where things are, how programs
# are run, recorded and paired.
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Skip(Exception):
    """A case cannot run here; the text says why."""


class Bench:
    """One case's run: collects samples, owns a folder that is removed at the end."""

    def __init__(self, build, case, reps, seed, emit):
        self.build, self.case, self.reps, self._emit = build, case, reps, emit
        self.seed = seed
        self.random = random.Random(f"{seed} {case}")
        self.tarry = self.bin("tarry")
        self.folder = tempfile.mkdtemp(prefix=f"tarry-bench-{case}.")
        os.chmod(self.folder, 0o755)
        self.environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("TARRY_")
                            or k.startswith("TARRY_BENCH_")}

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def bin(self, name):
        path = os.path.join(self.build, name)
        if not os.path.exists(path):
            raise Skip(f"{path} was not built")
        return path

    def need(self, *commands):
        for c in commands:
            if not shutil.which(c):
                raise Skip(f"{c} is not installed")

    def path(self, name):
        return os.path.join(self.folder, name)

    def sample(self, variant, repetition, value, count, unit, part=""):
        self._emit(self.case + ("." + part if part else ""), unit, variant, repetition, value, count)

    def run(self, *command, preload=None, timeout=300, **env):
        """Standard output of a command that has to succeed; what else it says is printed if it does not"""
        e = dict(self.environment, **env)
        if preload:
            e["LD_PRELOAD"] = preload
        done = subprocess.run(command, env=e, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout)
        if done.returncode:
            sys.stderr.write(done.stderr)
        done.check_returncode()
        return done.stdout

    def record(self, *command, options=()):
        """(standard output, tarry info) of a recorded command; the store is self.store"""
        self.store = self.path("run.tarry")
        for name in os.listdir(self.folder):
            if name.startswith("run.tarry"):
                os.unlink(self.path(name))
        out = self.run(self.tarry, "record", "-q", *options, "-o", self.store, "--", *command)
        return out, self.info()

    def info(self):
        return json.loads(self.run(self.tarry, "info", "--json", self.store))

    def shuffled(self, *things):
        """In random order: what comes second meets another machine than what comes first"""
        out = list(things)
        self.random.shuffle(out)
        return out


class Figure:
    """One line of the table in docs/BENCH.md, as this run found it"""

    def __init__(self, what, interval, unit, verdict, limit="", note=""):
        self.what, self.interval, self.unit, self.verdict, self.limit, self.note = what, interval, unit, verdict, limit, note

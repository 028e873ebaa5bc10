# SPDX-License-Identifier: MIT
# usage: killed.py TARRY STORE COUNTS: what killed.c counted against the store.
import json
import struct
import subprocess
import sys

TARRY, STORE, COUNTS = sys.argv[1:4]
OPS = {0: "nanosleep", 1: "fdatasync", 2: "futex_wait", 10: "pthread_mutex_lock", 11: "sem_wait", 12: "read"}
slots = [s for s in struct.iter_unpack("iiq", open(COUNTS, "rb").read(16 * 11)) if s[0]]
failed = 0


def bad(what):
    global failed
    print(what)
    failed = 1


done, open_waits = {}, {}
dump = subprocess.run([TARRY, "dump", "--json", STORE], check=True, stdout=subprocess.PIPE).stdout
for line in dump.decode().splitlines():
    e = json.loads(line)
    if e["kind"] in ("wait", "open"):
        key = (e["tid"], e["operation"])
        where = done if e["kind"] == "wait" else open_waits
        where[key] = where.get(key, 0) + 1
info = json.loads(subprocess.run([TARRY, "info", "--json", STORE], check=True, stdout=subprocess.PIPE).stdout)
for name in ("ring_full", "no_slot", "bad_record", "store_full", "store_behind"):
    if info["losses"].get(name):
        bad(f"loss {name} {info['losses'][name]}")
if not any(p["ended_waiting"] for p in info["processes"]):
    bad("no process is marked as ended in a wait")
total = 0
for tid, kind, n in slots:
    op = OPS[kind]
    if kind >= 10:
        if open_waits.get((tid, op)) != 1:
            bad(f"thread {tid} waits for ever in {op}, open waits in the store: {open_waits.get((tid, op), 0)}")
        continue
    total += n
    found = done.get((tid, op), 0)
    if found not in (n, n + 1):
        bad(f"thread {tid}: {n} {op} returned, {found} in the store")
    if open_waits.get((tid, op), 0) > 1:
        bad(f"thread {tid} has {open_waits[tid, op]} open waits")
if len(slots) < 4:
    bad("it was killed before it began")
print(f"{len(slots)} threads, {total} finished waits")
sys.exit(failed)

# SPDX-License-Identifier: MIT
# Classes and transactions of a recording against what the client counted; and
# clients whose requests are known:  classes.py client memcached|http|https PORT
import argparse
import http.client
import json
import socket
import ssl
import struct
import subprocess
import sys


def memcached(port):
    s = socket.create_connection(("127.0.0.1", port))
    f = s.makefile("rb")

    def ask(line, last):
        s.sendall(line)
        while not f.readline().startswith(last):
            pass

    for i in range(300):
        ask(b"set key%d 0 0 5\r\nhello\r\n" % i, b"STORED")
    for i in range(500):
        ask(b"get key%d\r\n" % i, b"END")
    for i in range(50):
        ask(b"delete key%d\r\n" % i, b"DELETED")
    b = socket.create_connection(("127.0.0.1", port))

    def binary(op, key):
        b.sendall(struct.pack(">BBHBBHIIQ", 0x80, op, len(key), 0, 0, 0, len(key), 7, 0) + key)
        head = b.recv(24, socket.MSG_WAITALL)
        b.recv(struct.unpack(">I", head[8:12])[0], socket.MSG_WAITALL)

    for i in range(200):
        binary(0x00, b"key%d" % (100 + i % 50))
    for i in range(20):
        binary(0x0a, b"")


def web(port, tls):
    if tls:
        context = ssl._create_unverified_context()
        c = http.client.HTTPSConnection("127.0.0.1", port, context=context)
    else:
        c = http.client.HTTPConnection("127.0.0.1", port)

    def ask(method, path):
        c.request(method, path)
        c.getresponse().read()

    for i in range(200):
        ask("GET", f"/index.html?a={i}")
    for i in range(40):
        ask("HEAD", "/index.html")
    for i in range(100):
        ask("GET", "/other")


if sys.argv[1] == "client":
    memcached(int(sys.argv[3])) if sys.argv[2] == "memcached" else web(int(sys.argv[3]), sys.argv[2] == "https")
    sys.exit(0)

arg = argparse.ArgumentParser()
arg.add_argument("tarry")
arg.add_argument("store")
arg.add_argument("--window", nargs=2, type=int, help="FROM TO")
arg.add_argument("--class", dest="classes", nargs=2, action="append", default=[], help="NAME COUNT")
arg.add_argument("--has", action="append", default=[], help="NAME of a class that must be there")
arg.add_argument("--no-classes", action="store_true")
arg.add_argument("--at-least", type=int, help="requests")
arg.add_argument("--transactions", nargs=6, type=int, help="FROM TO COUNT of a short run with as many connections, of the main run")
arg.add_argument("--statements", type=int, help="of one transaction")
arg.add_argument("--kind", help="class of nearly all transactions; + for a blank")
arg.add_argument("--secret", help="bytes that the store must not hold")
A = arg.parse_args()
failed = 0


def check(ok, what):
    global failed
    print(("ok   " if ok else "FAIL ") + what)
    failed |= not ok


def run(*args):
    return subprocess.run([A.tarry, *args, A.store], check=True, stdout=subprocess.PIPE).stdout


def report(*args):
    r = json.loads(run("report", "--json", *args))
    q = r["requests"]
    bad = {k: v for k, v in r["losses"].items() if v and k in ("ring_full", "bad_record", "no_memory", "store_behind")}
    check(not bad, f"losses {bad}")
    if q["variance_split"]:
        both = q["variance_split"]["between_ns2"] + q["variance_split"]["within_ns2"]
        check(abs(both - q["var_ns2"]) <= 1e-9 * q["var_ns2"], f"between and within add up to the variance ({both:.6g})")
    check(q["overlap"] == 0, f"overlap {q['overlap']}")
    return q


def counts(q):
    return {c["class"]: c["count"] for c in q["classes"]}


def check_classes():
    window = ["--from", str(A.window[0]), "--to", str(A.window[1])] if A.window else []
    q = report("--requests", "socket", *window)
    found = counts(q)
    if A.no_classes:
        marks = [e for e in map(json.loads, run("dump", "--json", *window).splitlines()) if e["kind"] == "mark"]
        check(not found and not marks, f"no classes: {found}, {len(marks)} marks")
    if A.at_least:
        check(q["count"] >= A.at_least, f"{q['count']} requests, at least {A.at_least}")
    for name, n in A.classes:
        check(found.get(name, 0) == int(n), f"class {name}: {found.get(name, 0)}, client {n}")
    for name in A.has:
        check(found.get(name, 0) > 0, f"class {name}: {found.get(name, 0)}")
    for name, n in [c for c in A.classes if int(c[1])][:1]:
        some = report("--requests", "socket", "--where", f'class="{name}"', *window)
        check(some["count"] == int(n), f"--where class={name}: {some['count']}")


def check_transactions():
    few_from, few_to, few_n, main_from, main_to, main_n = A.transactions
    few = report("--requests", "transaction", "--from", str(few_from), "--to", str(few_to))
    main = report("--requests", "transaction", "--from", str(main_from), "--to", str(main_to))
    extra = few["count"] - few_n
    n, want = main["count"], main_n + extra
    check(extra >= 0, f"{extra} requests of all connections outside transactions")
    check(abs(n - want) <= 0.001 * main_n, f"transactions {n}, client {main_n} + {extra} ({100 * (n - want) / main_n:+.3f} %)")
    kind = A.kind.replace("+", " ")
    of_kind = counts(main).get(kind, 0)
    check(abs(of_kind - main_n) <= 0.001 * main_n + extra, f"{of_kind} of them are {kind}: {counts(main)}")
    # only those: what logs in and prepares is left out
    some = report("--requests", "transaction", "--from", str(main_from), "--to", str(main_to), "--where", f'class="{kind}"')
    each = some["statements"] / some["count"]
    check(abs(each - A.statements) < 0.05 * A.statements, f"{each:.3f} statements a transaction, client {A.statements}")
    check(main["think_ns"] > 0, f"{main['think_ns'] / 1e9:.3f} s between statements")
    flat = report("--requests", "socket", "--from", str(main_from), "--to", str(main_to))
    a, b = flat["mean_ns"] * flat["count"], main["mean_ns"] * n
    check(abs(a - b) <= 0.005 * a, f"latency of all requests {a / 1e9:.3f} s, of all transactions {b / 1e9:.3f} s")


def check_secret():
    secret = A.secret.encode()
    raw = open(A.store, "rb").read()
    texts = {"file": raw, "dump": run("dump", "--json"), "info": run("info", "--json"), "report": run("report", "--json")}
    for name, text in texts.items():
        check(secret not in text and secret.lower() not in text.lower(), f"no captured byte in the store ({name}, {len(text)} bytes)")


if A.transactions:
    check_transactions()
if A.classes or A.has or A.no_classes:
    check_classes()
if A.secret:
    check_secret()
sys.exit(failed)

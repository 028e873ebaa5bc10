# SPDX-License-Identifier: MIT
# usage: exports.py LIBRARY WRAP.DEF
# Reads the library that goes into other people's processes, and libc beside it.
import re
import subprocess
import sys

LIB, TABLE = sys.argv[1], sys.argv[2]
failed = 0

# Exported beside the table's names.
BESIDE = {"tarry_mark_v1"}
# The condition variables of old binaries, x86-64 only: passed straight through.
OLD_COND = {f"pthread_cond_{n}" for n in ("init", "destroy", "wait", "timedwait", "signal", "broadcast")}
# Names of libc that look like another spelling of a wrapped one and are not wrapped, with the reason.
ALLOWED = {
    "pthread_cond_init": "does not wait", "pthread_cond_destroy": "does not wait",
    "__libc_pread": "only libc's own threads library used it, gone since 2.34",
}


def run(*args):
    return subprocess.run(args, check=True, capture_output=True, text=True).stdout


def check(ok, what, why=""):
    global failed
    print(("ok   " if ok else "FAIL ") + what + ("" if ok or not why else ": " + why))
    failed |= not ok


def dynamic_symbols(path):
    """-> set of (name, version, defined); version '' when there is none."""
    out = set()
    for line in run("readelf", "-W", "--dyn-syms", path).splitlines():
        f = line.split()
        if len(f) < 8 or not f[0].endswith(":") or f[0] == "Num:":
            continue
        kind, where, name = f[3], f[6], f[7]
        if kind not in ("FUNC", "IFUNC", "NOTYPE", "OBJECT", "TLS"):
            continue
        name, _, version = name.replace("@@", "@").partition("@")
        out.add((name, version, where != "UND"))
    return out


def base(name):
    """All spellings of one function give the same word."""
    n = re.sub(r"^_+(libc_)?", "", name)
    n = re.sub(r"_chk$", "", n)
    n = re.sub(r"_time64$|64", "", n)
    return n


def libc_path():
    for line in run("ldd", LIB).splitlines():
        if "libc.so.6" in line:
            return line.split("=>")[1].split()[0]
    sys.exit("cannot find libc")


rows = set(re.findall(r"^TY_W\([^,]*, *(\w+),", open(TABLE).read(), re.M))
dyn = run("readelf", "-W", "-d", LIB)
needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dyn)
check(needed == ["libc.so.6"], "needs libc only", str(needed))
check("TEXTREL" not in dyn, "no text relocations")
check("(FINI_ARRAY)" not in dyn or re.search(r"FINI_ARRAYSZ\)\s+8 ", dyn), "no destructor of its own")

syms = dynamic_symbols(LIB)
undefined = {n for n, v, d in syms if not d}
check("__tls_get_addr" not in undefined, "no dynamic TLS")
bad = undefined & {"malloc", "calloc", "realloc", "free", "printf", "fprintf", "pthread_atfork", "__cxa_atexit", "sigaction", "pthread_sigmask", "_Unwind_Backtrace", "_Unwind_Resume"}
check(not bad, "no allocation, stdio, unwinder, atfork", " ".join(sorted(bad)))
private = {n for n, v, d in syms if v == "GLIBC_PRIVATE"}
check(not private, "no private symbols of libc", " ".join(sorted(private)))
rel = run("readelf", "-W", "-r", LIB)
check(not re.search(r"DTPMOD|DTPOFF|TLSDESC", rel), "no relocations for dynamic TLS")

segments = run("readelf", "-W", "-l", LIB)
tls = re.search(r"^\s+TLS\s+\S+\s+\S+\s+\S+\s+\S+\s+(0x[0-9a-f]+)", segments, re.M)
size = int(tls.group(1), 16) if tls else 0
check(size < 256, f"static TLS is small ({size} bytes)")
stack = re.search(r"^\s+GNU_STACK\s+.*?\s([RWE ]{3})\s+0x", segments, re.M)
check(stack is not None and "E" not in stack.group(1), "the stack is not executable")

exported = {n for n, v, d in syms if d and not n.startswith("GLIBC_")}
check(exported - rows - BESIDE - OLD_COND == set(), "exports nothing beside the table's names",
      " ".join(sorted(exported - rows - BESIDE - OLD_COND)))
check(rows - exported == set(), f"exports all {len(rows)} rows", " ".join(sorted(rows - exported)))
check(BESIDE <= exported, "exports the marker")

cpu = run("uname", "-m").strip()
if cpu == "x86_64":
    for name in sorted(n for n in rows if re.fullmatch(r"pthread_cond_(wait|timedwait|signal|broadcast)", n)):
        versions = {v for n, v, d in syms if n == name and d}
        check(versions == {"GLIBC_2.2.5", "GLIBC_2.3.2"}, f"{name} in both versions", str(versions))
    other = {(n, v) for n, v, d in syms if d and v and n not in OLD_COND and not n.startswith("GLIBC_")}
    check(not other, "all other names are unversioned", str(sorted(other)[:5]))

# Spellings that libc exports and the table does not have.
libc = {n for n, v, d in dynamic_symbols(libc_path()) if d and v != "GLIBC_PRIVATE"}
bases = {base(n): n for n in rows}
missing = {n for n in libc if n not in rows and base(n) in bases and n not in ALLOWED}
check(not missing, "has every spelling that libc has", " ".join(f"{n} (like {bases[base(n)]})" for n in sorted(missing)))
gone = {n for n in rows if n not in libc} - {"io_getevents"}
check(not gone or cpu != "x86_64", "wraps nothing that libc does not have", " ".join(sorted(gone)))
sys.exit(failed)

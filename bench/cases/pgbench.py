# SPDX-License-Identifier: MIT
# PostgreSQL, pgbench's TPC-B: CPU per statement.  The server refuses to run as
# root; it and tarry run as the user postgres then.
import os
import signal
import subprocess

import cost

REPS = cost.BLOCKS
CLIENTS = 16


def run(b):
    folder = cost.postgres_folder()
    b.need("setpriv")
    s = cost.Server(b, "postgres" if os.getuid() == 0 else None)
    data, port = os.path.join(s.folder, "data"), cost.free_port()
    b.run(*s.as_user(f"{folder}/initdb", "-D", data, "-A", "trust", "-U", "postgres"), HOME=s.folder)
    with open(os.path.join(data, "postgresql.conf"), "a") as f:
        # autovacuum's workers come and go, and take their CPU time with them
        f.write(f"port={port}\nlisten_addresses='127.0.0.1'\nunix_socket_directories='{s.folder}'\nshared_buffers=128MB\n"
                "synchronous_commit=on\nlogging_collector=off\nautovacuum=off\n")
    pgbench = [f"{folder}/pgbench", "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "postgres"]
    try:
        s.start(f"{folder}/postgres", "-D", data)
        ready = [f"{folder}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
        s.wait_until(lambda: subprocess.run(ready).returncode == 0, "postgres does not answer")
        s.call(*pgbench, "-i", "-s", "1", "-q")
        s.load(*pgbench, "-n", "-c", str(CLIENTS), "-j", "2", "-T", "100000")
    except Exception:
        s.stop(signal.SIGINT)
        raise
    cost.measure(b, s, signal.SIGINT)


def figures(groups):
    return cost.figures(groups, "pgbench", "PostgreSQL pgbench TPC-B", 1.03)

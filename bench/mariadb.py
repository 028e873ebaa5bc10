# SPDX-License-Identifier: MIT
# MariaDB under sysbench, for the cases that measure it.
import getpass
import os

import cost

THREADS, ROWS = 12, 200


def run(b, load, rows=ROWS):
    b.need("mariadbd", "mariadb-install-db", "mariadb", "sysbench")
    s = cost.Server(b)
    data, sock, port, user = os.path.join(s.folder, "data"), b.path("sock"), cost.free_port(), getpass.getuser()
    os.mkdir(data)
    b.run("mariadb-install-db", "--no-defaults", f"--user={user}", f"--datadir={data}",
          "--auth-root-authentication-method=normal", "--skip-test-db")
    sysbench = ["sysbench", load, "--mysql-host=127.0.0.1", f"--mysql-port={port}", "--mysql-user=sb", "--mysql-password=x",
                "--mysql-db=sbtest", "--tables=1", f"--table-size={rows}"]
    try:
        s.start("mariadbd", "--no-defaults", f"--user={user}", f"--datadir={data}", f"--port={port}",
                "--bind-address=127.0.0.1", f"--socket={sock}", f"--pid-file={b.path('pid')}",
                "--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=128M", "--max-connections=200")
        s.wait_until(lambda: cost.port_answers(port), "mariadbd does not answer")
        s.call("mariadb", "--no-defaults", f"--socket={sock}", "-uroot", "-e", "create database sbtest; "
               "create user 'sb'@'127.0.0.1' identified by 'x'; grant all on *.* to 'sb'@'127.0.0.1'")
        s.call(*sysbench, "prepare")
        s.load(*sysbench, f"--threads={THREADS}", "--time=0", "--events=0", "run")
    except Exception:
        s.stop()
        raise
    cost.measure(b, s)

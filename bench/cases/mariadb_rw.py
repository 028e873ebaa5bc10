# SPDX-License-Identifier: MIT
# MariaDB, sysbench oltp_read_write: CPU per statement, bytes per event.
import math

import cost
import mariadb
import stats
from bench import Figure

REPS = cost.BLOCKS


def run(b):
    mariadb.run(b, "oltp_read_write")


def figures(groups):
    store = groups[("mariadb_rw.store", "bytes/event", "new")][0]
    size = (store.value, math.nan, math.nan)
    return cost.figures(groups, "mariadb_rw", "MariaDB oltp_read_write", 1.03) + [
        Figure(f"store of that recording, {store.count} events", size, "bytes per event", stats.verdict(size, 12), "<= 12")]

# SPDX-License-Identifier: MIT
# MariaDB, sysbench oltp_point_select: CPU per statement.
import cost
import mariadb

REPS = cost.BLOCKS


def run(b):
    mariadb.run(b, "oltp_point_select", rows=10000)


def figures(groups):
    return cost.figures(groups, "mariadb_select", "MariaDB point_select", 1.06)

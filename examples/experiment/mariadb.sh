#!/bin/sh
# SPDX-License-Identifier: MIT
# The steps of mariadb.yaml: setup, serve, ready (and fill the table), load.  All lies in the folder of the run.
dir=$TARRY_EXPERIMENT_DIR sock=$TARRY_EXPERIMENT_DIR/s.sock user=$(id -un)
bench() {
	sysbench "$(dirname "$0")/mariadb.lua" --mysql-socket="$sock" --mysql-user=root --mysql-db=sbtest --threads=12 "$@"
}
case $1 in
setup)
	mariadb-install-db --no-defaults --user="$user" --datadir="$dir/data" --auth-root-authentication-method=normal \
		--skip-test-db ;;
serve)
	exec mariadbd --no-defaults --user="$user" --datadir="$dir/data" --skip-networking --socket="$sock" \
		--pid-file="$dir/pid" --innodb-flush-log-at-trx-commit=1 --innodb-buffer-pool-size=128M ;;
ready)
	mariadb --no-defaults --socket="$sock" -uroot -e 'create database sbtest' && bench prepare ;;
load)
	bench --time="${SECONDS_OF_LOAD:-10}" run && cat "$TARRY_EXPERIMENT_LATENCIES".* >"$TARRY_EXPERIMENT_LATENCIES" ;;
esac

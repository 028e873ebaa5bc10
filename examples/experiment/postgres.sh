#!/bin/sh
# SPDX-License-Identifier: MIT
# The steps of postgres.yaml: setup, serve, ready (and fill the tables), load.  All lies in the folder of the run, also
# the socket, so the port is the server's own.
dir=$TARRY_EXPERIMENT_DIR
for bin in /usr/lib/postgresql/*/bin; do :; done
export PGHOST="$dir" PGUSER=postgres PGDATABASE=postgres
case $1 in
setup)
	"$bin/initdb" -D "$dir/data" -A trust -U postgres &&
		printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$dir'" >>"$dir/data/postgresql.conf" ;;
serve)
	exec "$bin/postgres" -D "$dir/data" ;;
ready)
	"$bin/psql" -qAtc 'select 1' && "$bin/pgbench" -i -s 10 -q ;;
load)
	"$bin/pgbench" -n -N -c 16 -j 2 -T "${SECONDS_OF_LOAD:-10}" -l --log-prefix="$dir/log" &&
		awk '{ print $3 "us" }' "$dir"/log.* >"$TARRY_EXPERIMENT_LATENCIES" ;;
esac

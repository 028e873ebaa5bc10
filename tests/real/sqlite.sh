#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 120.  SQLite's shell: four processes write to one database with a write-ahead log.
# Who finds it locked asks again after a sleep: lock waits are usleep in the busy handler.
. "$(dirname "$0")/lib.sh"
need sqlite3
cat >"$W/writers" <<'S'
sqlite3 db 'pragma journal_mode=wal; create table t(a integer primary key, b text)'
sqlite3 db 'create table n(n integer); insert into n values(0)'
for w in 1 2 3 4; do
	{
		echo '.timeout 30000'
		for i in $(seq 40); do
			echo "begin immediate; insert into t(b) values(hex(zeroblob(500))); update n set n = n + 1; commit;"
		done
	} >in.$w
done
for w in 1 2 3 4; do sqlite3 db <in.$w & done
wait
sqlite3 db 'pragma integrity_check; select count(*), (select n from n) from t'
S
both SQLite bash "$W/writers"
judge sqlite "SQLite $(version sqlite3)" "4 processes write, WAL" --processes 7 \
	--site usleep --site fdatasync --complete 0.99
exit $FAILED

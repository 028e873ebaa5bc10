#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 240.  RocksDB's db_bench: paths of its waits, once with the default
# configuration and once with a path for every call (min_path: 0); then readers beside a writer.
. "$(dirname "$0")/lib.sh"
need db_bench
for min in 10us 0; do
	printf 'self_check: 1/16\nmin_path: %s\n' "$min" >"$W/conf.yaml"
	rm -rf "$STORE"* "$W/db"
	"$TARRY" record -q -c "$W/conf.yaml" -o "$STORE" -- db_bench --db="$W/db" --benchmarks=fillsync --sync=1 --threads=8 \
		--num="${NUM:-5000}" --value_size=100 --statistics=0 >"$W/client.out" 2>&1
	rc=$?
	[ $rc = 0 ] && grep -q 'micros/op' "$W/client.out" && good "db_bench, min_path $min: $(grep -o '[0-9.]* micros/op' "$W/client.out")" ||
		fail "db_bench: status $rc: $(tail -2 "$W/client.out")"
	$PY "$CHECKS/check.py" "$TARRY" "$STORE" --paths-only --site pthread_cond_wait --site fdatasync || FAILED=1
done
judge rocksdb-fillsync "RocksDB $(version librocksdb7.8)" "fillsync, 8 threads" --site pthread_cond_wait --site fdatasync
explain
printf 'self_check: 1/16\n' >"$CONF"
rm -rf "$STORE"* "$W/db"
"$TARRY" record -v -c "$CONF" -o "$STORE" -- db_bench --db="$W/db" --benchmarks=fillrandom,readwhilewriting \
	--num=100000 --threads=8 --duration=3 --write_buffer_size=1048576 --cache_size=1048576 --statistics=0 >"$W/client.out" 2>&1
rc=$?
[ $rc = 0 ] && good "db_bench: $(grep -o 'readwhilewriting.*micros/op' "$W/client.out")" ||
	fail "db_bench readwhilewriting: status $rc: $(tail -2 "$W/client.out")"
told "db_bench readwhilewriting" "$(tail -n 1 "$W/client.out")"
judge rocksdb-readers "RocksDB $(version librocksdb7.8)" "readwhilewriting, 8 readers" --site pthread_mutex_lock
explain
exit $FAILED

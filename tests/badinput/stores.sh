#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: what is not a store, or is damaged or from the future, is refused
# by every reader with one line and status 1, without a crash and unchanged.
. "$(dirname "$0")/lib.sh"

readers() { # FILE PATTERN
	for c in report info dump; do
		refused 1 "$2" "$TARRY" $c "$1"
	done
	refused 1 "$2" "$TARRY" ctl "$1" off
}

echo 'only some text' >text
sum=$(cksum <text)
readers text text
same text "$sum"
: >empty
readers empty empty
[ ! -s empty ] || fail "an empty file was filled"
mkdir folder
readers folder folder
[ -z "$(ls -A folder)" ] || fail "something was written into a folder: $(ls -A folder)"
readers /dev/null /dev/null
[ -c /dev/null ] || fail "/dev/null is gone"
readers missing missing
[ ! -e missing ] || fail "reading created a store"
head -c 300000 /dev/urandom >noise
readers noise noise

# A real store, cut short.
"$TARRY" record -o good.tarry -- /bin/ls / >out 2>&1 || fail "cannot record ls: $(cat out)"
"$TARRY" info good.tarry >out 2>&1 || fail "cannot read the store: $(cat out)"
size=$(stat -c %s good.tarry)
for n in 1 100 4096 8192 12288 $((size / 2)) $((size - 4096)); do
	[ "$n" -gt 0 ] && [ "$n" -lt "$size" ] || continue
	head -c "$n" good.tarry >cut.tarry
	for c in report info dump; do
		timeout -k 5 30 "$TARRY" $c cut.tarry >out 2>err </dev/null
		rc=$?
		# the last pages may be unused ones: then it may read well
		[ $rc = 1 ] || [ $rc = 0 ] || fail "$c of the first $n of $size bytes: status $rc"
		[ $rc = 0 ] && [ "$n" -le 8192 ] && fail "$c of the first $n bytes says nothing"
		[ $rc = 0 ] || [ "$(wc -l <err)" = 1 ] || fail "$c of the first $n bytes: not one line: $(head -c 300 err)"
	done
done

# Bytes flipped all over the file: no crash, whatever the answer.
for seed in 1 2 3 4 5 6 7 8; do
	cp good.tarry flip.tarry
	awk -v seed=$seed -v size="$size" 'BEGIN { srand(seed); for (i = 0; i < 40; i++) print int(rand() * size) }' |
	while read -r at; do
		printf '\377' | dd of=flip.tarry bs=1 seek="$at" conv=notrunc 2>/dev/null
	done
	for c in report info dump; do
		timeout -k 5 30 "$TARRY" $c flip.tarry >out 2>err </dev/null
		rc=$?
		[ $rc -le 2 ] || fail "$c of a damaged store (seed $seed): status $rc"
	done
done

# A store of a later version: the format number in meta made larger.
cat >newer.c <<'C'
#include <lmdb.h>
int main(int argc, char **argv)
{
	MDB_env *e;
	MDB_txn *t;
	MDB_dbi d;
	MDB_val k = { 6, "format" }, v = { 3, "999" };
	return argc != 2 || mdb_env_create(&e) || mdb_env_set_maxdbs(e, 32) ||
	       mdb_env_open(e, argv[1], MDB_NOSUBDIR, 0644) || mdb_txn_begin(e, 0, 0, &t) ||
	       mdb_dbi_open(t, "meta", 0, &d) || mdb_get(t, d, &k, &(MDB_val){ 0 }) || mdb_put(t, d, &k, &v, 0) ||
	       mdb_txn_commit(t);
}
C
cp good.tarry newer.tarry
if cc -o newer newer.c -llmdb && ./newer newer.tarry; then
	sum=$(cksum <newer.tarry)
	readers newer.tarry 'newer|later'
	same newer.tarry "$sum"
else
	fail "could not make a newer store"
fi
exit $FAILED

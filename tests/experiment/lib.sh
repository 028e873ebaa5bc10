# SPDX-License-Identifier: MIT
# Sourced by tests/experiment/*.sh (sh): what tests/e2e/lib.sh gives, and
#   READY LOAD   how to await and to load `$B/orders --serve 0`, as lines of an experiment file
. "$(dirname "$0")/../e2e/lib.sh"
ORDERS=$B/orders
[ -x "$ORDERS" ] || { echo "build first: $ORDERS"; exit 1; }
export ORDERS W
READY='ready: grep -q listening "$TARRY_EXPERIMENT_DIR/program.log"'
# shellcheck disable=SC2016
PORT='port=$(sed -n "s/.*127\.0\.0\.1:\([0-9]*\)$/\1/p" "$TARRY_EXPERIMENT_DIR/program.log")'
LOAD="load: |
  $PORT
  \"\$ORDERS\" --load \"\$port\" --requests \${REQUESTS:-20} --latencies \"\$TARRY_EXPERIMENT_LATENCIES\""
# experiment STATUS NAME ARGUMENT...: tarry experiment -c $W/NAME.yaml -o $W/NAME.tsv ..., output in $W/out and $W/err
experiment() {
	want=$1 name=$2
	shift 2
	rm -f "$W/$name.tsv"
	timeout -k 5 100 "$TARRY" experiment -c "$W/$name.yaml" -o "$W/$name.tsv" "$@" >"$W/out" 2>"$W/err"
	rc=$?
	[ $rc = "$want" ] && good "$name: status $want" || { fail "$name: status $rc, not $want"; cat "$W/err" "$W/out"; }
}
rows() { grep -cE "^[0-9]+	" "$1"; } # FILE: runs in it

#!/bin/sh
# SPDX-License-Identifier: MIT
# A vfork child that closes its descriptors takes no request from its parent, with and without captured bytes.
. "$(dirname "$0")/lib.sh"
build vforks || exit 1
printf 'capture_bytes: 32\n' >"$W/captured.yaml"
for c in "$TOP/configs/default.yaml" "$W/captured.yaml"; do
	conf=$(basename "$c" .yaml)
	check "$conf: recorded" "$TARRY" record -q -c "$c" -o "$W/$conf.tarry" -- "$W/vforks"
	"$TARRY" report --json "$W/$conf.tarry" >"$W/$conf.json"
	check "$conf: ten requests, each answered" $PY -c '
import json, sys
q = json.load(open(sys.argv[1]))["requests"]
assert q["count"] == 10, q["count"]' "$W/$conf.json"
done
"$TARRY" dump --json "$W/captured.tarry" >"$W/dump"
check "their class" [ "$(grep -c '"GET /vfork"' "$W/dump")" = 10 ]
done_

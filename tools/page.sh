#!/bin/sh
# SPDX-License-Identifier: MIT
# Puts the page of `tarry report --html` together: analyze/html/ and d3 (Debian: node-d3)
# become two pieces, what comes before the data and what comes after.
#   tools/page.sh D3.MIN.JS BEFORE AFTER
# The page names the hash of its style and of each script and forbids everything else,
# so that no name in a recording can run, and nothing can be fetched.
set -eu
D3=$1 BEFORE=$2 AFTER=$3 FROM=analyze/html
SCRIPTS="base table chart head latency sites tree heat scatter blame slowest main"
if [ ! -r "$D3" ]; then
	echo "tarry: cannot build without the charting library, $D3; package node-d3 (install: tools/packages.sh build)" >&2
	exit 1
fi
W=$(mktemp -d "${TMPDIR:-/tmp}/tarry-page.XXXXXX")
trap 'rm -rf "$W"' EXIT

if grep -qiE '</?script|<!--' "$D3"; then
	echo "tarry: $D3 cannot stand inside a page: it has a tag" >&2
	exit 1
fi
{ echo; cat "$FROM/style.css"; } >"$W/style"
{ echo; cat "$D3"; echo; } >"$W/d3"
{
	echo
	echo '(function () {'
	echo '"use strict";'
	for s in $SCRIPTS; do cat "$FROM/$s.js"; done
	echo '})();'
} >"$W/app"
# What a browser computes over the text of the element.
hash() { sha256sum "$1" | cut -c1-64 | tr a-f A-F | basenc -d --base16 | basenc --base64; }
csp="default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-$(hash "$W/style")'; \
script-src 'sha256-$(hash "$W/d3")' 'sha256-$(hash "$W/app")'"

out=$W/before
while IFS= read -r line; do
	case $line in
	*@POLICY@*) printf '%s\n' "${line%%@POLICY@*}$csp${line#*@POLICY@}" ;;
	@STYLE@) printf '<style>'; cat "$W/style"; echo '</style>' ;;
	@D3@) printf '<script>'; cat "$W/d3"; echo '</script>' ;;
	@APP@) printf '<script>'; cat "$W/app"; echo '</script>' ;;
	@LICENCES@) cat "$FROM/licences.txt" ;;
	@DATA@) out=$W/after ;;
	*) printf '%s\n' "$line" ;;
	esac >>"$out"
done <"$FROM/page.html"
mv "$W/after" "$AFTER"
mv "$W/before" "$BEFORE" # last: make looks at this one

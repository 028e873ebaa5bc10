#!/bin/sh
# SPDX-License-Identifier: MIT
# make deb: builds the Debian package in a copy of the tree and leaves it in $B.  No
# network.  The same tree gives the same package: times are those of the last commit.
set -eu
cd "$(dirname "$0")/.."
B=${B:-build}
mkdir -p "$B"
out=$(cd "$B" && pwd)
work=$out/deb
rm -rf "$work"
mkdir -p "$work/tarry"
if git rev-parse -q --verify HEAD >/dev/null 2>&1; then
	: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
	git ls-files -z --cached --others --exclude-standard >"$work/files"
else
	: "${SOURCE_DATE_EPOCH:=$(dpkg-parsechangelog -S Timestamp)}"
	find . -name 'build*' -prune -o ! -type d ! -name '*.tarry*' -print0 >"$work/files"
fi
export SOURCE_DATE_EPOCH
tar c --null --ignore-failed-read --mtime="@$SOURCE_DATE_EPOCH" -T "$work/files" | tar x -C "$work/tarry"
export DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-parallel=$(nproc)}"
log=$out/deb.log
# -d: what is missing is said by tools/packages.sh, for other distributions' names, too
if ! (cd "$work/tarry" && dpkg-buildpackage -b -us -uc -d) >"$log" 2>&1; then
	tail -n 30 "$log" >&2
	echo "tarry: the package could not be built; all of it: $log" >&2
	exit 1
fi
rm -f "$out"/tarry*_*.deb
mv "$work"/*.deb "$out"
rm -rf "$work"
for f in "$out"/tarry*_*.deb; do echo "$f"; done

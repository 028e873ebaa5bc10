#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: make deb builds a package that lintian has no error for, whose
# dependencies are those of its programs; it is installed into a root of its own,
# records there, and leaves nothing behind when it is removed.
# timeout: 900
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null || { echo "dpkg-dev and debhelper are not installed"; exit 77; }
W=$(mktemp -d "${TMPDIR:-/tmp}/tarry-deb.XXXXXX") || exit 1
trap 'rm -rf "$W"' EXIT
FAILED=0
fail() { echo "wrong: $*"; FAILED=1; }

B=$B tools/deb.sh >"$W/made" || exit 1
deb=$(grep '/tarry_[^/]*$' "$W/made")
[ -f "$deb" ] || { echo "no package: $(cat "$W/made")"; exit 1; }
[ "$(dpkg-deb -f "$deb" Version)" = "$("$B/tarry" --version | cut -d' ' -f2)" ] || fail "debian/changelog has another version"

# nothing but files below /usr, and no script that runs as root
dpkg-deb -c "$deb" | awk '{ print $6 }' | grep -v '^\./\(usr/.*\)\?$' | grep . && fail "files outside /usr"
dpkg-deb -c "$deb" | grep -v '^[d-][rwx-]* root/root' | grep . && fail "files that are not root's, or special ones"
dpkg-deb --ctrl-tarfile "$deb" | tar t | grep -vxE './|./(control|md5sums)' && fail "maintainer scripts"
# all that make install installs
make -s B="$B" PREFIX=/usr DESTDIR="$W/d" install >"$W/log" 2>&1 || { cat "$W/log"; exit 1; }
dpkg-deb -x "$deb" "$W/x"
(cd "$W/d" && find . -type f | sed 's/\.1$/.1.gz/; s|zsh/site-functions|zsh/vendor-completions|' | sort) >"$W/want"
(cd "$W/x" && find . -type f | sort) >"$W/got"
missing=$(comm -23 "$W/want" "$W/got")
[ -z "$missing" ] || fail "not in the package: $missing"

# the packages that hold the libraries of the programs, and what building needs
depends=" $(dpkg-deb -f "$deb" Depends | sed 's/([^)]*)//g' | tr -d ,) "
for l in $(readelf -d "$W/x/usr/bin/tarry" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p'); do
	path=$(ldd "$W/x/usr/bin/tarry" | awk -v l="$l" '$1 == l { print $3 }')
	p=$(dpkg-query -S "$path" "$(readlink -f "$path")" 2>/dev/null | head -n 1 | cut -d: -f1)
	case $depends in *" $p "*) ;; *) fail "does not depend on $p for $l" ;; esac
done
build=$(sed -n "/^BUILD='/,/'\$/p" tools/packages.sh | tr -d "'" | sed 's/^BUILD=//' | tr ' ' '\n' | grep -vxE 'gcc|make|libc6-dev' | sort)
control=$(sed -n '/^Build-Depends:/,/^[^ B]/p' debian/control | grep -E '^( |Build)' | sed 's/^Build-Depends://' | tr -d ' ' |
	tr , '\n' | grep -v debhelper | grep . | sort)
[ "$build" = "$control" ] || fail "Build-Depends of debian/control is not what tools/packages.sh build installs"

if command -v lintian >/dev/null; then
	lintian --allow-root --fail-on error "$deb" >"$W/log" 2>&1 || fail "lintian: $(cat "$W/log")"
else
	echo "lintian is not installed, left out"
fi

# a root whose dpkg knows the packages of this machine, so that dependencies count
if [ "$(id -u)" = 0 ]; then
	R=$W/root
	mkdir -p "$R/var/lib/dpkg/info" "$R/var/lib/dpkg/updates" "$R/var/lib/dpkg/triggers" "$R/etc"
	awk -v RS= -v ORS='\n\n' '!/^Package: tarry\n/' /var/lib/dpkg/status >"$R/var/lib/dpkg/status"
	(cd "$R" && find . -path ./var -prune -o -print | sort) >"$W/before"
	dpkg --root="$R" --log="$W/dpkg.log" -i "$deb" >"$W/log" 2>&1 || fail "dpkg -i: $(cat "$W/log")"
	dpkg --root="$R" --verify tarry | grep . && fail "installed files differ"
	[ -e "$R/etc/ld.so.preload" ] && fail "/etc/ld.so.preload"
	"$R/usr/bin/tarry" record -q -o "$W/s.tarry" -- sleep 0.01 2>"$W/log" || fail "does not record: $(cat "$W/log")"
	"$R/usr/bin/tarry" dump "$W/s.tarry" 2>&1 | grep -q nanosleep || fail "the recording has no wait"
	env TARRY_STORE="$W/p.tarry" LD_PRELOAD="$R/usr/lib/tarry/libtarry.so" sleep 0.01 || fail "plain preload"
	[ -s "$W/p.tarry" ] || fail "plain preload does not find the recorder"
	dpkg --root="$R" --log="$W/dpkg.log" -P tarry >"$W/log" 2>&1 || fail "dpkg -P: $(cat "$W/log")"
	(cd "$R" && find . -path ./var -prune -o -print | sort) | diff "$W/before" - || fail "left behind after removal"
else
	echo "not root: not installed"
fi
exit $FAILED

#!/bin/bash
# SPDX-License-Identifier: MIT
# make fresh: a clean clone on a fresh Debian 12.  Into a root of its own, by debootstrap:
# the README's commands and the package, from installation to removal.  As root.
#   FULL=1            also make test, all of it or SUITES="unit docs"
#   FROM=FOLDER       a root that debootstrap made before, which is copied
# Mirror, sources and proxy are those of this machine's apt.  The mounts belong to a
# namespace that ends with the script, and so do the processes.
set -u
cd "$(dirname "$0")/.." || exit 1
TOP=$PWD
SUITE=bookworm

if [ "${1:-}" != inside ]; then
	[ "$(id -u)" = 0 ] || { echo "tarry: make fresh needs root" >&2; exit 1; }
	tools/packages.sh fresh || exit 1
	ROOT=$(mktemp -d "${TMPDIR:-/tmp}/tarry-fresh.XXXXXX") || exit 1
	chmod 755 "$ROOT" # "/" of servers that run as another user
	export ROOT
	away() {
		if grep -qF " $ROOT" /proc/self/mountinfo; then
			echo "tarry: $ROOT has mounts and is left" >&2
		else
			rm -rf --one-file-system "$ROOT" "$ROOT.log"
		fi
	}
	trap away EXIT
	unshare --mount --pid --fork --kill-child --propagation private "$0" inside &
	child=$!
	trap 'kill -KILL $child; wait $child; exit 130' INT TERM
	wait $child
	exit
fi

passed=0 failed=0
step() { # NAME COMMAND...
	local name=$1 start=$SECONDS
	shift
	if "$@" >"$ROOT.log" 2>&1 </dev/null; then
		grep -E '^(skip |[0-9]+ passed)' "$ROOT.log" | sed 's/^/    /'
		echo "ok $name ($((SECONDS - start)) s)"
		passed=$((passed + 1))
	else
		tail -n 60 "$ROOT.log" | sed 's/^/    /'
		echo "FAIL $name ($((SECONDS - start)) s)"
		failed=$((failed + 1))
	fi
	rm -f "$ROOT.log"
	[ $failed = 0 ]
}
finish() {
	echo "$passed passed, $failed failed"
	[ $failed = 0 ]
	exit
}

in_root() { # SHELL-TEXT
	chroot "$ROOT" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} \
		${https_proxy:+https_proxy="$https_proxy"} ${NODE_EXTRA_CA_CERTS:+NODE_EXTRA_CA_CERTS=/etc/machine-ca.crt} \
		sh -ec "$1"
}

base() {
	local mirror
	if [ -n "${FROM:-}" ]; then
		cp -a "$FROM/." "$ROOT"
		return
	fi
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $SUITE" 2>/dev/null | head -n 1)
	debootstrap --variant=minbase "$SUITE" "$ROOT" "${mirror:-http://deb.debian.org/debian}"
}

# What this machine's apt needs to reach its mirror, and npm its registry.
apt_settings() {
	local f
	[ -z "${NODE_EXTRA_CA_CERTS:-}" ] || cp -L "$NODE_EXTRA_CA_CERTS" "$ROOT/etc/machine-ca.crt"
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
		[ -f "$f" ] && grep -q "^[^#]*$SUITE" "$f" && grep -q '^[^#]*/debian' "$f" && cp --parents "$f" "$ROOT"
	done
	[ ! -f "$ROOT/etc/apt/sources.list.d/debian.sources" ] || rm -f "$ROOT/etc/apt/sources.list"
	[ ! -d /etc/apt/auth.conf.d ] || cp -a --parents /etc/apt/auth.conf.d "$ROOT"
	apt-config dump | grep -E '^Acquire::(http|https|Check|ForceIPv4|Retries)' >"$ROOT/etc/apt/apt.conf.d/01machine"
	cp -L /etc/resolv.conf /etc/hosts "$ROOT/etc/"
}

mounts() {
	mount -t proc proc "$ROOT/proc" && mount -t sysfs -o ro sysfs "$ROOT/sys" &&
		mkdir -p "$ROOT/dev/shm" "$ROOT/dev/pts" && mount -t tmpfs -o mode=1777 shm "$ROOT/dev/shm" &&
		mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$ROOT/dev/pts" &&
		ln -sf pts/ptmx "$ROOT/dev/ptmx"
}

# What is called after us, beside the clone.
OURS='find / -xdev \( -path /src -o -path /proc -o -path /sys \) -prune -o -name "*tarry*" -print |
	grep -v "^/var/lib/dpkg/\|^/var/cache/apt/" | sort'

package() {
	in_root "$OURS >/before" && in_root 'cd /root; mkdir /tmp/used
		apt-get install -q -y /src/build/tarry_*.deb
		tarry --version
		tarry record -q -o /tmp/used/run.tarry -- ls / | grep usr
		tarry record -q -o /tmp/used/sleep.tarry -- sleep 0.1
		tarry dump /tmp/used/sleep.tarry | grep nanosleep
		tarry info /tmp/used/run.tarry | grep /usr/bin/ls
		dpkg --verify tarry
		test ! -e /etc/ld.so.preload'
}

removal() {
	in_root 'rm -rf /tmp/used; apt-get purge -q -y -o Dpkg::Use-Pty=0 tarry; test ! -e /etc/ld.so.preload' &&
		in_root "$OURS | diff /before -"
}

# All that is not ok is shown, also when it passes: what is skipped there, for instance.
tests() {
	in_root "cd /src; make test SUITES='${SUITES:-}' >/test.log 2>&1 && rc=0 || rc=\$?
		grep -v '^ok ' /test.log; exit \$rc"
}

step "debootstrap $SUITE" base && step "apt's settings" apt_settings && step "mounts" mounts &&
	step "clone" git clone -q --no-hardlinks "$TOP" "$ROOT/src" &&
	step "git and make" in_root 'apt-get update -q; apt-get install -q -y --no-install-recommends git make ca-certificates' &&
	step "make demo" in_root 'cd /src; make demo; test -x build/tarry' &&
	step "make deb" in_root 'cd /src; make deb' &&
	step "the package is installed and records" package &&
	step "the package is removed" removal || finish
[ -z "${FULL:-}" ] || step "make test" tests
finish

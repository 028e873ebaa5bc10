#!/bin/sh
# SPDX-License-Identifier: MIT
# Debian packages of this project.
#   tools/packages.sh build|test   install what is missing (as root or by sudo)
#   tools/packages.sh need         only say which libraries of the build are missing (any system)
# Without root and sudo: one line with the packages to install, exit status 1.
# A server that is installed for the tests is neither started nor enabled.
set -u

BUILD='gcc make pkg-config libc6-dev liblmdb-dev libunwind-dev libyaml-dev libdw-dev libelf-dev libjansson-dev
libzstd-dev libxxhash-dev libiberty-dev zlib1g-dev libncurses-dev'
SERVERS='mariadb-server postgresql memcached redis-server nginx'
TEST="$SERVERS g++ clang libclang-rt-dev libcunit1-dev binutils python3 procps strace gdb git lld gcc-multilib
busybox-static mariadb-client sysbench postgresql-contrib libmemcached-tools redis-tools rocksdb-tools wrk
sqlite3 openssl groff-base util-linux bsdutils tmux codespell cppcheck clang-format"
# Some builds of nodejs bring npm with them and refuse Debian's.
command -v npm >/dev/null 2>&1 || TEST="$TEST npm"

# pkg-config's name, Debian's name
LIBRARIES='lmdb:liblmdb-dev libunwind-generic:libunwind-dev yaml-0.1:libyaml-dev libdw:libdw-dev
libelf:libelf-dev jansson:libjansson-dev libzstd:libzstd-dev libxxhash:libxxhash-dev zlib:zlib1g-dev
ncursesw:libncurses-dev'

say() { echo "tarry: $*" >&2; }

need() {
	missing=
	if command -v pkg-config >/dev/null 2>&1; then
		for l in $LIBRARIES; do
			pkg-config --exists "${l%%:*}" || missing="$missing ${l##*:}"
		done
	else
		missing=' pkg-config'
	fi
	echo '#include <demangle.h>' | ${CC:-cc} -I/usr/include/libiberty -E - >/dev/null 2>&1 ||
		missing="$missing libiberty-dev"
	[ -z "$missing" ] && return 0
	say "cannot build without these packages:$missing (install: tools/packages.sh build)"
	return 1
}

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

not_installed() {
	for p in "$@"; do
		installed "$p" || printf ' %s' "$p"
	done
}

# apt-get with services held back: packages ask /usr/sbin/policy-rc.d before they start one.
install_as_root() {
	policy=/usr/sbin/policy-rc.d
	if [ ! -e $policy ]; then
		printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy
		trap 'rm -f /usr/sbin/policy-rc.d' EXIT
	fi
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -q >&2 && apt-get install -q -y --no-install-recommends "$@" >&2 </dev/null || return 1
	if [ -d /run/systemd/system ]; then
		for s in $SERVERS; do
			case " $* " in *" $s "*)
				systemctl disable -q "$s" >/dev/null 2>&1 ||
					systemctl disable -q "${s%-server}" >/dev/null 2>&1 ;;
			esac
		done
	fi
	return 0
}

case ${1:-} in
need) need; exit ;;
build) LIST=$BUILD ;;
test) LIST="$BUILD $TEST" ;;
as-root) shift; install_as_root "$@"; exit ;;
*) say "usage: tools/packages.sh build|test|need"; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1; then
	need || exit 1
	exit 0 # another distribution: what the build needs is there
fi
# shellcheck disable=SC2086 # lists of words
missing=$(not_installed $LIST)
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ]; then
	run=
elif command -v sudo >/dev/null 2>&1 && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
	run=sudo
else
	say "missing packages; as root: apt-get install --no-install-recommends$missing"
	exit 1
fi
say "installing$missing"
# shellcheck disable=SC2086
$run sh "$0" as-root $missing || {
	say "could not install; as root: apt-get install --no-install-recommends$missing"
	exit 1
}

#!/bin/sh
# SPDX-License-Identifier: MIT
# Debian packages of this project.
#   tools/packages.sh build|test|bench|deb|fresh   install what is missing (as root or by sudo)
#   tools/packages.sh need         only say which libraries of the build are missing (any system)
# Without root and sudo: one line with the packages to install, exit status 1.
# A server that is installed for the tests is neither started nor enabled.
set -u

BUILD='gcc make pkg-config libc6-dev liblmdb-dev libunwind-dev libyaml-dev libdw-dev libelf-dev libjansson-dev
libzstd-dev libxxhash-dev libiberty-dev zlib1g-dev libncurses-dev node-d3'
SERVERS='mariadb-server postgresql memcached redis-server nginx'
TEST="$SERVERS zsh fish g++ clang libclang-rt-dev libcunit1-dev binutils python3 procps spin strace gdb git lld gcc-multilib
busybox-static qemu-user mariadb-client sysbench postgresql-contrib libmemcached-tools redis-tools rocksdb-tools wrk
sqlite3 openssl groff-base util-linux bsdutils tmux codespell cppcheck clang-format
chromium"
BENCH='librocksdb-dev libdb5.3-dev'
# Runtimes and libraries that tests/real records programs of.
PROGRAMS='openjdk-17-jdk-headless ocaml-nox rustc ruby erlang-base libgomp1 perl xz-utils fakeroot faketime
libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0'
# Some builds of nodejs bring npm with them and refuse Debian's.
command -v npm >/dev/null 2>&1 || TEST="$TEST npm"
DEB='dpkg-dev debhelper'
TEST="$TEST $DEB lintian"

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
	[ -r "${D3:-/usr/share/nodejs/d3/dist/d3.min.js}" ] || missing="$missing node-d3"
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
	# another apt may be at work, such as that of unattended-upgrades
	apt='apt-get -o DPkg::Lock::Timeout=300'
	$apt update -q >&2 && $apt install -q -y --no-install-recommends "$@" >&2 </dev/null || return 1
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
test) LIST="$BUILD $TEST $PROGRAMS" ;;
bench) LIST="$BUILD $SERVERS $BENCH python3 git sysbench mariadb-client postgresql-contrib rocksdb-tools util-linux" ;;
deb) LIST="$BUILD $DEB" ;;
fresh) LIST='debootstrap util-linux git' ;;
as-root) shift; install_as_root "$@"; exit ;;
*) say "usage: tools/packages.sh build|test|bench|deb|fresh|need"; exit 2 ;;
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

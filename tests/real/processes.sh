#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 240.  Many short processes: a parallel build, git, pipelines of a shell, Perl's
# children.  Most processes live for a few milliseconds.
. "$(dirname "$0")/lib.sh"
script() { cat >"$W/$1"; }

if command -v make >/dev/null; then
	$PY "$CHECKS/programs/tree.py" "$W/tree" 12
	script build <<-'S'
		cp -r "$1" tree && make -s -j2 -C tree && cksum tree/prog
	S
	export CC=${CC:-cc}
	both "make -j2" sh "$W/build" "$W/tree"
	judge make "GNU make $(version make), gcc $(version gcc)" "-j2, 12 files" --processes 40
fi

if command -v git >/dev/null; then
	script git <<-'S'
		set -e
		export GIT_AUTHOR_DATE='2020-01-01 00:00:00 +0000' GIT_COMMITTER_DATE='2020-01-01 00:00:00 +0000'
		export GIT_CONFIG_NOSYSTEM=1 HOME=$PWD
		git config --global user.name t
		git config --global user.email t@example.org
		git config --global init.defaultBranch main
		git config --global pack.threads 2
		git init -q a
		cd a
		for i in 1 2 3 4 5 6 7 8; do
			seq $((i * 100)) $((i * 400)) >file$((i % 3))
			git add .
			git commit -q -m "commit $i"
		done
		cd ..
		git clone -q --no-hardlinks "file://$PWD/a" b
		cd b
		git gc -q
		git fsck --no-progress
		git log --format='%H %s'
		git grep -c 77
	S
	both git sh "$W/git"
	judge git "git $(version git)" "commit, clone, gc, fsck, log" --processes 60
fi

script pipeline <<-'S'
	seq 60000 | awk '{ print $1 * 7919 % 10007 }' | sort -n --parallel=2 | uniq -c | xz -T2 -c | xz -dc | cksum
	seq 3000 | xargs -n 300 -P 4 sh -c 'echo $#' sh | sort | uniq -c
	tar cf - -C "$1" . | gzip -n | gzip -dc | tar tf - | wc -l
	sleep 0.01 & wait
	echo e >&2
S
mkdir -p "$W/files"
cp "$CHECKS"/*.sh "$W/files"
both pipeline bash "$W/pipeline" "$W/files"
judge pipeline "bash $(version bash), coreutils, xz" "sort | uniq | xz -T2, xargs -P, tar" --processes 30

script perl <<-'S'
	use strict; use warnings; use Fcntl ':flock'; use Time::HiRes 'usleep'; use POSIX ();
	open(my $lock, '>', 'lock') or die; open(my $sum, '+>', 'sum') or die; syswrite($sum, sprintf('%08d', 0));
	for my $c (1 .. 6) {
		my $pid = fork; die unless defined $pid;
		next if $pid;
		open(my $mine, '>', 'lock') or die; open(my $f, '+<', 'sum') or die;
		for (1 .. 50) {
			flock($mine, LOCK_EX) or die;
			sysseek($f, 0, 0); sysread($f, my $n, 8); usleep(200);
			sysseek($f, 0, 0); syswrite($f, sprintf('%08d', $n + 1));
			flock($mine, LOCK_UN) or die;
		}
		POSIX::_exit(0);
	}
	my $ended = 0; while ((my $p = wait) > 0) { $ended++; die if $?; }
	sysseek($sum, 0, 0); sysread($sum, my $n, 8); print "$ended children counted to $n\n";
S
both Perl perl "$W/perl"
judge perl "Perl $(version perl)" "6 children, one lock file" --processes 7 --top flock --complete 0.99
exit $FAILED

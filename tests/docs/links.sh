#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: files that the documents name exist, and the README's presets are
# those of configs/.
set -u
cd "$(dirname "$0")/../.." || exit 1
FAILED=0
fail() { echo "wrong: $*"; FAILED=1; }

for doc in *.md docs/*.md examples/*/README.md; do
	[ -f "$doc" ] || continue
	dir=$(dirname "$doc")
	for to in $(grep -oE '\]\([^)#]+' "$doc" | sed 's/^](//' | grep -vE '^https?:'); do
		[ -e "$dir/$to" ] || fail "$doc links to $to, which does not exist"
	done
	# `path/like/this.c` in code marks, from the top of the tree; a how-to also creates files
	new=$(grep -oE 'new file `[^`]+`' "$doc" | cut -d'`' -f2)
	for f in $(grep -oE '`(cli|common|recorder|analyze|experiment|preload|policies|include|configs|tests|docs|examples|tools)/[A-Za-z0-9_./-]+`' "$doc" |
		tr -d '`' | grep -v NAME); do
		case " $(echo $new) " in *" $f "*) continue ;; esac
		[ -e "$f" ] || fail "$doc names $f, which does not exist"
	done
done
for p in configs/*.yaml; do
	grep -q "$(basename "$p" .yaml)" README.md || fail "README.md does not name the preset $p"
done
exit $FAILED

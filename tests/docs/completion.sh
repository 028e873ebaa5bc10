#!/bin/bash
# SPDX-License-Identifier: MIT
# suite, timeout: 240.  Completion: bash, zsh and fish complete the commands, every option
# that a command's --help prints and no other, the words that options take (the
# command takes each of them), presets and stores.
set -u
cd "$(dirname "$0")/../.." || exit 1
TOP=$PWD
B=${B:-build}
case $B in /*) ;; *) B=$TOP/$B ;; esac
[ -x "$B/tarry" ] || { echo "build first: $B/tarry is needed"; exit 1; }
W=$(mktemp -d "${TMPDIR:-/tmp}/tarry-completion.XXXXXX") || exit 1
trap 'rm -rf "$W"' EXIT
export HOME=$W XDG_CONFIG_HOME=$W/config XDG_DATA_HOME=$W/data XDG_CACHE_HOME=$W/cache LC_ALL=C.UTF-8
mkdir "$W/here" && cd "$W/here" || exit 1
"$B/tarry" record -q -o run.tarry -- sleep 0.01 && touch other.txt own.yaml a.tsv 'with blank.tarry' && mkdir sub || exit 1
# what is completed is a `tarry` in PATH, in an installation
make -s -C "$TOP" B="$B" PREFIX="$W/usr" install >"$W/log" 2>&1 || { cat "$W/log"; exit 1; }
PATH=$W/usr/bin:$PATH
failed=0
shell=
good() { echo "ok completion: $shell: $*"; }
fail() { echo "FAIL completion: $shell: $*"; failed=1; }
same() { # WHAT WANTED GOT
	if [ "$2" = "$3" ]; then
		good "$1"
	else
		fail "$1"
		diff <(echo "$2") <(echo "$3") | sed 's/^/     | /'
	fi
}
sorted() { tr -s ' \n' '\n\n' | sed '/^$/d' | sort -u; }
commands=$(tarry --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
options_of() { tarry "$1" --help | grep -oE -- '--[a-z][a-z-]*' | sort -u; }

# ---- bash's function, called as readline does: "=" and ":" are words of their own ----
. "$TOP/completion/tarry.bash"
compopt() { :; } # works in the real thing only, which is tried below
ask() { # LINE -> COMPREPLY, one a line
	local line
	line=$(sed -E 's/([=:])/ \1 /g' <<<"$1")
	read -ra COMP_WORDS <<<"$line"
	case $1 in *[' =']) [[ $1 = *= ]] || COMP_WORDS+=('') ;; esac
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
	_tarry tarry
	[ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}"
}
shell=bash
same 'value after =' "chrome csv" "$(ask 'tarry export --format=c' | sorted | tr '\n' ' ' | sed 's/ $//')"
same 'value after a blank' chrome "$(ask 'tarry export --format ch')"
same 'value of a short option' name "$(ask 'tarry top -s n')"
same 'value of the last of some' function "$(ask 'tarry report -jb f')"
same 'no value of an attached one' run.tarry "$(ask 'tarry report -bsite run')"
same 'values are no stores' run.tarry "$(ask 'tarry report -k 3 --by site run')"
same 'no second store' "" "$(ask 'tarry report run.tarry ')"
same 'two stores of compare' run.tarry "$(ask 'tarry compare run.tarry run')"
same 'stores and folders only' "$(printf 'run.tarry\nsub\nwith blank.tarry')" "$(ask 'tarry info ' | sort)"
same 'all files where there is no store' other.txt "$(ask 'tarry info ot')"
same 'words of ctl' "$(printf 'off\non\nordered')" "$(ask 'tarry ctl run.tarry o' | sort)"
same 'presets by name' "$W/usr/share/tarry/configs/mariadb.yaml" "$(ask 'tarry record -c mar')"
same 'all presets' "$(cd "$TOP/configs" && ls -- *.yaml; echo own.yaml)" \
	"$(ask 'tarry record --config=' | grep -v '^sub$' | sed 's|.*/||')"
same 'a program' "$(compgen -c mktem | sort -u)" "$(ask 'tarry record -o x -- mktem' | sort -u)"
same 'a program without --' "$(compgen -c mktem | sort -u)" "$(ask 'tarry record -q mktem' | sort -u)"
same 'experiments are no presets' own.yaml "$(ask 'tarry experiment -c o')"
same 'samples' "$(printf 'a.tsv\nsub')" "$(ask 'tarry experiment --judge ' | sort)"
same 'a program of an experiment' "$(compgen -c mktem | sort -u)" "$(ask 'tarry experiment -c own.yaml -- mktem' | sort -u)"
same 'nothing of an unknown command' "" "$(ask 'tarry nonsense -')"

# ---- the words that are offered are taken, and others are not ----
shell=words
bad= n=0
for c in $commands; do
	for o in $(options_of "$c"); do
		for w in $(_tarry_words "$c" "$o"); do
			n=$((n + 1))
			more=
			case $c$o in
			export--weight) more=--format=folded ;;
			export--what) more='--format=csv --requests=site:main' ;;
			export--requests) more=--format=csv ;;
			compare*) more=run.tarry ;;
			esac
			case $w in *:) w=${w}fsync ;; esac
			tarry "$c" $more "$o=$w" run.tarry >/dev/null 2>"$W/err" </dev/null
			[ $? = 2 ] && bad="$bad $c $o=$w: $(head -n 1 "$W/err");"
		done
		if [ -n "$(_tarry_words "$c" "$o")" ] && [ "$c $o" != 'top --requests' ]; then # asks for a terminal first
			tarry "$c" $more "$o=nonsense" run.tarry >/dev/null 2>&1 </dev/null
			[ $? = 2 ] || bad="$bad $c $o=nonsense is no error;"
		fi
	done
done
[ $n -gt 50 ] || bad="$bad only $n words"
same "each is taken" "" "$bad"
same formats "$(_tarry_words export --format | sorted)" \
	"$(tarry export --format=x run.tarry 2>&1 | sed -n 's/.*there are //p' | tr -d , | sorted)"
same 'orders of top' "$(_tarry_words top --sort | sorted)" \
	"$(tarry top -b --sort=x 2>&1 | sed -n "s/.*there are \(.*\), not.*/\1/p" | tr -d , | sorted)"
same 'orders of record' "$(_tarry_words record --order | sorted)" \
	"$(tarry record --order=x -- true 2>&1 | sed -n 's/.*the orders are //p' | tr -d , | sorted)"
same 'classes of operations' "$(_tarry_words dump --op | sorted)" \
	"$(sed -n '/^# Classes of operations/,/^# "-name"/p' "$TOP/configs/default.yaml" | sed '1d;$d;s/^# //' | sorted)"

# ---- real shells ----
shown() { # LINE: what was shown for it
	awk -v line="== $1" '$0 ~ /^== / { on = $0 == line; next } on' "$W/shown"
}
lines=('tarry ')
for c in $commands; do lines+=("tarry $c --"); done
for shell in bash zsh; do
	command -v $shell >/dev/null || { echo "skip completion: $shell is not installed"; continue; }
	file=$TOP/completion/tarry.bash
	[ $shell = zsh ] && file=$TOP/completion/_tarry
	timeout 100 python3 "$TOP/tests/docs/press_tab.py" $shell "$file" "${lines[@]}" 'tarry export --format=ch' \
		'tarry info run' 'tarry record -c mar' 'tarry record -- mktem' >"$W/shown" 2>&1 || fail "$(tail -n 5 "$W/shown")"
	for c in $commands; do
		shown 'tarry ' | grep -qE "(^| )$c( |\$)" || fail "$c is not shown"
		same "options of $c" "$(options_of "$c")" "$(shown "tarry $c --" | grep -oE -- '--[a-z][a-z-]*' | sort -u)"
	done
	for x in 'export --format=ch:--format=chrome' 'info run:info run.tarry' 'record -c mar:configs/mariadb.yaml' \
		'record -- mktem:record -- mktemp'; do
		shown "tarry ${x%%:*}" | grep -q -e "${x#*:}" && good "${x#*:}" || fail "${x%%:*}: $(shown "tarry ${x%%:*}")"
	done
done
shell=fish
if command -v fish >/dev/null; then
	fish -c 'source $argv[1]; for line in $argv[2..-1]; echo "== $line"; complete -C $line; end' \
		"$TOP/completion/tarry.fish" "${lines[@]}" 'tarry export --format ' 'tarry export --format=ch' \
		'tarry ctl run.tarry ' 'tarry info run' 'tarry record -c ' 'tarry record -o x -- mktem' 2>&1 | cut -f 1 >"$W/shown"
	same commands "$(sorted <<<"$commands")" "$(shown 'tarry ' | grep -v ^- | sort)"
	for c in $commands; do
		same "options of $c" "$(options_of "$c")" "$(shown "tarry $c --" | sort -u)"
	done
	same formats "$(_tarry_words export --format | sorted)" "$(shown 'tarry export --format ' | sort)"
	same 'value after =' --format=chrome "$(shown 'tarry export --format=ch')"
	same 'words of ctl' "$(printf 'native\noff\non\nordered\nstatus')" "$(shown 'tarry ctl run.tarry ' | sort)"
	same stores run.tarry "$(shown 'tarry info run')"
	same presets "$W/usr/share/tarry/configs/mariadb.yaml" "$(shown 'tarry record -c ' | grep mariadb)"
	same 'a program' mktemp "$(shown 'tarry record -o x -- mktem')"
else
	echo "skip completion: fish is not installed"
fi
exit $failed

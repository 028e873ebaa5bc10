# SPDX-License-Identifier: MIT
# Completion of tarry for bash.  Commands and options are those that the command
# itself prints with --help; the words that options take stand in _tarry_words.

# What --help lists, one option a line: "-o --output =", without "=" if it takes no value.
_tarry_options() { # TARRY COMMAND
	"$1" "$2" --help 2>/dev/null | sed -nE 's/^ +((-[A-Za-z?]), +)?(--[a-z-]+)(=)?.*/\2 \3 \4/p'
}

# The presets of that installation, or of the source tree that it was built in.
_tarry_presets() { # TARRY
	local top
	top=$(readlink -f "$(type -P "$1")") && top=${top%/*/*} || return
	printf '%s\n' "$top"/share/tarry/configs/*.yaml "$top"/configs/*.yaml | grep -v '\*'
}

# The words that an option takes.
_tarry_words() { # COMMAND OPTION
	case $2 in
	--format) echo folded pprof chrome csv ;;
	--by) echo site function operation; [[ $1 = report ]] && echo object ;;
	--requests)
		echo auto socket transaction marker site:
		[[ $1 = @(report|compare|top|export) ]] && echo none ;;
	--weight) echo us waits ;;
	--order) echo native fcfs eldest youngest random largest ;;
	--what) echo events sites requests ;;
	--sort) echo wait operation name id ;;
	--op)
		echo mutex rwlock spin cond sem barrier thread futex wake sync read write recv send copy accept connect
		echo close dup poll sleep yield flock aio loader signal child ;;
	esac
}

# Folders, and files whose names end with SUFFIX, or all files if none does.
_tarry_files() { # CURRENT [SUFFIX]
	local f files picked=()
	mapfile -t files < <(compgen -f -- "$1")
	for f in "${files[@]}"; do
		[[ -d $f || $f = *"${2:-}" ]] && picked+=("$f")
	done
	((${#picked[@]})) || picked=("${files[@]}")
	COMPREPLY+=("${picked[@]}")
	compopt -o filenames 2>/dev/null
}

_tarry_value() { # TARRY COMMAND OPTION CURRENT
	local p presets=()
	case $3 in
	--config)
		[[ $2 = record ]] && mapfile -t presets < <(_tarry_presets "$1")
		for p in "${presets[@]}"; do
			[[ ${p##*/} = "$4"* ]] && COMPREPLY+=("$p")
		done
		_tarry_files "$4" .yaml ;;
	--output | --keep) _tarry_files "$4" ;;
	--judge) _tarry_files "$4" .tsv ;;
	*) COMPREPLY=($(compgen -W "$(_tarry_words "$2" "$3")" -- "$4")) ;;
	esac
}

# The program of `tarry record` or `tarry experiment`, and its own arguments.
_tarry_program() { # INDEX
	if declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "$1"
	elif declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
	else
		_tarry_files "${COMP_WORDS[COMP_CWORD]}"
	fi
}

# The long form of the last option in WORD, such as -jk, if its value is the next word.
_tarry_pending() { # WORD, and the caller's tables
	local i o
	if [[ $1 = --* ]]; then
		[[ ${takes[$1]} ]] && pending=$1
		return
	fi
	for ((i = 1; i < ${#1}; i++)); do
		o=${long[${1:i:1}]}
		[[ $o && ${takes[$o]} ]] || continue
		((i == ${#1} - 1)) && pending=$o
		return
	done
}

_tarry() {
	local tarry=$1 cmd=${COMP_WORDS[1]} cur=${COMP_WORDS[COMP_CWORD]}
	local short name value w i pending= plain= stores=0 most=1 all=()
	local -A takes=() long=()
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		w=$("$tarry" --help 2>/dev/null | sed -nE 's/^  ([a-z]+) +.*/\1/p')
		COMPREPLY=($(compgen -W "$w --help --version" -- "$cur"))
		return
	fi
	while read -r short name value; do
		[[ $short = --* ]] && value=$name name=$short short=
		[[ $short ]] && long[${short#-}]=$name
		takes[$name]=$value
		all+=("$name$value")
	done < <(_tarry_options "$tarry" "$cmd")

	for ((i = 2; i < COMP_CWORD; i++)); do
		w=${COMP_WORDS[i]}
		if [[ $w = '=' ]]; then
			continue # readline takes --name=value for three words
		elif [[ $pending ]]; then
			pending=
		elif [[ $w = -- && ! $plain ]]; then
			plain=1
			[[ $cmd = @(record|experiment) ]] && { _tarry_program $((i + 1)); return; }
		elif [[ $w = -?* && ! $plain ]]; then
			_tarry_pending "$w"
		else
			[[ $cmd = @(record|experiment) ]] && { _tarry_program "$i"; return; }
			stores=$((stores + 1))
		fi
	done

	[[ $cur = '=' ]] && cur=
	[[ $cmd = compare ]] && most=2
	if [[ $pending ]]; then
		_tarry_value "$tarry" "$cmd" "$pending" "$cur"
	elif [[ $cur = -* && ! $plain ]]; then
		COMPREPLY=($(compgen -W "${all[*]}" -- "$cur"))
	elif [[ $cmd = @(record|experiment) ]]; then
		_tarry_program "$COMP_CWORD"
	elif [[ $cmd = ctl && $stores = 1 ]]; then
		COMPREPLY=($(compgen -W 'on off native ordered status' -- "$cur"))
	elif ((${#all[@]} > 0 && stores < most)); then
		_tarry_files "$cur" .tarry
	fi
	[[ ${#COMPREPLY[@]} = 1 && ${COMPREPLY[0]} = *[=:] ]] && compopt -o nospace 2>/dev/null
	return 0
}
complete -F _tarry tarry

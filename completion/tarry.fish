# SPDX-License-Identifier: MIT
# Completion of tarry for fish.  Commands and options are those that the command
# itself prints with --help; what the options take stands in __tarry_words.

function __tarry_words # COMMAND OPTION
	switch $argv[2]
		case format
			printf '%s\n' folded pprof chrome csv
		case by
			printf '%s\n' site function operation
			test $argv[1] = report; and echo object
		case requests
			printf '%s\n' auto socket transaction marker site:
			contains $argv[1] report compare top export; and echo none
		case weight
			printf '%s\n' us waits
		case order
			printf '%s\n' native fcfs eldest youngest random largest
		case what
			printf '%s\n' events sites requests
		case sort
			printf '%s\n' wait operation name id
		case op
			printf '%s\n' mutex rwlock spin cond sem barrier thread futex wake sync read write recv send copy \
				accept connect close dup poll sleep yield flock aio loader signal child
	end
end

# The presets of that installation, or of the source tree that it was built in.
function __tarry_presets
	set -l top (string replace -r '/[^/]*/[^/]*$' '' -- (realpath (command -s tarry)))
	set -l presets $top/share/tarry/configs/*.yaml $top/configs/*.yaml
	printf '%s\n' $presets
end

# Is this COMMAND, with fewer than MOST arguments that are no options?
function __tarry_on # COMMAND [MOST]
	set -l words (commandline -opc)
	test (count $words) -ge 2; and test $words[2] = $argv[1]; or return 1
	set -l valued __tarry_valued_$argv[1]
	set -l n 0
	set -l pending 0
	for word in $words[3..-1]
		if test $pending = 1
			set pending 0
		else if contains -- $word $$valued
			set pending 1
		else if not string match -q -- '-*' $word
			set n (math $n + 1)
		end
	end
	test (count $argv) -lt 2; or test $n -lt $argv[2]
end

# The options of a command, and a list of those that take a value.
function __tarry_declare # COMMAND
	set -g __tarry_valued_$argv[1]
	set -l on "__tarry_on $argv[1]"
	contains $argv[1] record experiment; and set on "$on 1"
	tarry $argv[1] --help 2>/dev/null |
		sed -nE 's/^ +(-([A-Za-z?]), +)?--([a-z-]+)(=[A-Z]+)?( +(.*))?$/\2\t\3\t\4\t\6/p' |
		while read -d \t -l short long value what
			set -l how -l $long -d "$what"
			test -n "$short"; and set -a how -s $short
			if test -n "$value"
				set -a how -r
				set -a __tarry_valued_$argv[1] --$long
				test -n "$short"; and set -a __tarry_valued_$argv[1] -$short
				switch $long
					case config
						set -l presets
						test $argv[1] = record; and set presets '__tarry_presets; '
						set -a how -f -a "($presets"'__fish_complete_suffix .yaml)'
					case output keep
						set -a how -F
					case judge
						set -a how -f -a '(__fish_complete_suffix .tsv)'
					case '*'
						set -a how -f -a "(__tarry_words $argv[1] $long)"
				end
			end
			complete -c tarry -n $on $how
		end
end

command -q tarry; or return
complete -c tarry -f
complete -c tarry -n 'test (count (commandline -opc)) -eq 1' -l help -d 'say what there is'
complete -c tarry -n 'test (count (commandline -opc)) -eq 1' -l version -d 'print the version'
tarry --help 2>/dev/null | sed -nE 's/^  ([a-z]+) +(.*)/\1\t\2/p' | while read -d \t -l command what
	complete -c tarry -n 'test (count (commandline -opc)) -eq 1' -a $command -d $what
	__tarry_declare $command
	switch $command
		case record experiment
			complete -c tarry -n "__tarry_on $command" -a \
				"(__fish_complete_subcommand --fcs-skip=2 \$__tarry_valued_$command)"
		case ctl
			complete -c tarry -n '__tarry_on ctl 1' -a '(__fish_complete_suffix .tarry)'
			complete -c tarry -n '__tarry_on ctl 2; and not __tarry_on ctl 1' -a 'on off native ordered status'
		case compare
			complete -c tarry -n '__tarry_on compare 2' -a '(__fish_complete_suffix .tarry)'
		case '*'
			complete -c tarry -n "__tarry_on $command 1" -a '(__fish_complete_suffix .tarry)'
	end
end

#!/bin/sh
# SPDX-License-Identifier: MIT
# Description: a mistake in an experiment file is said with its place, and one in
# a file of samples with its line; status 2 and nothing is started.  timeout: 200
. "$(dirname "$0")/lib.sh"
cd "$W" || exit 1

# refused PATTERN [LINE...]: the file of these lines is refused with one line that has "x.yaml:PATTERN"
refused() {
	pattern=$1
	shift
	printf '%s\n' "$@" >x.yaml
	timeout 20 "$TARRY" experiment -c x.yaml -o x.tsv -- touch ran >out 2>err
	rc=$?
	[ $rc = 2 ] && grep -qE "^tarry: x\.yaml:$pattern" err && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] &&
		good "$pattern" || fail "status $rc, not '$pattern': $(cat err)"
	[ ! -e ran ] || { fail "it was started: $pattern"; rm -f ran; }
	[ ! -e x.tsv ] || { fail "samples were written: $pattern"; rm -f x.tsv; }
}
AB='variants: [{name: a}, {name: b}]'
refused "1:1: there are no variants to compare"
refused "1:1: there are no variants" 'repetitions: 3'
refused "1:1: expected lines of 'key: value'" '- a'
refused "1:11: variants: expected two or more" 'variants: [{name: a}]'
refused "1:11: variants: expected a list" 'variants: a'
refused "1:12: expected lines of 'key: value'" 'variants: [a, b]'
refused "2:3: variants: one has no name" 'variants:' '- env: {A: "1"}' '- name: b'
refused "3:9: name: there are two variants 'a'" 'variants:' '- name: a' '- name: a'
refused "1:19: name: expected letters" 'variants: [{name: a b}, {name: c}]'
refused "1:19: name: expected letters" 'variants: [{name: abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz}, {name: c}]'
refused "1:22: unknown key of a variant 'commands'; did you mean 'command'" 'variants: [{name: a, commands: [x]}, {name: b}]'
refused "1:31: command: expected a list" 'variants: [{name: a, command: x y}, {name: b}]'
refused "1:31: command: expected a program" 'variants: [{name: a, command: []}, {name: b}]'
refused "1:36: env: 'A' is given twice" 'variants: [{name: a, env: {A: "1", A: "2"}}, {name: b}]'
refused "1:31: env: expected text, .* not nothing" 'variants: [{name: a, env: {A: }}, {name: b}]'
refused "1:30: config: none.yaml: No such file" 'variants: [{name: a, config: none.yaml}, {name: b}]'
echo 'min_path: soon' >bad.yaml
refused "1:30: config: bad.yaml:1:11: min_path" 'variants: [{name: a, config: bad.yaml}, {name: b}]'
refused "2:1: unknown key 'repetition'; did you mean 'repetitions'" "$AB" 'repetition: 3'
refused "2:1: unknown key 'colour'; the keys are variants, base," "$AB" 'colour: red'
refused "2:14: repetitions: '1' is out of range, expected 2 to" "$AB" 'repetitions: 1'
refused "2:14: repetitions: expected a whole number, not 'many'" "$AB" 'repetitions: many'
refused "3:1: seed: given twice" "$AB" 'seed: 1' 'seed: 1'
refused "2:7: base: no variant is called so" "$AB" 'base: c'
refused "2:7: stop: expected TERM, INT" "$AB" 'stop: please'
refused "2:15: stop_timeout: expected a time such as" "$AB" 'stop_timeout: 10'
refused "2:10: measure: expected latencies, requests or time" "$AB" 'measure: joy'
refused "2:8: judge: expected a list of metrics" "$AB" 'judge: []'
refused "2:14: judge: unknown metric 'p98'; there are mean, variance" "$AB" 'judge: [mean,p98]'
refused "3:8: judge: makes no sense where time" "$AB" 'measure: time' 'judge: [mean]'
refused "2:8: ready: makes no sense without a load" "$AB" 'ready: "true"'
refused "2:7: load: does not write to .TARRY_EXPERIMENT_LATENCIES; say what to measure" "$AB" 'load: sleep 1'
refused "2:6: load: expected a shell command, not nothing" "$AB" 'load:'
refused "2:7: load: anchors and tags" "$AB" 'load: !x y'
refused "2:1: a second document" "$AB" '---' 'seed: 1'
refused "2:1: not YAML: " 'variants: ['

# ---- every key stands in the manual ----
page=$TOP/docs/man/tarry-experiment.1
echo 'colour: red' >keys.yaml
"$TARRY" experiment -c keys.yaml -- true 2>err
keys=$(sed 's/.*the keys are //; s/,//g' err)
echo 'variants: [{colour: red}]' >keys.yaml
"$TARRY" experiment -c keys.yaml -- true 2>err
keys="$keys $(sed 's/.*the keys are //; s/,//g' err)"
check "twenty keys" [ "$(echo "$keys" | wc -w)" = 20 ]
for k in $keys; do
	grep -qE "^\.(B|BR) (\\? ?)?(setup , \" )?$k" "$page" && good "manual: $k" || fail "tarry-experiment.1 does not describe the key $k"
done

# ---- the command line ----
# usage PATTERN ARGUMENT...
usage() {
	pattern=$1
	shift
	timeout 20 "$TARRY" experiment "$@" >out 2>err
	rc=$?
	[ $rc = 2 ] && grep -qE "$pattern" err && good "$pattern" || fail "status $rc, not '$pattern': $(cat err)"
	[ ! -e ran ] || { fail "it was started: $pattern"; rm -f ran; }
}
echo "$AB" >ab.yaml
usage 'which experiment'
usage 'which experiment' -- touch ran
usage 'none.yaml: No such file' -c none.yaml -- touch ran
usage 'Is a directory' -c . -- touch ran
usage 'variant a has no command' -c ab.yaml
usage 'variant a: .*no-such-program' -c ab.yaml -- no-such-program
usage 'unrecognized option' -c ab.yaml --sideways -- touch ran
usage 'runs nothing' --judge x.tsv -- touch ran
usage 'which experiment' --judge x.tsv -c ab.yaml
usage 'none.tsv: No such file' --judge none.tsv
# an experiment that shall be recorded, with a program that cannot be
printf '%s\nmeasure: requests\n' "$AB" >rec.yaml
echo 'int main(void) { return 0; }' >static.c
if $CC -static -o static static.c 2>/dev/null; then
	usage 'variant a: .*static' -c rec.yaml -- ./static
fi

# ---- dry run ----
printf '%s\n' 'variants: [{name: one, env: {X: "2"}}, {name: two, arguments: [-v]}]' 'seed: 3' 'repetitions: 2' >dry.yaml
"$TARRY" experiment -c dry.yaml -n -- touch ran >out 2>err
rc=$?
check "dry run: status 0" [ $rc = 0 ]
check "dry run: nothing started" [ ! -e ran ]
check "dry run: no samples" [ ! -e dry.tsv ]
check "dry run: environment" grep -q 'X=2' out
check "dry run: command" grep -q 'touch ran -v$' out
"$TARRY" experiment -c dry.yaml -q -- true >out2 2>err
sed -n '/^Order/,$p' out | awk '$1 ~ /^[0-9]+$/ { for (i = 2; i <= NF; i++) print $1, i - 1, $i }' >planned
awk -F'\t' '$1 ~ /^[12]$/ { print $1, $4, $2 }' dry.tsv >done
check "dry run: the order is that of the runs" cmp planned done
"$TARRY" experiment -c dry.yaml -q -- true >out2 2>err
check "the file stands in the samples" sh -c "sed -n 's/^#| //p' dry.tsv | cmp - dry.yaml"
check "a second run gets a file of its own" [ -e dry-2.tsv ]

# ---- samples ----
# bad PATTERN SED: dry.tsv with this change is refused
bad() {
	sed "$2" dry.tsv >bad.tsv
	usage "$1" --judge bad.tsv
}
check "good samples" sh -c "'$TARRY' experiment --judge dry.tsv >out"
bad 'bad.tsv:1: not a file of tarry experiment' '1s/.*/name	value/'
bad 'bad.tsv:[0-9]+: expected the names of the columns' '/^repetition/d'
bad 'bad.tsv:[0-9]+: the comments do not say' '/^# base/d'
bad 'bad.tsv:[0-9]+: the comments do not say' 's/^# repetitions: 2/# repetitions: 0/'
bad 'bad.tsv:[0-9]+: variants' 's/^# variants: .*/# variants: one/'
bad 'bad.tsv:[0-9]+: not a run of this experiment' 's/^2	one/3	one/'
bad 'bad.tsv:[0-9]+: not a run of this experiment' 's/^2	one/2	three/'
bad 'bad.tsv:[0-9]+: not a run of this experiment' '$!s/	ok$/	fine/'
bad 'bad.tsv:[0-9]+: not a run of this experiment' 's/^\(2	one	[^	]*	[^	]*	[^	]*	\)[^	]*/\1-5/'
bad 'bad.tsv:[0-9]+: not a run of this experiment' 's/^\(2	one	[^	]*	[^	]*	[^	]*	\)[^	]*/\1nan/'
bad 'bad.tsv:[0-9]+: not a run: it has not 19 fields' 's/^2	one	/2	one/'
bad 'bad.tsv:[0-9]+: repetition 2 of one is there twice' '/^2	one/p'
bad 'bad.tsv:[0-9]+: judge: unknown metric' 's/^# judge: .*/# judge: speed/'
head -c 700 dry.tsv >bad.tsv
usage 'bad.tsv:[0-9]+: (cut short|not a file)|there are no runs' --judge bad.tsv
head -c 5000 "$TARRY" >bad.tsv
usage 'bad.tsv:1: not a file of tarry experiment' --judge bad.tsv
: >bad.tsv
usage 'bad.tsv:1: not a file of tarry experiment' --judge bad.tsv
done_

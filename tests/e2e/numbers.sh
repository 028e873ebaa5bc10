#!/bin/sh
# SPDX-License-Identifier: MIT
# suite, timeout: 180.  A thousand threads at once, two hundred processes, eight
# thousand threads in a small store.
. "$(dirname "$0")/lib.sh"
build many || done_
for what in "threads 1000" "processes 200"; do
	"$W/many" $what >"$W/bare" 2>&1; rc=$?
	if [ $rc != 0 ]; then
		echo "skip $what: this machine does not allow it: $(tail -1 "$W/bare")"
		continue
	fi
	"$TARRY" record -q -o "$W/s.tarry" -- "$W/many" $what >"$W/got" 2>&1; rc2=$?
	same "$what" $rc "$W/bare" $rc2 "$W/got" && good "$what: same output"
	check "$what: nothing lost" expected "$W/s.tarry" "$W/bare"
	rm -f "$W"/s.tarry*
done

# So many threads, one after the other, that what is known of them leaves no room for an event: that is said.
cat >"$W/one_by_one.c" <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *wait_once(void *p) { return usleep(1) ? p : NULL; }
int main(int argc, char **argv)
{
	pthread_t t;
	for (int i = 0; argc > 1 && i < atoi(argv[1]); i++)
		if (pthread_create(&t, NULL, wait_once, NULL) || pthread_join(t, NULL))
			return 1;
	return 0;
}
C
$CC -pthread -o "$W/one_by_one" "$W/one_by_one.c" || { fail compile; done_; }
for n in 100 8000; do
	"$TARRY" record -q --max-size 1M -o "$W/s.tarry" -- "$W/one_by_one" $n >"$W/got" 2>&1
	check "$n threads: status" [ $? = 0 ]
	grep -c 'no event is left under max_size' "$W/got" >"$W/said"
	check "$n threads: $(cat "$W/said")" [ "$(cat "$W/said")" = $((n / 8000)) ]
	rm -f "$W"/s.tarry*
done
# Numbers at the end look as in the report.
"$TARRY" record -v -o "$W/s.tarry" -- dd if=/dev/zero of=/dev/null bs=1 count=2000 >"$W/got" 2>&1
n=$("$TARRY" info "$W/s.tarry" | sed -n '1s/.*, \([0-9 ]*\) events, .*/\1/p')
check "thousands of events" grep -Eq '^[1-9][0-9]* [0-9]{3}$' <<X
$n
X
check "the summary says it as info does" grep -Fqx "tarry: $W/s.tarry: $n events, 1 process, 1 thread, 0 lost" "$W/got"
done_

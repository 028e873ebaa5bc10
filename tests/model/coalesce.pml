/* SPDX-License-Identifier: MIT
 * The queue of policies/coalesce.c, an operation on what is shared a step.  Checked by tests/model/coalesce.sh for all ways in
 * which CALLERS threads, each calling CALLS times, can meet: nobody waits for ever, two flushes of one queue are never
 * in flight, and each call is served by one flush that began after it.  MISTAKE leaves out what the proof needs. */
#ifndef CALLERS
#define CALLERS 3
#endif
#ifndef CALLS
#define CALLS 2
#endif

#define NOBODY 0
#define ONE_LEADS 1
#define WORD(c) (c + 2)
#define CALLER(word) (word - 2)

mtype = { waits, leads, done };
byte queue;
byte next[CALLERS];
mtype state[CALLERS];
byte served[CALLERS]; /* number of the flush that a caller is told of */
byte begun;           /* flushes */
bool in_flight;

inline tell_all(group) {
	do
	:: group != ONE_LEADS ->
		atomic { c = CALLER(group); group = next[c]; served[c] = n; state[c] = done }
	:: else -> break
	od
}

proctype caller(byte me) {
	byte calls, before, last, group, later, n, c;
	do
	:: calls < CALLS ->
		atomic { calls++; state[me] = waits; served[me] = 0; before = begun };
		last = queue;
		do
		::	atomic {
				next[me] = last;
				if
				:: queue == last && last == NOBODY -> queue = ONE_LEADS; break
				:: queue == last && last != NOBODY -> queue = WORD(me); break
				:: else -> last = queue
				fi
			}
		od;
		atomic {
			if
			:: last == NOBODY -> group = ONE_LEADS
			:: last != NOBODY && state[me] == leads -> group = next[me]
			:: last != NOBODY && state[me] == done -> goto served_by_another
			fi
		};
#ifndef MISTAKE
		atomic { later = queue; queue = ONE_LEADS };
#endif
		atomic { assert(!in_flight); in_flight = true; begun++; n = begun };
		in_flight = false;
#ifdef MISTAKE
		atomic { later = queue; queue = ONE_LEADS }; /* who came during the flush shares it */
#endif
		atomic {
			served[me] = n;
			if
			:: queue == ONE_LEADS -> queue = NOBODY; c = NOBODY
			:: else -> c = queue
			fi
		};
		if
		:: c != NOBODY ->
			atomic { c = queue; queue = ONE_LEADS };
			state[CALLER(c)] = leads
		:: else
		fi;
		tell_all(later);
		tell_all(group);
served_by_another:
		assert(served[me] > before)
	:: else -> break
	od
}

init {
	byte i;
	atomic {
		do
		:: i < CALLERS -> run caller(i); i++
		:: else -> break
		od
	}
}

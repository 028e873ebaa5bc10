/* SPDX-License-Identifier: MIT
 * The queue before a mutex's gate, policies/gate.c and unlock.c, an operation on what is shared a step; what is done with
 * the bucket locked is one.  Checked by tests/model/gate.sh for all ways in which CALLERS threads of the gate, each calling
 * CALLS times, and one thread that takes the lock past it can meet.  The last caller may give up whenever it waits.  Nobody
 * ever looks for himself here: that nobody sleeps for ever is not owed to the bound.  The order picks anybody.
 * MISTAKE leaves out one of the three places that see to a head. */
#ifndef CALLERS
#define CALLERS 3
#endif
#ifndef CALLS
#define CALLS 2
#endif

#ifndef MISTAKE
#define MISTAKE 0
#endif

#define NOBODY 255
#define MAY_GIVE_UP (me == CALLERS - 1)

bool locked;          /* the real lock; whoever sleeps there is libc's affair */
byte alone = NOBODY;  /* is head, and not in the list yet */
byte queued;          /* how many are in the list */
bool listed[CALLERS], head[CALLERS], turn[CALLERS];
byte inside;          /* threads that believe to have the lock */

inline lock_bucket() { /* the first thing that it does */
	if
	:: alone != NOBODY -> listed[alone] = true; queued++; alone = NOBODY
	:: else
	fi
}

inline lead() {
	i = 0;
	do
	:: i < CALLERS && !(listed[i] && head[i]) -> i++
	:: i < CALLERS && listed[i] && head[i] -> goto_on = false; break
	:: i == CALLERS -> goto_on = true; break
	od;
	if
	:: goto_on && queued > 0 ->
		select(i : 0 .. CALLERS - 1);
		do
		:: listed[i] -> break
		:: else -> i = (i + 1) % CALLERS
		od;
		head[i] = true;
		turn[i] = true
	:: else
	fi;
	i = 0;
	goto_on = false
}

inline has_it() {
	inside++;
	assert(inside == 1);
	inside--
}

inline led() {
	i = 0;
	do
	:: i < CALLERS && !(listed[i] && head[i]) -> i++
	:: i < CALLERS && listed[i] && head[i] -> opens = false; break
	:: i == CALLERS -> break
	od;
	i = 0
}

inline open() { /* if it was found before that somebody is queued */
	if
	:: opens -> atomic { lock_bucket(); lead() }
	:: else
	fi
}

inline unlock() {
	opens = queued > 0; /* asked in time, and not again: others may come between any two of these moments */
	if
	:: opens -> atomic { lock_bucket(); led() }
	:: else
	fi;
	if
	:: true ->
		locked = false;
#if MISTAKE != 1
		open()
#endif
	:: true -> /* a condition wait that is libc's */
#if MISTAKE != 3
		open();
#endif
		locked = false
	fi
}

inline ask() { /* in preload/ and gate_mutex.c */
	if
	:: queued > 0 || alone != NOBODY
	:: else ->
		if
		:: atomic { !locked -> locked = true }; goto took_it
		:: locked
		fi
	fi
}

proctype caller(byte me) {
	byte calls, i;
	bool took, goto_on, opens;
	do
	:: calls < CALLS ->
		calls++;
		took = false;
		ask();
		if
		:: queued == 0 && alone == NOBODY ->
			atomic {
				if
				:: alone == NOBODY -> alone = me; head[me] = true; goto at_the_lock
				:: else
				fi
			}
		:: else
		fi;
		atomic {
			lock_bucket();
			if
			:: queued == 0 && !locked -> locked = true; goto took_it
			:: queued == 0 && locked -> listed[me] = true; queued++; head[me] = true; goto at_the_lock
			:: else -> listed[me] = true; queued++
			fi
		};
		if
		:: turn[me]
		:: MAY_GIVE_UP -> goto leave
		fi;
at_the_lock:
		if
		:: atomic { !locked -> locked = true; took = true }
		:: MAY_GIVE_UP
		fi;
leave:
		atomic {
			if
			:: alone == me -> alone = NOBODY
			:: else ->
				lock_bucket();
				if
				:: listed[me] -> listed[me] = false; queued--
				:: else
				fi;
				if
				:: !took && MISTAKE != 2 -> lead()
				:: else
				fi
			fi;
			head[me] = false;
			turn[me] = false
		};
		if
		:: took -> goto took_it
		:: else -> goto done
		fi;
took_it:
		has_it();
		unlock();
done:
		skip
	:: else -> break
	od
}

/* trylock, or a wait that libc ends by itself: as far as the gate is concerned it comes
 * from nowhere, but it unlocks like everybody. */
proctype passer_by() {
	byte i;
	bool goto_on, opens;
	atomic { !locked -> locked = true };
	has_it();
	unlock()
}

init {
	byte i;
	atomic {
		do
		:: i < CALLERS -> run caller(i); i++
		:: else -> break
		od;
		run passer_by()
	}
}

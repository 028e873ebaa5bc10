/* SPDX-License-Identifier: MIT
 * Description: flushes under control, as a library preloaded below tarry's: flush number n, counted from 1 as they
 * begin, returns when the program says so, with the error that it says (tests/e2e/shared_flush.c). */
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FLUSHES 100000
static _Atomic int begun, last_ended, open_for_all;
static _Atomic int verdict[FLUSHES]; /* 0: not yet, 1: well, else 1 + errno */

int gate_begun(void) { return begun; }
int gate_last_ended(void) { return last_ended; } /* the highest number of those that went well */

static void set(_Atomic int *word, int value)
{
	*word = value;
	syscall(SYS_futex, word, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

void gate_end(int n, int error) { set(&verdict[n], 1 + error); }
void gate_open(void) { open_for_all = 1; }

static int flush(void)
{
	int n = ++begun, r;
	if (open_for_all) {
		nanosleep(&(struct timespec){0, 20000}, NULL);
		r = 1;
	} else {
		while (!(r = verdict[n]))
			syscall(SYS_futex, &verdict[n], FUTEX_WAIT, 0, NULL, NULL, 0);
	}
	for (int last = last_ended; r == 1 && last < n && !atomic_compare_exchange_weak(&last_ended, &last, n);)
		;
	errno = r - 1;
	return r == 1 ? 0 : -1;
}

int fsync(int fd) { return fd < 0 ? -1 : flush(); }
int fdatasync(int fd) { return fd < 0 ? -1 : flush(); }

/* SPDX-License-Identifier: MIT
 * Raw futexes and flushes through syscall(): told apart by system call and
 * futex operation, results and all seven words unchanged. */
#include "e2e.h"
#include <linux/futex.h>
#include <stdint.h>

static _Atomic uint32_t word, pi;

static void wake(void *p)
{
	atomic_fetch_add(&word, 1);
	CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 1);
}
static NOINLINE void wait_here(void *p)
{
	uint32_t seen = atomic_load(&word);
	while (atomic_load(&word) == seen)
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}
static void wake_bitset(void *p)
{
	atomic_fetch_add(&word, 1);
	CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 2) == 0); /* another bit: nobody */
	CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 4) == 1);
}
static void wait_bitset(void *p)
{
	uint32_t seen = atomic_load(&word);
	struct timespec t = in_ms(CLOCK_MONOTONIC, 600000);
	while (atomic_load(&word) == seen)
		CHECK(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, seen, &t, NULL, 4) == 0);
}
static void times_out(void *p)
{
	struct timespec t = {0, 2000000};
	errno = 0;
	CHECK(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, atomic_load(&word), &t, NULL, 0) == -1 && errno == ETIMEDOUT);
}
static void hold_pi(void *p) { CHECK(syscall(SYS_futex, &pi, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0); }
static void release_pi(void *p) { CHECK(syscall(SYS_futex, &pi, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0); }
static void lock_pi(void *p)
{
	hold_pi(p);
	release_pi(p);
}

int main(void)
{
	blocked(11, NULL, wait_here, wake, NULL);
	blocked(7, NULL, wait_bitset, wake_bitset, NULL);
	blocked(5, NULL, times_out, NULL, NULL);
	blocked(3, hold_pi, lock_pi, release_pi, NULL);
	for (int i = 0; i < 13; i++) {
		errno = 0;
		CHECK(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, atomic_load(&word) + 1, NULL, NULL, 0) == -1 &&
		      errno == EAGAIN);
	}
	int fd = scratch_file();
	for (int i = 0; i < 5; i++)
		CHECK(syscall(SYS_fsync, fd) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(syscall(SYS_fdatasync, fd) == 0);
	errno = 0;
	CHECK(syscall(SYS_fsync, -1) == -1 && errno == EBADF);
	errno = 0;
	CHECK(syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0) == -1 && (errno == EBADF || errno == ENOSYS || errno == EPERM));
	CHECK(syscall(SYS_gettid) == raw_tid());
	expect("futex_wait", "waits", 11 + 7 + 5 + 13);
	expect("futex_wait", "errno ETIMEDOUT", 5);
	expect("futex_wait", "errno EAGAIN", 13);
	expect("futex_wait", "objects", 1);
	expect("futex_wait", "path wait_here", 11);
	expect("futex_lock", "waits", 6); /* the holder asks the kernel too */
	expect("futex_wake", "path wake", 11);
	expect("syscall:fsync", "waits", 6);
	expect("syscall:fsync", "errno EBADF", 1);
	expect("syscall:fdatasync", "waits", 3);
	expect("syscall:io_uring_enter", "waits", 1);
	expect("syscall", "waits", 0);
	return 0;
}

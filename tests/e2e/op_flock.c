/* SPDX-License-Identifier: MIT
 * File locks; of fcntl only the lock commands are recorded. */
#include "e2e.h"
#include <sys/file.h>

static int a, b; /* two open descriptions of one file */

static void hold(void *p) { CHECK(raw(SYS_flock, a, LOCK_EX, 0) == 0); }
static void release(void *p) { CHECK(raw(SYS_flock, a, LOCK_UN, 0) == 0); }
static NOINLINE void flock_here(void *p)
{
	CHECK(flock(b, LOCK_EX) == 0);
	CHECK(raw(SYS_flock, b, LOCK_UN, 0) == 0);
}
static void hold_ofd(void *p)
{
	struct flock l = {.l_type = F_WRLCK, .l_len = 1};
	CHECK(raw(SYS_fcntl, a, F_OFD_SETLK, (long)&l) == 0);
}
static void release_ofd(void *p)
{
	struct flock l = {.l_type = F_UNLCK, .l_len = 1};
	CHECK(raw(SYS_fcntl, a, F_OFD_SETLK, (long)&l) == 0);
}
static void ofd_here(void *p)
{
	struct flock l = {.l_type = F_WRLCK, .l_len = 1};
	CHECK(fcntl(b, F_OFD_SETLKW, &l) == 0);
	l.l_type = F_UNLCK;
	CHECK(raw(SYS_fcntl, b, F_OFD_SETLK, (long)&l) == 0);
}

int main(void)
{
	char path[64];
	a = scratch_file();
	snprintf(path, sizeof path, "/proc/self/fd/%d", a);
	b = open(path, O_RDWR);
	CHECK(b >= 0);
	blocked(7, hold, flock_here, release, NULL);
	blocked(5, hold_ofd, ofd_here, release_ofd, NULL);
	for (int i = 0; i < 3; i++)
		CHECK(lockf(a, F_LOCK, 1) == 0);
	hold(NULL);
	for (int i = 0; i < 2; i++) {
		errno = 0;
		CHECK(flock(b, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK);
	}
	CHECK(fcntl(a, F_GETFL) >= 0);
	CHECK(fcntl(a, F_SETFD, FD_CLOEXEC) == 0 && fcntl(a, F_GETFD) == FD_CLOEXEC);
	expect("flock", "waits", 9);
	expect("flock", "errno EAGAIN", 2);
	expect("flock", "path flock_here", 7);
	expect("fcntl", "waits", 5);
	expect("fcntl", "path ofd_here", 5);
	expect("lockf", "waits", 3);
	return 0;
}

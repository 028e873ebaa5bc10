/* SPDX-License-Identifier: MIT
 * Writes: blocked ones on a full pipe, and all the spellings on a file. */
#include "e2e.h"
#include <sys/uio.h>

static int pipes[2];

static void fill(void *p)
{
	static char junk[65536];
	long n;
	CHECK(raw(SYS_fcntl, pipes[1], F_SETFL, O_NONBLOCK) == 0);
	while ((n = raw(SYS_write, pipes[1], (long)junk, sizeof junk)) > 0)
		;
	while ((n = raw(SYS_write, pipes[1], (long)junk, 1)) > 0)
		;
	CHECK(raw(SYS_fcntl, pipes[1], F_SETFL, 0) == 0);
}
static void drain(void *p)
{
	static char junk[65536];
	CHECK(raw(SYS_fcntl, pipes[0], F_SETFL, O_NONBLOCK) == 0);
	while (raw(SYS_read, pipes[0], (long)junk, sizeof junk) > 0)
		;
}
static NOINLINE void write_here(void *p) { CHECK(write(pipes[1], "abcd", 4) == 4); }

int main(void)
{
	char buf[8] = "0123456";
	struct iovec v[2] = {{buf, 3}, {buf, 4}};
	CHECK(pipe(pipes) == 0);
	blocked(7, fill, write_here, drain, NULL);
	int fd = scratch_file();
	for (int i = 0; i < 11; i++)
		CHECK(pwrite(fd, buf, 5, 2) == 5);
	for (int i = 0; i < 5; i++)
		CHECK(writev(fd, v, 2) == 7);
	for (int i = 0; i < 3; i++)
		CHECK(pwritev(fd, v, 2, 1) == 7);
	for (int i = 0; i < 2; i++)
		CHECK(pwritev2(fd, v, 2, 1, 0) == 7);
	drain(NULL);
	for (int i = 0; i < 13; i++) {
		CHECK(vmsplice(pipes[1], v, 2, 0) == 7);
		drain(NULL);
	}
	errno = 0;
	CHECK(write(-1, buf, 1) == -1 && errno == EBADF);
	expect("write", "waits", 8);
	expect("write", "errno EBADF", 1);
	expect("write", "sum", 28);
	expect("write", "path write_here", 7);
	expect("pwrite", "waits", 11);
	expect("pwrite", "sum", 55);
	expect("writev", "waits", 5);
	expect("pwritev", "waits", 3);
	expect("pwritev2", "waits", 2);
	expect("vmsplice", "waits", 13);
	expect("vmsplice", "sum", 91);
	return 0;
}

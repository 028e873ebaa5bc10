/* SPDX-License-Identifier: MIT
 * Reads: blocked ones on a pipe, and all the spellings on a file. */
#include "e2e.h"
#include <sys/uio.h>

static int pipes[2];

static void fill(void *p) { CHECK(raw(SYS_write, pipes[1], (long)"abcd", 4) == 4); }
static NOINLINE void read_here(void *p)
{
	char buf[16];
	CHECK(read(pipes[0], buf, 16) == 4);
}

int main(void)
{
	char buf[64];
	struct iovec v[2] = {{buf, 3}, {buf + 32, 4}};
	CHECK(pipe(pipes) == 0);
	blocked(11, NULL, read_here, fill, NULL);
	int fd = scratch_file();
	CHECK(raw(SYS_write, fd, (long)"0123456789", 10) == 10);
	for (int i = 0; i < 7; i++)
		CHECK(pread(fd, buf, 5, 2) == 5);
	for (int i = 0; i < 5; i++)
		CHECK(lseek(fd, 0, SEEK_SET) == 0 && readv(fd, v, 2) == 7);
	for (int i = 0; i < 3; i++)
		CHECK(preadv(fd, v, 2, 1) == 7);
	for (int i = 0; i < 2; i++)
		CHECK(preadv2(fd, v, 2, 1, 0) == 7);
	errno = 0;
	CHECK(read(-1, buf, 1) == -1 && errno == EBADF);
	errno = 0;
	CHECK(pread(pipes[0], buf, 1, 0) == -1 && errno == ESPIPE);
	expect("read", "waits", 12);
	expect("read", "errno EBADF", 1);
	expect("read", "sum", 44);
	expect("read", "objects", 2);
	expect("read", "path read_here", 11);
	expect("pread", "waits", 8);
	expect("pread", "errno ESPIPE", 1);
	expect("pread", "sum", 35);
	expect("readv", "waits", 5);
	expect("readv", "sum", 35);
	expect("preadv", "waits", 3);
	expect("preadv2", "waits", 2);
	return 0;
}

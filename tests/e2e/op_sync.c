/* SPDX-License-Identifier: MIT
 * Flushes to stable storage. */
#include "e2e.h"
#include <sys/mman.h>

int main(void)
{
	int fd = scratch_file();
	CHECK(ftruncate(fd, 65536) == 0);
	char *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	for (int i = 0; i < 7; i++) {
		p[i] = 1;
		CHECK(fsync(fd) == 0);
	}
	for (int i = 0; i < 5; i++) {
		p[i] = 2;
		CHECK(fdatasync(fd) == 0);
	}
	for (int i = 0; i < 11; i++) {
		p[i] = 3;
		CHECK(msync(p, 65536, MS_SYNC) == 0);
	}
	for (int i = 0; i < 13; i++)
		CHECK(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(syncfs(fd) == 0);
	for (int i = 0; i < 2; i++)
		sync();
	errno = 0;
	CHECK(fsync(-1) == -1 && errno == EBADF);
	int pipes[2];
	CHECK(pipe(pipes) == 0);
	errno = 0;
	CHECK(fdatasync(pipes[0]) == -1 && errno == EINVAL);
	expect("fsync", "waits", 8);
	expect("fsync", "errno EBADF", 1);
	expect("fsync", "path main", 8);
	expect("fdatasync", "waits", 6);
	expect("fdatasync", "errno EINVAL", 1);
	expect("msync", "waits", 11);
	expect("msync", "objects", 1);
	expect("sync_file_range", "waits", 13);
	expect("syncfs", "waits", 3);
	expect("sync", "waits", 2);
	return 0;
}

/* SPDX-License-Identifier: MIT
 * A process that execs itself keeps its pid and is another image: its waits
 * before and after are there, and its paths are those of the program it is. */
#include "e2e.h"

static NOINLINE void before(int fd)
{
	for (int i = 0; i < 7; i++)
		CHECK(fsync(fd) == 0);
}
static NOINLINE void after(int fd)
{
	for (int i = 0; i < 5; i++)
		CHECK(fsync(fd) == 0);
}

int main(int argc, char **argv)
{
	int fd = scratch_file();
	if (argc == 1) {
		before(fd);
		execl("/proc/self/exe", argv[0], "again", (char *)NULL);
		return 1;
	}
	after(fd);
	expect("fsync", "waits", 12);
	expect("fsync", "path before", 7);
	expect("fsync", "path after", 5);
	return 0;
}

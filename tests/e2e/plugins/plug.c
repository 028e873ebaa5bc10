/* SPDX-License-Identifier: MIT
 * The plug-ins of op_dlclose: built twice, with another NAME and ROUNDS. */
#include <unistd.h>

void plug_entry(int fd);
void NAME(int fd);

static volatile int rounds = ROUNDS; /* read at run time: both have the same code at the same offsets */

__attribute__((noinline)) void NAME(int fd)
{
	for (int i = 0; i < rounds; i++)
		if (fsync(fd) != 0)
			_exit(1);
}

void plug_entry(int fd)
{
	NAME(fd);
	__asm__ volatile(""); /* keeps the frame: no tail call */
}

/* SPDX-License-Identifier: MIT
 * The stand-in for libaio that op_aio links. */
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int io_getevents(unsigned long ctx, long min, long max, void *events, struct timespec *t);

int io_getevents(unsigned long ctx, long min, long max, void *events, struct timespec *t)
{
	long r = syscall(SYS_io_getevents, ctx, min, max, events, t);
	return r < 0 ? -errno : (int)r;
}

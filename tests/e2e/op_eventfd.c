/* SPDX-License-Identifier: MIT
 * eventfd_read and eventfd_write: inside libc they reach read and write without
 * passing our wrappers. */
#include "e2e.h"
#include <sys/eventfd.h>

static int fd;

static void post(void *p) { CHECK(eventfd_write(fd, 3) == 0); }
static NOINLINE void read_here(void *p)
{
	eventfd_t v;
	CHECK(eventfd_read(fd, &v) == 0 && v == 3);
}

int main(void)
{
	CHECK((fd = eventfd(0, 0)) >= 0);
	blocked(11, NULL, read_here, post, NULL);
	expect("eventfd_read", "waits", 11);
	expect("eventfd_read", "path read_here", 11);
	expect("eventfd_write", "waits", 11);
	expect("eventfd_write", "objects", 1);
	expect("read", "waits", 0);
	return 0;
}

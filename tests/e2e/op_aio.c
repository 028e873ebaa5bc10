/* SPDX-License-Identifier: MIT
 * libs: aio
 * io_getevents as programs get it from libaio (a stand-in with the same name
 * and system call, so that nothing needs to be installed). */
#include "e2e.h"

__attribute__((weak)) int io_getevents(unsigned long ctx, long min, long max, void *events, struct timespec *t);

int main(void)
{
	unsigned long ctx = 0;
	char events[32 * 4];
	struct timespec t = {0, 2000000};
	if (!io_getevents) {
		puts("skip built without its library");
		return 0;
	}
	if (raw(SYS_io_setup, 4, (long)&ctx, 0) != 0) {
		puts("skip no asynchronous IO in this kernel");
		return 0;
	}
	for (int i = 0; i < 7; i++)
		CHECK(io_getevents(ctx, 1, 4, events, &t) == 0);
	expect("io_getevents", "waits", 7);
	expect("io_getevents", "atleast 2000000", 7);
	return 0;
}

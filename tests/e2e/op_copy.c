/* SPDX-License-Identifier: MIT
 * Copies between descriptors inside the kernel. */
#include "e2e.h"
#include <sys/sendfile.h>

int main(void)
{
	int in = scratch_file(), out = scratch_file(), p[2], q[2];
	char buf[64];
	CHECK(pipe(p) == 0 && pipe(q) == 0);
	CHECK(raw(SYS_write, in, (long)"0123456789", 10) == 10);
	for (int i = 0; i < 7; i++) {
		off_t at = 3;
		CHECK(sendfile(out, in, &at, 7) == 7 && at == 10);
	}
	for (int i = 0; i < 5; i++) {
		off64_t at = 0;
		CHECK(splice(in, &at, p[1], NULL, 10, 0) == 10);
		CHECK(tee(p[0], q[1], 10, 0) == 10);
		CHECK(raw(SYS_read, p[0], (long)buf, 64) == 10 && raw(SYS_read, q[0], (long)buf, 64) == 10);
	}
	int copied = 0;
	for (int i = 0; i < 3; i++) {
		off64_t from = 0, to = 0;
		copied += copy_file_range(in, &from, out, &to, 10, 0) == 10;
	}
	CHECK(copied == 3);
	expect("sendfile", "waits", 7);
	expect("sendfile", "sum", 49);
	expect("splice", "waits", 5);
	expect("splice", "sum", 50);
	expect("tee", "waits", 5);
	expect("copy_file_range", "waits", 3);
	return 0;
}

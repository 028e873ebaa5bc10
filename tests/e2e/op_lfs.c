/* SPDX-License-Identifier: MIT
 * flags: -D_FILE_OFFSET_BITS=64
 * Built for large files the same calls have other names; offsets above 4 GiB
 * must arrive. */
#include "e2e.h"
#include <sys/sendfile.h>
#include <sys/uio.h>

#define FAR ((off_t)5 << 30)

int main(void)
{
	char buf[8] = "0123456";
	struct iovec v[1] = {{buf, 7}};
	int fd = scratch_file(), out = scratch_file();
	for (int i = 0; i < 7; i++)
		CHECK(pwrite(fd, buf, 7, FAR) == 7);
	for (int i = 0; i < 5; i++)
		CHECK(pread(fd, buf, 7, FAR) == 7);
	for (int i = 0; i < 3; i++)
		CHECK(pwritev(fd, v, 1, FAR) == 7 && preadv(fd, v, 1, FAR) == 7);
	for (int i = 0; i < 2; i++)
		CHECK(pwritev2(fd, v, 1, FAR, 0) == 7 && preadv2(fd, v, 1, FAR, 0) == 7);
	for (int i = 0; i < 11; i++) {
		off_t at = FAR;
		CHECK(sendfile(out, fd, &at, 7) == 7 && at == FAR + 7);
	}
	CHECK(lseek(fd, FAR, SEEK_SET) == FAR);
	for (int i = 0; i < 13; i++)
		CHECK(lockf(fd, F_LOCK, 7) == 0 && lockf(fd, F_ULOCK, 7) == 0);
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = FAR, .l_len = 7};
	for (int i = 0; i < 17; i++)
		CHECK(fcntl(fd, F_SETLKW, &l) == 0);
	CHECK(fcntl(fd, F_GETFD) >= 0);
	CHECK(lseek(fd, 0, SEEK_END) == FAR + 7);
	expect("pwrite64", "waits", 7);
	expect("pwrite64", "sum", 49);
	expect("pread64", "waits", 5);
	expect("pwritev64", "waits", 3);
	expect("preadv64", "waits", 3);
	expect("pwritev64v2", "waits", 2);
	expect("preadv64v2", "waits", 2);
	expect("sendfile64", "waits", 11);
	expect("lockf64", "waits", 26);
	expect("fcntl64", "waits", 17);
	expect("pwrite", "waits", 0);
	return 0;
}

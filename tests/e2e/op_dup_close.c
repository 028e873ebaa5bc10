/* SPDX-License-Identifier: MIT
 * Duplicating and closing: a reused number is another descriptor. */
#include "e2e.h"
#include <sys/socket.h>

int main(void)
{
	int fd = scratch_file(), s[2], n;
	for (int i = 0; i < 7; i++)
		CHECK((n = dup(fd)) >= 0 && close(n) == 0);
	for (int i = 0; i < 5; i++)
		CHECK(dup2(fd, 100 + i) == 100 + i);
	for (int i = 0; i < 3; i++)
		CHECK(dup3(fd, 110 + i, O_CLOEXEC) == 110 + i);
	CHECK(fcntl(fd, F_DUPFD, 120) == 120 && fcntl(fd, F_DUPFD_CLOEXEC, 121) == 121);
	CHECK(close_range(100, 101, 0) == 0);
	errno = 0;
	CHECK(raw(SYS_fcntl, 100, F_GETFD, 0) == -EBADF && raw(SYS_fcntl, 102, F_GETFD, 0) >= 0);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	CHECK(shutdown(s[0], SHUT_RD) == 0 && shutdown(s[0], SHUT_WR) == 0);
	closefrom(105);
	CHECK(raw(SYS_fcntl, 110, F_GETFD, 0) == -EBADF);
	errno = 0;
	CHECK(close(-1) == -1 && errno == EBADF);
	expect("dup", "waits", 7);
	expect("dup2", "waits", 5);
	expect("dup2", "sum", 100 + 101 + 102 + 103 + 104);
	expect("dup3", "waits", 3);
	expect("fcntl:dupfd", "waits", 2);
	expect("fcntl:dupfd", "sum", 241);
	expect("close", "waits", 8);
	expect("close", "errno EBADF", 1);
	expect("close_range", "waits", 1);
	expect("closefrom", "waits", 1);
	expect("shutdown", "waits", 2);
	return 0;
}

/* SPDX-License-Identifier: MIT
 * flags: -O2 -D_FORTIFY_SOURCE=2
 * Built with _FORTIFY_SOURCE these calls go to __read_chk and friends, which a
 * wrapper of the plain name never sees. */
#include "e2e.h"
#include <poll.h>
#include <sys/socket.h>

static volatile size_t four = 4;
static volatile nfds_t one = 1;

int main(void)
{
	char buf[8];
	int s[2], fd = scratch_file();
	struct sockaddr_storage from;
	socklen_t len;
	struct timespec soon = {0, 1000000};
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	CHECK(raw(SYS_write, fd, (long)"0123456789", 10) == 10);
	for (int i = 0; i < 7; i++) {
		raw(SYS_lseek, fd, 0, SEEK_SET);
		CHECK(read(fd, buf, four) == 4);
	}
	for (int i = 0; i < 5; i++)
		CHECK(pread(fd, buf, four, 1) == 4);
	for (int i = 0; i < 11; i++)
		CHECK(pread64(fd, buf, four, 1) == 4);
	for (int i = 0; i < 3; i++) {
		CHECK(raw(SYS_write, s[1], (long)"wxyz", 4) == 4);
		CHECK(recv(s[0], buf, four, 0) == 4);
	}
	for (int i = 0; i < 2; i++) {
		len = sizeof from;
		CHECK(raw(SYS_write, s[1], (long)"wxyz", 4) == 4);
		CHECK(recvfrom(s[0], buf, four, 0, (struct sockaddr *)&from, &len) == 4);
	}
	struct pollfd p[1] = {{s[0], POLLIN, 0}};
	for (int i = 0; i < 13; i++)
		CHECK(poll(p, one, 1) == 0);
	for (int i = 0; i < 17; i++)
		CHECK(ppoll(p, one, &soon, NULL) == 0);
	expect("__read_chk", "waits", 7);
	expect("__read_chk", "sum", 28);
	expect("__read_chk", "path main", 7);
	expect("read", "waits", 0);
	expect("__pread_chk", "waits", 5);
	expect("__pread64_chk", "waits", 11);
	expect("__recv_chk", "waits", 3);
	expect("__recvfrom_chk", "waits", 2);
	expect("__poll_chk", "waits", 13);
	expect("__poll_chk", "atleast 1000000", 13);
	expect("__ppoll_chk", "waits", 17);
	return 0;
}

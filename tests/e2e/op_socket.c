/* SPDX-License-Identifier: MIT
 * Receiving and sending in all ways, blocked where it says so. */
#include "e2e.h"
#include <sys/socket.h>
#include <sys/uio.h>

static int s[2];

static void give(void *p) { CHECK(raw(SYS_write, s[1], (long)"abcd", 4) == 4); }
static NOINLINE void recv_here(void *p)
{
	char buf[16];
	CHECK(recv(s[0], buf, 16, 0) == 4);
}
static void take(size_t n)
{
	char buf[64];
	CHECK(raw(SYS_read, s[1], (long)buf, sizeof buf) == (long)n);
}

int main(void)
{
	char buf[64];
	struct iovec v[1] = {{buf, 4}};
	struct msghdr h = {.msg_iov = v, .msg_iovlen = 1};
	struct mmsghdr mm[2] = {{.msg_hdr = h}, {.msg_hdr = h}};
	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s) == 0);
	blocked(11, NULL, recv_here, give, NULL);
	for (int i = 0; i < 7; i++) {
		give(NULL);
		CHECK(recvfrom(s[0], buf, 16, 0, NULL, NULL) == 4);
	}
	for (int i = 0; i < 5; i++) {
		give(NULL);
		v[0].iov_len = 16;
		CHECK(recvmsg(s[0], &h, 0) == 4);
	}
	for (int i = 0; i < 3; i++) {
		give(NULL);
		give(NULL);
		CHECK(recvmmsg(s[0], mm, 2, MSG_WAITFORONE, NULL) == 2);
	}
	v[0].iov_len = 4;
	for (int i = 0; i < 13; i++) {
		CHECK(send(s[0], "abcd", 4, 0) == 4);
		take(4);
	}
	for (int i = 0; i < 2; i++) {
		CHECK(sendto(s[0], "abcd", 4, 0, NULL, 0) == 4);
		take(4);
	}
	for (int i = 0; i < 17; i++) {
		CHECK(sendmsg(s[0], &h, 0) == 4);
		take(4);
	}
	for (int i = 0; i < 19; i++) {
		CHECK(sendmmsg(s[0], mm, 2, 0) == 2);
		take(4);
		take(4);
	}
	errno = 0;
	CHECK(recv(s[0], buf, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	errno = 0;
	CHECK(send(-1, buf, 1, 0) == -1 && errno == EBADF);
	expect("recv", "waits", 12);
	expect("recv", "sum", 44);
	expect("recv", "errno EAGAIN", 1);
	expect("recv", "path recv_here", 11);
	expect("recvfrom", "waits", 7);
	expect("recvmsg", "waits", 5);
	expect("recvmmsg", "waits", 3);
	expect("send", "waits", 14);
	expect("send", "errno EBADF", 1);
	expect("send", "sum", 52);
	expect("sendto", "waits", 2);
	expect("sendmsg", "waits", 17);
	expect("sendmmsg", "waits", 19);
	return 0;
}

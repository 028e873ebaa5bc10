/* SPDX-License-Identifier: MIT
 * Accepting and connecting. */
#include "e2e.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

static struct sockaddr_in addr = {.sin_family = AF_INET};
static int listener;

static void knock(void *p)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(raw(SYS_connect, fd, (long)&addr, sizeof addr) == 0);
	raw(SYS_close, fd, 0, 0);
}
static NOINLINE void accept_here(void *p)
{
	int fd = accept(listener, NULL, NULL);
	CHECK(fd >= 0);
	raw(SYS_close, fd, 0, 0);
}
static void accept_four(void *p)
{
	struct sockaddr_in from;
	socklen_t len = sizeof from;
	int fd = accept4(listener, (struct sockaddr *)&from, &len, SOCK_CLOEXEC);
	CHECK(fd >= 0 && len == sizeof from && from.sin_family == AF_INET);
	raw(SYS_close, fd, 0, 0);
}

int main(void)
{
	socklen_t len = sizeof addr;
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(bind(listener, (struct sockaddr *)&addr, sizeof addr) == 0 && listen(listener, 20) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&addr, &len) == 0);
	blocked(7, NULL, accept_here, knock, NULL);
	blocked(5, NULL, accept_four, knock, NULL);
	for (int i = 0; i < 11; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0);
		raw(SYS_close, fd, 0, 0);
	}
	errno = 0;
	CHECK(accept(-1, NULL, NULL) == -1 && errno == EBADF);
	expect("accept", "waits", 8);
	expect("accept", "errno EBADF", 1);
	expect("accept", "path accept_here", 7);
	expect("accept4", "waits", 5);
	expect("connect", "waits", 11);
	return 0;
}

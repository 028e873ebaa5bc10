/* SPDX-License-Identifier: MIT
 * A server that starts a program with vfork inside each request; the child
 * closes and replaces descriptors of its own, and the server's stay open.  Its
 * clients ask 10 times. */
#include "e2e.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

static void child(int fd, int how)
{
	int status;
	pid_t pid = vfork();
	if (pid == 0) {
		dup2(fd, 0); /* the connection becomes the program's standard input */
		dup2(0, fd);
		if (how % 2)
			close_range(3, ~0u, 0);
		else
			for (int i = 3; i < 32; i++)
				close(i);
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

int main(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(listener >= 0 && bind(listener, (void *)&a, n) == 0 && listen(listener, 8) == 0 &&
	      getsockname(listener, (void *)&a, &n) == 0);
	for (int c = 0; c < 2; c++) {
		char buf[64];
		int client = (int)raw(SYS_socket, AF_INET, SOCK_STREAM, 0);
		CHECK(client >= 0 && raw(SYS_connect, client, (long)&a, sizeof a) == 0);
		int fd = accept(listener, NULL, NULL);
		CHECK(fd >= 0);
		for (int i = 0; i < 5; i++) {
			CHECK(raw(SYS_write, client, (long)"GET /vfork HTTP/1.1\r\n\r\n", 23) == 23);
			CHECK(read(fd, buf, sizeof buf) == 23);
			child(fd, i);
			CHECK(write(fd, "HTTP/1.1 200 OK\r\n\r\n", 19) == 19);
		}
		CHECK(close(fd) == 0);
		raw(SYS_close, client, 0, 0);
	}
	return 0;
}

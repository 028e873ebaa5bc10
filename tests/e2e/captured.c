/* SPDX-License-Identifier: MIT
 * A server that receives in all ways, whose requests must have the classes that
 * they have; and files that are read under the numbers that connections had:
 * their first bytes are nobody's business.  Recorded with capture_bytes. */
#include "e2e.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

static int listener, client;
static struct sockaddr_in address = { .sin_family = AF_INET };

/* The other end is played by raw system calls: only the server's side is seen. */
static int connection(void)
{
	client = (int)raw(SYS_socket, AF_INET, SOCK_STREAM, 0);
	CHECK(client >= 0 && raw(SYS_connect, client, (long)&address, sizeof address) == 0);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}
static void ask(const char *text) { CHECK(raw(SYS_write, client, (long)text, (long)strlen(text)) == (long)strlen(text)); }
static void hang_up(int fd)
{
	CHECK(close(fd) == 0);
	raw(SYS_close, client, 0, 0);
}

static void answered(int fd, int how)
{
	struct iovec v[2] = {{(void *)"HTTP/1.1 200 OK\r\n", 17}, {(void *)"\r\n", 2}};
	struct msghdr h = {.msg_iov = v, .msg_iovlen = 2};
	switch (how % 4) {
	case 0: CHECK(write(fd, "HTTP/1.1 200 OK\r\n\r\n", 19) == 19); break;
	case 1: CHECK(send(fd, "HTTP/1.1 200 OK\r\n\r\n", 19, 0) == 19); break;
	case 2: CHECK(writev(fd, v, 2) == 19); break;
	case 3: CHECK(sendmsg(fd, &h, 0) == 19); break;
	}
}

static void ways(int fd, int n)
{
	char buf[64];
	struct iovec v[3] = {{buf, 2}, {buf + 2, 3}, {buf + 5, 50}};
	struct msghdr h = {.msg_iov = v, .msg_iovlen = 3};
	ask("GET /read HTTP/1.1\r\n\r\n");
	CHECK(read(fd, buf, sizeof buf) == 22);
	answered(fd, n);
	ask("GET /readv HTTP/1.1\r\n\r\n");
	CHECK(readv(fd, v, 3) == 23);
	answered(fd, n + 1);
	ask("GET /recv HTTP/1.1\r\n\r\n");
	CHECK(recv(fd, buf, sizeof buf, MSG_PEEK) == 22); /* not twice */
	CHECK(recv(fd, buf, sizeof buf, 0) == 22);
	answered(fd, n + 2);
	ask("GET /recvmsg HTTP/1.1\r\n\r\n");
	CHECK(recvmsg(fd, &h, 0) == 25);
	answered(fd, n + 3);
	ask("GET /pieces HTTP/1.1\r\n\r\n");
	CHECK(read(fd, buf, 2) == 2);
	CHECK(recv(fd, buf + 2, 4, 0) == 4);
	CHECK(read(fd, buf + 6, sizeof buf - 6) == 18);
	answered(fd, n);
}

static void read_file(int want)
{
	char buf[64];
	int lower[16], k = 0, fd;
	while ((fd = open("captured.txt", O_RDONLY)) != want && k < 16)
		lower[k++] = fd;
	CHECK(fd == want && read(fd, buf, sizeof buf) == 27 && close(fd) == 0);
	while (k)
		CHECK(close(lower[--k]) == 0);
}

int main(void)
{
	socklen_t n = sizeof address;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(listener >= 0 && bind(listener, (void *)&address, n) == 0 && listen(listener, 8) == 0 &&
	      getsockname(listener, (void *)&address, &n) == 0);
	int f = open("captured.txt", O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(f >= 0 && raw(SYS_write, f, (long)"GET /s3cr3t-file HTTP/1.1\r\n", 27) == 27);
	for (int i = 0; i < 3; i++) {
		int fd = connection();
		ways(fd, i);
		int again = dup(fd); /* goes on under another number */
		CHECK(again >= 0 && close(fd) == 0);
		ways(again, i + 1);
		hang_up(again);
		read_file(fd);
		/* dup2 puts the file in the connection's place; close_range takes it away */
		fd = connection();
		CHECK(dup2(f, fd) == fd && lseek(f, 0, SEEK_SET) == 0);
		char buf[64];
		CHECK(read(fd, buf, sizeof buf) == 27);
		hang_up(fd);
		fd = connection();
		CHECK(close_range((unsigned)fd, (unsigned)fd, 0) == 0);
		read_file(fd);
		raw(SYS_close, client, 0, 0);
		/* a stream closes it, which nobody sees */
		fd = connection();
		FILE *stream = fdopen(fd, "r");
		CHECK(stream && fclose(stream) == 0);
		read_file(fd);
		raw(SYS_close, client, 0, 0);
		/* this closes nothing: it goes on */
		fd = connection();
		CHECK(close_range((unsigned)fd, (unsigned)fd, CLOSE_RANGE_CLOEXEC) == 0);
		ask("GET /kept HTTP/1.1\r\n\r\n");
		CHECK(read(fd, buf, sizeof buf) == 22);
		answered(fd, i);
		hang_up(fd);
	}
	int fd = connection();
	pid_t pid = fork();
	if (pid == 0) { /* a child serves what its parent has accepted */
		ways(fd, 0);
		_exit(0);
	}
	int status;
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	hang_up(fd);
	CHECK(unlink("captured.txt") == 0);
	expect("found", "GET /read", 7);
	expect("found", "GET /readv", 7);
	expect("found", "GET /recv", 7);
	expect("found", "GET /recvmsg", 7);
	expect("found", "GET /pieces", 7);
	expect("found", "GET /s3cr3t-file", 0);
	expect("found", "GET /kept", 3);
	expect("mark", "class", 38);
	return 0;
}

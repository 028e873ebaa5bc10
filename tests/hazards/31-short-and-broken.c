/* SPDX-License-Identifier: MIT
   Short writes, EAGAIN, EINTR, EPIPE and end of file reach the caller as they
   are; nothing is repeated, and no flag of a descriptor changes. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "line %d: %s errno %d\n", __LINE__, #c, errno); exit(1); } } while (0)
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

static volatile int pipes_broken, alarms;
static void on_pipe(int s) { pipes_broken++; }
static void on_alarm(int s) { alarms++; }

int main(void)
{
	static char big[1 << 20];
	int p[2], s[2];
	struct sigaction act = {.sa_handler = on_pipe}, alrm = {.sa_handler = on_alarm};
	sigaction(SIGPIPE, &act, NULL);
	sigaction(SIGALRM, &alrm, NULL);
	CHECK(pipe(p) == 0 && fcntl(p[1], F_SETFL, O_NONBLOCK) == 0 && fcntl(p[0], F_SETFL, O_NONBLOCK) == 0);
	ssize_t n = write(p[1], big, sizeof big);
	CHECK(n > 0 && n < (ssize_t)sizeof big);
	errno = 0;
	CHECK(write(p[1], big, 65536) == -1 && errno == EAGAIN);
	CHECK(read(p[0], big, sizeof big) == n);
	errno = 0;
	CHECK(read(p[0], big, 1) == -1 && errno == EAGAIN);
	CHECK(fcntl(p[1], F_GETFL) == (O_WRONLY | O_NONBLOCK));
	CHECK(fcntl(p[0], F_SETFL, 0) == 0);
	struct itimerval soon = {{0, 0}, {0, 20000}};
	setitimer(ITIMER_REAL, &soon, NULL);
	errno = 0;
	CHECK(read(p[0], big, 1) == -1 && errno == EINTR && alarms == 1);
	close(p[1]);
	CHECK(read(p[0], big, 1) == 0);
	CHECK(pipe(p) == 0);
	close(p[0]);
	errno = 0;
	CHECK(write(p[1], big, 1) == -1 && errno == EPIPE && pipes_broken == 1);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	close(s[1]);
	errno = 0;
	CHECK(send(s[0], big, 1, MSG_NOSIGNAL) == -1 && errno == EPIPE && pipes_broken == 1);
	CHECK(recv(s[0], big, 1, 0) == 0);
	puts("ok");
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Servers and clients on loopback, more of them than CPUs, as a database with
 * a process per connection has them.  Each server measures its own send calls
 * by CLOCK_MONOTONIC around them.  Prints "ready", waits for a line, and at the
 * end prints "send CALLS NANOSECONDS".
 *   way PAIRS ROUNDS */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct sum { uint64_t calls, ns; };

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void check(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

/* Something between the calls, so that the CPUs are wanted. */
static uint64_t work(uint64_t x)
{
	for (int i = 0; i < 20000; i++)
		x = x * 6364136223846793005u + 1;
	return x;
}

static void serve(int fd, long rounds, struct sum *s)
{
	char buf[128] = { 0 };
	uint64_t x = (uint64_t)fd;
	for (long i = 0; i < rounds; i++) {
		check(recv(fd, buf, sizeof buf, MSG_WAITALL) == sizeof buf, "recv");
		x = work(x);
		uint64_t begin = now();
		ssize_t n = send(fd, buf, sizeof buf, 0);
		s->ns += now() - begin;
		check(n == sizeof buf, "send");
		s->calls++;
	}
	_exit(x == 1);
}

static void ask(int fd, long rounds)
{
	char buf[128] = { 0 };
	uint64_t x = (uint64_t)fd;
	for (long i = 0; i < rounds; i++) {
		check(write(fd, buf, sizeof buf) == sizeof buf, "write");
		check(recv(fd, buf, sizeof buf, MSG_WAITALL) == sizeof buf, "recv");
		x = work(x);
	}
	_exit(x == 1);
}

static int connected(int listener, struct sockaddr_in *at, int *other)
{
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
	check(connect(fd, (struct sockaddr *)at, sizeof *at) == 0, "connect");
	check((*other = accept(listener, NULL, NULL)) >= 0, "accept");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	setsockopt(*other, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return fd;
}

int main(int argc, char **argv)
{
	int pairs = argc > 2 ? atoi(argv[1]) : 16, status, bad = 0;
	long rounds = argc > 2 ? atol(argv[2]) : 1000;
	struct sum *sum = mmap(NULL, (size_t)pairs * 64, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof at;
	int listener = socket(AF_INET, SOCK_STREAM, 0), go[2];
	check(sum != MAP_FAILED && pipe(go) == 0, "mmap, pipe");
	check(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 64) == 0 &&
	      getsockname(listener, (struct sockaddr *)&at, &len) == 0, "listen");
	for (int i = 0; i < pairs; i++) {
		int theirs, mine = connected(listener, &at, &theirs);
		for (int k = 0; k < 2; k++) {
			pid_t pid = fork();
			check(pid >= 0, "fork");
			if (pid == 0) {
				char c;
				close(go[1]);
				check(read(go[0], &c, 1) == 0, "go"); /* the end of the pipe */
				if (k == 0)
					serve(theirs, rounds, (struct sum *)((char *)sum + i * 64));
				ask(mine, rounds);
			}
		}
		close(theirs);
		close(mine);
	}
	printf("ready\n");
	fflush(stdout);
	getchar();
	close(go[1]);
	while (wait(&status) > 0)
		bad |= status;
	struct sum all = { 0 };
	for (int i = 0; i < pairs; i++) {
		all.calls += ((struct sum *)((char *)sum + i * 64))->calls;
		all.ns += ((struct sum *)((char *)sum + i * 64))->ns;
	}
	printf("send %llu %llu\n", (unsigned long long)all.calls, (unsigned long long)all.ns);
	return bad != 0;
}

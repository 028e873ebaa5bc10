/* SPDX-License-Identifier: MIT
 *
 * The service: a thread per connection.  A request is one line, a transaction is
 * one request:
 *   ADD n object...   adds 1 to each of n different objects: OK, or LATE if a lock took too long
 *   COUNT object      how often that was done: its number
 * All threads are joined before service_run returns.
 */
#include "lockmanager.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct connection {
	struct connection *next;
	pthread_t thread;
	int fd;
	unsigned objects;
	uint64_t random;
};

/* Objects of "n a b c"; their number, 0 if the line is wrong. */
static unsigned parse_objects(const char *text, unsigned objects, unsigned *object)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);
	if (n < 1 || n > LOCKS_MAX)
		return 0;
	for (unsigned long i = 0; i < n; i++) {
		const char *from = end;
		unsigned long v = strtoul(from, &end, 10);
		if (end == from || v >= objects)
			return 0;
		for (unsigned long k = 0; k < i; k++)
			if (object[k] == v)
				return 0;
		object[i] = (unsigned)v;
	}
	return *end ? 0 : (unsigned)n;
}

/* The reply to a request; -1: it is none. */
static int answer(struct connection *c, const char *line, char *reply, size_t size)
{
	unsigned object[LOCKS_MAX], n;
	if (strncmp(line, "ADD ", 4) == 0 && (n = parse_objects(line + 4, c->objects, object)) != 0)
		return snprintf(reply, size, table_add(object, n, &c->random) ? "OK\n" : "LATE\n");
	if (sscanf(line, "COUNT %u", &n) == 1 && n < c->objects)
		return snprintf(reply, size, "%llu\n", (unsigned long long)table_count(n));
	return -1;
}

/* One line into buf, without its end.  A client sends one and waits for the reply. */
static bool receive_line(int fd, char *buf)
{
	for (size_t have = 0; have < LINE_BYTES - 1;) {
		ssize_t n = recv(fd, buf + have, LINE_BYTES - 1 - have, 0);
		if (n <= 0)
			return false;
		have += (size_t)n;
		if (buf[have - 1] == '\n') {
			buf[have - 1] = 0;
			return true;
		}
	}
	return false;
}

static void *serve(void *arg)
{
	struct connection *c = arg;
	char line[LINE_BYTES], reply[32];
	while (receive_line(c->fd, line)) {
		int n = answer(c, line, reply, sizeof reply);
		if (n < 0 || send(c->fd, reply, (size_t)n, MSG_NOSIGNAL) != n)
			break;
	}
	close(c->fd);
	return NULL;
}

static int wait_connection(int listener, const volatile int *stop, const sigset_t *open)
{
	while (!*stop) {
		struct pollfd p = {listener, POLLIN, 0};
		if (ppoll(&p, 1, NULL, open) == 1) {
			int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
			if (fd >= 0 || (errno != EINTR && errno != ECONNABORTED))
				return fd;
		} else if (errno != EINTR) {
			return -1;
		}
	}
	return -1;
}

int service_run(int listener, unsigned objects, uint64_t seed, const volatile int *stop)
{
	struct connection *all = NULL;
	sigset_t open, mask;
	int one = 1, failed = 0, fd;
	sigemptyset(&open);
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	pthread_sigmask(SIG_BLOCK, &mask, NULL); /* they arrive inside ppoll only, and in this thread only */
	for (uint64_t n = 0; (fd = wait_connection(listener, stop, &open)) >= 0; n++) {
		struct connection *c = calloc(1, sizeof *c);
		if (!c) {
			close(fd);
			failed = 1;
			break;
		}
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		*c = (struct connection){.next = all, .fd = fd, .objects = objects, .random = random_seed(seed, n)};
		errno = pthread_create(&c->thread, NULL, serve, c);
		if (errno) {
			perror("lockmanager: connection");
			close(fd);
			free(c);
			failed = 1;
			break;
		}
		all = c;
	}
	while (all) {
		struct connection *c = all;
		all = c->next;
		pthread_join(c->thread, NULL);
		free(c);
	}
	return failed ? -1 : 0;
}

/* SPDX-License-Identifier: MIT
 *
 * The service: a thread per connection.  A request is one line, "BUY item row
 * quantity", answered by one line.  Its latency runs from the return of the
 * recv() that completed the line to the return of the send() of the reply.
 * Runs in the service's process; all its threads are joined before it returns.
 */
#include "orders.h"
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
	pthread_t thread;
	int fd;
	uint64_t random;
	struct truth *truth;
};

/* Now and then an order needs a long computation. */
static __attribute__((noinline)) unsigned print_invoice(uint64_t *random)
{
	uint64_t until = now_ns() + 300000 + rnd_exp_ns(random, 1.5e6, 8e6);
	unsigned sum = 0;
	while (now_ns() < until)
		for (int i = 0; i < 1000; i++)
			sum = sum * 31 + (unsigned)i;
	return sum;
}

static unsigned handle_order(const struct order *o, uint64_t *random)
{
	unsigned price = price_lookup(o->item);
	if (rnd(random) % 200 == 0)
		price_update(o->item, random);
	lock_row(o->row);
	stock_wait(o->item, o->quantity);
	payment_slot();
	payment_call(random);
	payment_done();
	wal_flush(wal_append(o, price));
	unlock_row(o->row);
	if (rnd(random) % 20 == 0)
		price += print_invoice(random) & 1;
	return price * o->quantity;
}

static __attribute__((noinline)) bool reply_send(int fd, unsigned amount)
{
	char line[32];
	int n = snprintf(line, sizeof line, "OK %u\n", amount);
	return WAITED(W_reply_send, send(fd, line, (size_t)n, MSG_NOSIGNAL)) == n;
}

static bool parse_order(const char *line, struct order *o)
{
	return sscanf(line, "BUY %u %u %u", &o->item, &o->row, &o->quantity) == 3 && o->item < ITEMS && o->row < ROWS &&
	       o->quantity >= 1 && o->quantity <= 9;
}

/* One line into buf, without its end.  The client sends one and waits for the reply. */
static bool recv_line(int fd, char *buf)
{
	size_t have = 0;
	for (;;) {
		ssize_t n = recv(fd, buf + have, LINE_MAX_BYTES - 1 - have, 0);
		if (n <= 0)
			return false;
		have += (size_t)n;
		buf[have] = 0;
		char *end = strchr(buf, '\n');
		if (end) {
			*end = 0;
			return true;
		}
		if (have == LINE_MAX_BYTES - 1)
			return false;
	}
}

static void *serve(void *arg)
{
	struct connection *c = arg;
	char line[LINE_MAX_BYTES];
	while (recv_line(c->fd, line)) {
		truth_request_begin();
		struct order o;
		if (!parse_order(line, &o))
			break;
		bool sent = reply_send(c->fd, handle_order(&o, &c->random));
		truth_request_end(c->truth);
		if (!sent)
			break;
	}
	close(c->fd);
	return NULL;
}

static int wait_connection(int listener, const volatile int *stop)
{
	sigset_t none, mask;
	sigemptyset(&none);
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	pthread_sigmask(SIG_BLOCK, &mask, NULL); /* they arrive inside ppoll only, and in this thread only */
	while (!*stop) {
		struct pollfd p = {listener, POLLIN, 0};
		if (ppoll(&p, 1, NULL, &none) == 1) {
			int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
			if (fd >= 0 || (errno != EINTR && errno != ECONNABORTED))
				return fd;
		} else if (errno != EINTR) {
			return -1;
		}
	}
	return -1;
}

struct truth *service_run(int listener, unsigned connections, uint64_t seed, const volatile int *stop)
{
	struct connection *all = calloc(CONNECTIONS_MAX, sizeof *all);
	struct truth *sum = truth_new();
	unsigned n = 0, limit = connections ? connections : CONNECTIONS_MAX;
	int one = 1;
	while (all && sum && n < limit) {
		struct connection *c = &all[n];
		c->fd = wait_connection(listener, stop);
		if (c->fd < 0)
			break;
		setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		c->random = rnd_seed(seed, n);
		c->truth = truth_new();
		if (!c->truth || pthread_create(&c->thread, NULL, serve, c) != 0) {
			perror("orders: connection");
			exit(1);
		}
		n++;
	}
	for (unsigned i = 0; i < n; i++) {
		pthread_join(all[i].thread, NULL);
		if (sum)
			truth_merge(sum, all[i].truth);
	}
	free(all);
	return sum;
}

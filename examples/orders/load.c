/* SPDX-License-Identifier: MIT
 *
 * The clients: a thread per connection, each sends an order, waits for the
 * reply, thinks for a moment.  Runs in a process of its own.  Some customers
 * and items are far more wanted than others, so that rows are fought over.
 */
#include "orders.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct client {
	pthread_t thread;
	int fd;
	const struct load_plan *plan;
	FILE *latencies; /* of all clients, NULL: not asked for */
	uint64_t deadline, random;
	struct load_result r;
};

static unsigned hist_slot(uint64_t ns)
{
	if (ns < HIST_SUB)
		return (unsigned)ns;
	unsigned top = 63 - (unsigned)__builtin_clzll(ns); /* >= 5 */
	return (top - 4) * HIST_SUB + (unsigned)(ns >> (top - 5) & (HIST_SUB - 1));
}

static uint64_t hist_value(unsigned slot)
{
	if (slot < 2 * HIST_SUB)
		return slot;
	unsigned shift = slot / HIST_SUB - 1;
	return ((uint64_t)(slot % HIST_SUB + HIST_SUB) << shift) + ((1ull << shift) >> 1);
}

uint64_t load_quantile(const struct load_result *r, double q)
{
	uint64_t seen = 0, want = (uint64_t)(q * (double)r->requests);
	for (unsigned i = 0; i < HIST_SIZE; i++) {
		seen += r->hist[i];
		if (seen > want)
			return hist_value(i);
	}
	return r->max_ns;
}

static unsigned popular(uint64_t *random, unsigned n)
{
	double u = rnd_unit(random);
	return (unsigned)((double)n * u * u * 0.999999); /* density ~ 1/sqrt: the first ones are hot */
}

static bool one_order(struct client *c)
{
	char line[LINE_MAX_BYTES];
	int n = snprintf(line, sizeof line, "BUY %u %u %u\n", popular(&c->random, ITEMS), popular(&c->random, ROWS),
			 (unsigned)(1 + rnd(&c->random) % 3));
	uint64_t from = now_ns();
	if (send(c->fd, line, (size_t)n, MSG_NOSIGNAL) != n)
		return false;
	size_t have = 0;
	do {
		ssize_t got = recv(c->fd, line + have, sizeof line - have, 0);
		if (got <= 0)
			return false;
		have += (size_t)got;
	} while (line[have - 1] != '\n' && have < sizeof line);
	uint64_t ns = now_ns() - from;
	c->r.requests++;
	c->r.sum_ns += ns;
	c->r.hist[hist_slot(ns)]++;
	if (ns > c->r.max_ns)
		c->r.max_ns = ns;
	if (c->latencies)
		fprintf(c->latencies, "%llu\n", (unsigned long long)ns);
	return line[0] == 'O' && line[1] == 'K';
}

static void *client_run(void *arg)
{
	struct client *c = arg;
	uint64_t limit = c->plan->requests ? c->plan->requests : UINT64_MAX;
	for (uint64_t i = 0; i < limit && (c->plan->requests || now_ns() < c->deadline); i++) {
		if (!one_order(c)) {
			c->r.errors++;
			break;
		}
		struct timespec think = {0, (long)rnd_exp_ns(&c->random, 3e6, 20e6)};
		nanosleep(&think, NULL);
	}
	close(c->fd);
	return NULL;
}

static int dial(unsigned port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) != 0)
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return fd;
}

static void add_result(struct load_result *sum, const struct load_result *r)
{
	sum->requests += r->requests;
	sum->errors += r->errors;
	sum->sum_ns += r->sum_ns;
	if (r->max_ns > sum->max_ns)
		sum->max_ns = r->max_ns;
	for (unsigned i = 0; i < HIST_SIZE; i++)
		sum->hist[i] += r->hist[i];
}

int load_run(const struct load_plan *plan, struct load_result *r)
{
	struct client *all = calloc(plan->connections, sizeof *all);
	uint64_t from = now_ns();
	int failed = 0;
	FILE *latencies = plan->latencies ? fopen(plan->latencies, "w") : NULL;
	if (!all)
		return -1;
	if (plan->latencies && !latencies) {
		perror(plan->latencies);
		exit(1);
	}
	for (unsigned i = 0; i < plan->connections; i++) {
		struct client *c = &all[i];
		c->plan = plan;
		c->latencies = latencies;
		c->deadline = from + (uint64_t)(plan->seconds * 1e9);
		c->random = rnd_seed(plan->seed, (1u << 21) + i);
		c->fd = dial(plan->port);
		if (c->fd < 0) {
			perror("orders: connect");
			exit(1);
		}
	}
	for (unsigned i = 0; i < plan->connections; i++)
		if (pthread_create(&all[i].thread, NULL, client_run, &all[i]) != 0) {
			perror("orders: client thread");
			exit(1);
		}
	for (unsigned i = 0; i < plan->connections; i++) {
		pthread_join(all[i].thread, NULL);
		add_result(r, &all[i].r);
		failed |= all[i].r.errors != 0;
	}
	r->elapsed_ns = now_ns() - from;
	free(all);
	if (latencies && fclose(latencies) != 0)
		failed = 1;
	return failed ? -1 : 0;
}

/* SPDX-License-Identifier: MIT
 *
 * The clients.  Closed loop: each thinks for a while, sends a transaction, and
 * waits for its answer.  Open loop: transactions come at random times at a given
 * rate, whether or not earlier ones have been answered, and go out on any
 * connection that is free; a latency is counted from when the transaction came,
 * so waiting for a free connection is in it.  One thread does all of it, so that
 * the clients take little of the machine.
 *
 * At the end each counter must have grown by the number of transactions that
 * added to it and were answered with OK.
 */
#include "lockmanager.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct client {
	int fd;
	uint64_t came; /* its transaction; 0: it is free */
	uint64_t next; /* closed loop: when the next comes */
	unsigned object[LOCKS_MAX], n, have;
	char line[32];
};

static struct {
	const struct load_plan *plan;
	struct client *client;
	unsigned *free, frees; /* a ring: who has been free for longest is next */
	unsigned next_free;
	uint64_t *came, queued, first; /* that wait for a free connection: a ring, grown */
	uint64_t size;
	unsigned *place;       /* objects by popularity */
	double *sum;           /* of popularity up to this one */
	uint64_t *before, *added;
	uint64_t random, ok, late, busy, counted_from;
	double mean_ns, square; /* running moments (Welford) of what is counted */
	uint64_t counted, max_ns;
	FILE *out;
	int epoll;
} load;

static int fail(const char *what)
{
	fprintf(stderr, "lockmanager: %s\n", what);
	return -1;
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

static void *all_of(size_t n, size_t size)
{
	void *p = calloc(n, size);
	if (!p)
		abort();
	return p;
}

/* Popularity of the k-th is 1 / k^skew.  Which object is the k-th is shuffled, the
 * same in every run: locks are taken by number, and the wanted ones shall be
 * neither the first nor the last. */
static void choose_popularity(void)
{
	unsigned n = load.plan->objects;
	uint64_t random = random_seed(7, 7);
	double total = 0;
	load.place = all_of(n, sizeof *load.place);
	load.sum = all_of(n, sizeof *load.sum);
	for (unsigned i = 0; i < n; i++) {
		unsigned k = (unsigned)(random_next(&random) % (i + 1));
		load.place[i] = load.place[k];
		load.place[k] = i;
		load.sum[i] = total += pow(i + 1, -load.plan->skew);
	}
}

static unsigned choose_object(void)
{
	unsigned n = load.plan->objects, low = 0;
	double u = random_unit(&load.random) * load.sum[n - 1];
	for (unsigned high = n - 1; low < high;) {
		unsigned mid = (low + high) / 2;
		if (load.sum[mid] < u)
			low = mid + 1;
		else
			high = mid;
	}
	return load.place[low];
}

static void choose_transaction(struct client *c)
{
	unsigned want = 1 + (unsigned)(random_next(&load.random) % load.plan->locks);
	for (c->n = 0; c->n < want;) {
		unsigned object = choose_object(), k = 0;
		while (k < c->n && c->object[k] != object)
			k++;
		if (k == c->n)
			c->object[c->n++] = object;
	}
}

static int send_transaction(struct client *c, uint64_t came)
{
	char line[LINE_BYTES];
	choose_transaction(c);
	int n = snprintf(line, sizeof line, "ADD %u", c->n);
	for (unsigned i = 0; i < c->n; i++)
		n += snprintf(line + n, sizeof line - (size_t)n, " %u", c->object[i]);
	line[n++] = '\n';
	c->came = came;
	c->have = 0;
	load.busy++;
	return send(c->fd, line, (size_t)n, MSG_NOSIGNAL) == n ? 0 : fail("a connection broke");
}

static void queue_transaction(uint64_t came)
{
	if (load.queued == load.size) {
		uint64_t *bigger = all_of(load.size ? 2 * load.size : 1024, sizeof *bigger);
		for (uint64_t i = 0; i < load.queued; i++)
			bigger[i] = load.came[(load.first + i) % load.size];
		free(load.came);
		load.came = bigger;
		load.first = 0;
		load.size = load.size ? 2 * load.size : 1024;
	}
	load.came[(load.first + load.queued++) % load.size] = came;
}

static int send_queued(void)
{
	while (load.queued && load.frees) {
		struct client *c = &load.client[load.free[load.next_free]];
		uint64_t came = load.came[load.first];
		load.next_free = (load.next_free + 1) % load.plan->connections;
		load.frees--;
		load.first = (load.first + 1) % load.size;
		load.queued--;
		if (send_transaction(c, came) != 0)
			return -1;
	}
	return 0;
}

static void count(uint64_t came, uint64_t ns)
{
	if (came < load.counted_from)
		return;
	double d = (double)ns - load.mean_ns;
	load.mean_ns += d / (double)++load.counted;
	load.square += d * ((double)ns - load.mean_ns);
	if (ns > load.max_ns)
		load.max_ns = ns;
	if (load.out)
		fprintf(load.out, "%llu\n", (unsigned long long)ns);
}

static uint64_t think(uint64_t from)
{
	return from + (uint64_t)random_exponential(&load.random, load.plan->think_ns);
}

/* What came in for this client; its transaction may have ended by it. */
static int take_reply(struct client *c)
{
	ssize_t got = recv(c->fd, c->line + c->have, sizeof c->line - c->have, 0);
	if (got <= 0)
		return fail("the server closed a connection");
	c->have += (unsigned)got;
	if (c->line[c->have - 1] != '\n')
		return c->have < sizeof c->line ? 0 : fail("a reply is too long");
	bool ok = c->have == 3 && memcmp(c->line, "OK\n", 3) == 0;
	if (!ok && (c->have != 5 || memcmp(c->line, "LATE\n", 5) != 0))
		return fail("a reply is neither OK nor LATE");
	uint64_t now = now_ns();
	count(c->came, now - c->came);
	c->next = think(now);
	for (unsigned i = 0; ok && i < c->n; i++)
		load.added[c->object[i]]++;
	load.ok += ok;
	load.late += !ok;
	c->came = 0;
	load.busy--;
	load.free[(load.next_free + load.frees++) % load.plan->connections] = (unsigned)(c - load.client);
	return 0;
}

static int wait_replies(uint64_t until)
{
	struct epoll_event event[64];
	uint64_t now = now_ns(), ns = until > now ? until - now : 0;
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	int n = epoll_pwait2(load.epoll, event, 64, &t, NULL);
	if (n < 0 && errno != EINTR)
		return fail("epoll_pwait2");
	for (int i = 0; i < n; i++)
		if (take_reply(event[i].data.ptr) != 0)
			return -1;
	return 0;
}

static uint64_t next_arrival(uint64_t last)
{
	return last + (uint64_t)random_exponential(&load.random, 1e9 / load.plan->rate);
}

static int run_open(uint64_t from, uint64_t end)
{
	for (uint64_t next = next_arrival(from); next < end || load.queued || load.busy;) {
		for (uint64_t now = now_ns(); next <= now && next < end; next = next_arrival(next))
			queue_transaction(next);
		if (send_queued() != 0 || wait_replies(next < end ? next : now_ns() + 1000000000) != 0)
			return -1;
	}
	return 0;
}

/* Each client sends its next transaction when it has thought, after the answer. */
static int run_closed(uint64_t from, uint64_t end)
{
	for (unsigned i = 0; i < load.plan->connections; i++)
		load.client[i].next = think(from);
	while (now_ns() < end || load.busy) {
		uint64_t now = now_ns(), next = now + 1000000000;
		for (unsigned i = 0; i < load.plan->connections; i++) {
			struct client *c = &load.client[i];
			if (c->came || c->next >= end)
				continue;
			if (c->next <= now && send_transaction(c, c->next) != 0)
				return -1;
			if (c->next > now && c->next < next)
				next = c->next;
		}
		if (wait_replies(next) != 0)
			return -1;
	}
	return 0;
}

/* A counter, as the server has it. */
static int ask_counter(int fd, unsigned object, uint64_t *counter)
{
	char line[LINE_BYTES], *end;
	int n = snprintf(line, sizeof line, "COUNT %u\n", object);
	if (send(fd, line, (size_t)n, MSG_NOSIGNAL) != n)
		return -1;
	for (size_t have = 0; have < sizeof line;) {
		ssize_t got = recv(fd, line + have, sizeof line - have, 0);
		if (got <= 0)
			return -1;
		have += (size_t)got;
		if (line[have - 1] == '\n') {
			*counter = strtoull(line, &end, 10);
			return end == line + have - 1 ? 0 : -1;
		}
	}
	return -1;
}

static int ask_counters(uint64_t *counter)
{
	int fd = dial(load.plan->port), rc = fd < 0 ? fail("cannot connect") : 0;
	for (unsigned i = 0; rc == 0 && i < load.plan->objects; i++)
		if (ask_counter(fd, i, &counter[i]) != 0)
			rc = fail("the server does not say how often it added");
	if (fd >= 0)
		close(fd);
	return rc;
}

static int check_counters(void)
{
	uint64_t *now = all_of(load.plan->objects, sizeof *now);
	int rc = ask_counters(now);
	for (unsigned i = 0; rc == 0 && i < load.plan->objects; i++)
		if (now[i] - load.before[i] != load.added[i]) {
			fprintf(stderr, "lockmanager: object %u grew by %llu, not by %llu\n", i,
				(unsigned long long)(now[i] - load.before[i]), (unsigned long long)load.added[i]);
			rc = -1;
		}
	free(now);
	return rc;
}

static int connect_all(void)
{
	load.epoll = epoll_create1(EPOLL_CLOEXEC);
	for (unsigned i = 0; i < load.plan->connections; i++) {
		struct client *c = &load.client[i];
		struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
		c->fd = dial(load.plan->port);
		if (c->fd < 0 || epoll_ctl(load.epoll, EPOLL_CTL_ADD, c->fd, &e) != 0)
			return fail("cannot connect");
		load.free[load.frees++] = i;
	}
	return 0;
}

static void say_result(uint64_t elapsed_ns)
{
	double sd = load.counted ? sqrt(load.square / (double)load.counted) : 0;
	printf("%llu transactions, %llu rolled back, in %.1f s; latency of %llu: mean %.2f ms, sd %.2f ms, max %.1f ms\n",
	       (unsigned long long)load.ok, (unsigned long long)load.late, (double)elapsed_ns / 1e9,
	       (unsigned long long)load.counted, load.mean_ns / 1e6, sd / 1e6, (double)load.max_ns / 1e6);
}

int load_run(const struct load_plan *plan)
{
	load.plan = plan;
	load.client = all_of(plan->connections, sizeof *load.client);
	load.free = all_of(plan->connections, sizeof *load.free);
	load.before = all_of(plan->objects, sizeof *load.before);
	load.added = all_of(plan->objects, sizeof *load.added);
	load.random = random_seed(plan->seed, 1u << 20);
	choose_popularity();
	load.out = plan->latencies ? fopen(plan->latencies, "w") : NULL;
	if (plan->latencies && !load.out)
		return fail("cannot write the latencies");
	if (ask_counters(load.before) != 0 || connect_all() != 0)
		return -1;
	uint64_t from = now_ns(), end = from + (uint64_t)((plan->warmup + plan->seconds) * 1e9);
	load.counted_from = from + (uint64_t)(plan->warmup * 1e9);
	int rc = plan->rate > 0 ? run_open(from, end) : run_closed(from, end);
	if (rc == 0)
		say_result(now_ns() - from);
	for (unsigned i = 0; i < plan->connections; i++)
		close(load.client[i].fd);
	if (rc == 0)
		rc = check_counters();
	if (load.out && fclose(load.out) != 0)
		rc = fail("cannot write the latencies");
	return rc;
}

/* SPDX-License-Identifier: MIT
 *
 * Options and processes of the order service.  Without a mode the clients are a
 * child process, forked before any thread exists, which talks to the service
 * over loopback.  Exit status 0 when every order was answered, 1 on failure, 2
 * on wrong usage.
 */
#include "orders.h"
#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum mode { BOTH, SERVE, LOAD };

struct options {
	enum mode mode;
	struct load_plan plan;
	unsigned slots;
	const char *truth, *dir;
};

static volatile int stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void usage(FILE *f)
{
	fprintf(f, "usage: orders [--seconds S | --requests N] [--connections N] [--seed S] [--truth FILE] [--dir DIR]\n"
		   "       orders --serve PORT [--seed S] [--truth FILE] [--dir DIR]      until SIGTERM or SIGINT\n"
		   "       orders --load PORT [--seconds S | --requests N] [--connections N] [--seed S] [--truth FILE]\n"
		   "  --requests N   each connection sends exactly N orders\n"
		   "  --latencies FILE   each order's latency as the client saw it, in ns, one a line\n"
		   "  --slots N      payments at a time (default 5)\n"
		   "  --dir DIR      where the write-ahead log lies (default $TMPDIR or /tmp; removed at once)\n"
		   "  --truth FILE   what the program measured about itself, as JSON (- for standard output)\n");
}

static double number(const char *text, double low, double high)
{
	char *end;
	double v = strtod(text, &end);
	if (end == text || *end || !(v >= low && v <= high)) {
		fprintf(stderr, "orders: '%s' is not a number from %g to %g\n", text, low, high);
		exit(2);
	}
	return v;
}

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option names[] = {
		{"serve", 1, 0, 'S'}, {"load", 1, 0, 'L'}, {"seconds", 1, 0, 's'}, {"requests", 1, 0, 'r'},
		{"connections", 1, 0, 'c'}, {"seed", 1, 0, 'e'}, {"truth", 1, 0, 't'}, {"dir", 1, 0, 'd'},
		{"slots", 1, 0, 'l'}, {"latencies", 1, 0, 'a'}, {"help", 0, 0, 'h'}, {0, 0, 0, 0}};
	for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
		switch (c) {
		case 'S': o->mode = SERVE; o->plan.port = (unsigned)number(optarg, 0, 65535); break;
		case 'L': o->mode = LOAD; o->plan.port = (unsigned)number(optarg, 1, 65535); break;
		case 's': o->plan.seconds = number(optarg, 0, 1e6); break;
		case 'r': o->plan.requests = (uint64_t)number(optarg, 1, 1e12); break;
		case 'c': o->plan.connections = (unsigned)number(optarg, 1, CONNECTIONS_MAX); break;
		case 'e': o->plan.seed = (uint64_t)number(optarg, 0, 1e15); break;
		case 'l': o->slots = (unsigned)number(optarg, 1, 1e6); break;
		case 't': o->truth = optarg; break;
		case 'a': o->plan.latencies = optarg; break;
		case 'd': o->dir = optarg; break;
		case 'h': usage(stdout); exit(0);
		default: usage(stderr); exit(2);
		}
	}
	if (optind != argc) {
		usage(stderr);
		exit(2);
	}
}

static int listen_on(unsigned port, unsigned *bound)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	socklen_t len = sizeof a;
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, CONNECTIONS_MAX) != 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) != 0)
		return -1;
	*bound = ntohs(a.sin_port);
	return fd;
}

static int report(const struct options *o, const struct truth *t, const struct load_result *r)
{
	if (!o->truth || strcmp(o->truth, "-") != 0) {
		if (t)
			truth_summary(stdout, t);
		if (r)
			printf("client: %llu requests in %.1f s, p50 %.2f ms, p99 %.2f ms\n", (unsigned long long)r->requests,
			       (double)r->elapsed_ns / 1e9, (double)load_quantile(r, .5) / 1e6,
			       (double)load_quantile(r, .99) / 1e6);
	}
	if (!o->truth)
		return 0;
	FILE *f = strcmp(o->truth, "-") == 0 ? stdout : fopen(o->truth, "w");
	if (!f || truth_write(f, t, r) != 0 || (f != stdout && fclose(f) != 0)) {
		perror(o->truth);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = {.plan = {.connections = 12, .seconds = 5, .seed = 1}, .slots = 5};
	const char *tmp = getenv("TMPDIR");
	o.dir = tmp && *tmp ? tmp : "/tmp";
	parse_options(argc, argv, &o);
	struct load_result *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r == MAP_FAILED) {
		perror("orders");
		return 1;
	}
	if (o.mode == LOAD)
		return load_run(&o.plan, r) != 0 || report(&o, NULL, r) != 0;
	struct sigaction act = {.sa_handler = on_signal};
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	int listener = listen_on(o.plan.port, &o.plan.port);
	if (listener < 0) {
		perror("orders: listen");
		return 1;
	}
	pid_t child = -1;
	if (o.mode == SERVE) {
		printf("orders: listening on 127.0.0.1:%u\n", o.plan.port);
		fflush(stdout);
	} else if ((child = fork()) == 0) {
		close(listener);
		_exit(load_run(&o.plan, r) != 0);
	} else if (child < 0) {
		perror("orders: fork");
		return 1;
	}
	if (shop_open(o.dir, o.plan.seed, o.slots) != 0) {
		perror("orders: cannot open the shop");
		return 1;
	}
	struct truth *t = service_run(listener, o.mode == BOTH ? o.plan.connections : 0, o.plan.seed, &stop);
	shop_close();
	int status = 0;
	if (child > 0 && (waitpid(child, &status, 0) != child || status != 0))
		fprintf(stderr, "orders: the clients failed\n");
	status = !t || status != 0 || report(&o, t, o.mode == BOTH ? r : NULL) != 0;
	free(t);
	return status;
}
